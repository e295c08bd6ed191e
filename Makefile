# Every target does its own set-up; `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help build agent python demo demo-check reproduce figures papers-page test test-full test-metrics validate-ns3 bench frontier soak lint check-all deb test-deb static fuzz bpf book ci tools packages

CARGO ?= cargo
PYTHON := .venv/bin/python
VENV := .venv/ready
export PYTHONPATH := python
# What users import of the Python package.
TYPED := $(addprefix -p airpace.,_allocate _dispatch _run _sweep model phy plot)
# The machine that is built on. Naming it keeps build scripts free of the flags of static programs.
HOST = $(shell rustc -vV | sed -n 's/^host: //p')

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 15

build: tools ## build the program: target/release/airpace
	$(CARGO) build --release --locked -p airpace-cli

agent: tools ## build the small program for stations: target/dist/airpace-agent
	$(CARGO) build --profile dist --locked -p airpace-agent

python: tools $(VENV) ## the Python package: out/wheels/airpace-*.whl, for any Python from 3.11 on; `pip install .` does the same
	.venv/bin/maturin build --release --locked --out out/wheels

deb: build agent ## Debian packages: out/airpace_*.deb, out/airpace-agent_*.deb
	@scripts/prepare cargo-deb
	scripts/deb

static: tools ## the same programs without shared libraries: target/static/HOST/release/airpace, target/static/HOST/dist/airpace-agent
	RUSTFLAGS="-C target-feature=+crt-static" $(CARGO) build --release --locked -p airpace-cli --target $(HOST) --target-dir target/static
	RUSTFLAGS="-C target-feature=+crt-static" $(CARGO) build --profile dist --locked -p airpace-agent --target $(HOST) --target-dir target/static
	scripts/assert-static target/static/$(HOST)/release/airpace target/static/$(HOST)/dist/airpace-agent

demo: build $(VENV) ## the same download with Cubic, BBR, behind airpace and over a modified access point, side by side; leaves out/demo
	target/release/airpace demo --out out/demo
	$(PYTHON) -m airpace.demo_report out/demo

demo-check: demo ## the demo, failing if a bar that it shows is missed on this machine
	$(PYTHON) -m airpace.demo_report out/demo --check

reproduce: papers-page ## every figure and table of the papers from our own runs: out/reproduce, docs/reproduction.md; ROWS="003 004" for fewer

figures: RESUME := --resume
figures: papers-page ## the same from the runs that are in out/reproduce; only those that are missing are made

# Rows with real packets, which only root can send through an emulated access point.
LIVE_ROWS := $(if $(filter 0,$(shell id -u)),002-F9-live)
# The page out/reproduction.md with a figure per row; docs has the page of all rows.
papers-page: build $(VENV)
	mkdir -p out
	target/release/airpace reproduce $(or $(ROWS),000 002 $(LIVE_ROWS) 003 004) --out out/reproduce $(RESUME) --markdown > out/reproduction.md
	scripts/native-module --release
	$(PYTHON) -m airpace.reproduce_report out/reproduce --page out/reproduction.md
	$(if $(ROWS),,rm -rf docs/img/reproduction && cp -r out/img/reproduction docs/img/ && cp out/reproduction.md docs/reproduction.md)

test: tools packages $(VENV) ## all tests
	$(CARGO) test --workspace --locked
	scripts/native-module
	$(PYTHON) -m pytest -q python/tests

test-full: test ## all tests, then the long ones, optimised; they want the machine to themselves
	seed=$${PROPTEST_RNG_SEED:-$$(date +%s)}; echo "property tests: PROPTEST_RNG_SEED=$$seed PROPTEST_CASES=4096"; \
		PROPTEST_RNG_SEED=$$seed PROPTEST_CASES=4096 $(CARGO) test --workspace --locked --release -- --include-ignored --skip helper_ --test-threads 1

test-deb: deb ## install, kill, upgrade and purge the packages in a fresh Debian under systemd; needs root
	scripts/test-deb

test-metrics: tools packages ## a real Prometheus with the rules and the dashboard, for a minute or AIRPACE_METRICS_SECONDS=300; installs it on Debian
	@scripts/prepare metrics
	$(CARGO) test -p airpace-cli --locked --test it prometheus -- --include-ignored --nocapture

validate-ns3: build ## this simulator against ns-3 (installs it, 330 MB): out/validate-ns3/report.json; FULL=1 for twenty minutes
	@scripts/prepare ns3
	target/release/airpace validate --program target/ns3/airpace-ns3 --error-model target/ns3/error_model \
		--out out/validate-ns3 $(if $(FULL),,--quick)

bench: build packages ## the benchmarks of docs/benchmarks.md
	$(CARGO) bench --workspace --locked --bench '*'
	target/release/airpace bench datapath
	target/release/airpace bench edge
	target/release/airpace bench emulator --mcs 9
	target/release/airpace bench emulator --mcs 9,4,1
	target/release/airpace bench tcp
	target/release/airpace bench ap
	target/release/airpace bench sensors
	target/release/airpace bench mixed
	target/release/airpace bench traffic
	target/release/airpace bench aps
	target/release/airpace bench forged
	target/release/airpace bench insight
	target/release/airpace step

frontier: build $(VENV) ## goodput against delay for every rate law over its knob, in virtual time: out/frontier; QUICK=1 for three minutes
	target/release/airpace bench frontier --cells main,extra $(if $(QUICK),--quick) --out out/frontier
	$(PYTHON) -m airpace.frontier_report out/frontier

soak: build packages ## HOURS=1 of a proxy with 1,000 agents and an in-line box under kills, stops, roaming, leaves and joins
	target/release/airpace bench soak --hours $(or $(HOURS),1) $(if $(AGENTS),--agents $(AGENTS)) $(if $(SEED),--seed $(SEED))

book: ## the documentation as pages: out/book/index.html (installs mdBook into target/tools)
	@scripts/prepare mdbook
	target/tools/bin/mdbook build

lint: tools $(VENV) ## formatting, clippy, documentation, spelling, Python, licences, the rules of the tree
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	scripts/check-fuzz
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked
	$(CARGO) run -q --locked -p xtask -- tidy
	.venv/bin/typos
	.venv/bin/ruff check python examples validation
	$(PYTHON) -m mypy $(TYPED)
	if scripts/prepare has-deny; then $(CARGO) deny --offline check licenses bans sources; fi

check-all: lint test-full ## lint and every test, then the agent's size, the packages, licences, advisories, and 30 s of fuzzing per target
	scripts/agent-size
	$(MAKE) test-deb
	@scripts/prepare deny
	$(CARGO) deny --offline check licenses bans sources
	if $(CARGO) deny fetch db; then $(CARGO) deny --offline check advisories; \
	else echo "check-all: WITHOUT advisories: their database cannot be fetched; when it can: cargo deny check advisories" >&2; fi
	$(MAKE) fuzz

fuzz: tools ## fuzz every target for 30 s, or for FUZZ_SECONDS
	@scripts/prepare fuzz
	scripts/fuzz $(or $(FUZZ_SECONDS),30)

bpf: ## compile the XDP programs anew; needs clang 14 and llvm-strip 14 of Debian 12, which building airpace does not
	scripts/bpf

ci: ## what continuous integration runs
	.ci/run

tools:
	@scripts/prepare tools

packages:
	@scripts/prepare packages

$(VENV): requirements.lock
	@scripts/prepare venv
