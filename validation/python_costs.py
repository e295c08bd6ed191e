"""What runs from Python cost, against their bars: `python validation/python_costs.py target/release/airpace`.

The package must be installed from a release build (`pip install .`). Prints medians over alternating runs. The machine should be idle, or the workers of the sweep do not get their cores.
"""

from __future__ import annotations

import argparse
import importlib
import os
import runpy
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import polars

import airpace
from airpace import _native, _run
from airpace._dispatch import local_cluster

ROOT = Path(__file__).parents[1]
SCENARIO = ROOT / "scenarios/002-f1-cell.toml"
OWN_LAW = runpy.run_path(str(ROOT / "examples/python/own_law.py"))
SWEPT = {
    "warm_up": "200 ms",
    "duration": "5 s",
    "node": [{"kind": "ap"}, {"kind": "station", "count": 5, "rate": "mcs 9"}],
    "flow": [{"kind": "udp-cbr", "rate": "20 Mbit/s"}, {"kind": "voip"}],
}


def seconds(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def processor_seconds(action: Callable[[], object]) -> float:
    """Time of the processor that the action takes, programs that it runs included."""
    before = os.times()
    action()
    return sum(after - earlier for after, earlier in zip(os.times()[:4], before))


def ratio(rounds: int, first: Callable[[], object], second: Callable[[], object]) -> float:
    """The median over rounds of how much more time of the processor the second takes, in per cent."""
    return 100 * statistics.median(processor_seconds(second) / processor_seconds(first) - 1 for _ in range(rounds))


SWEEP = {"node.station.count": [5, 6]}


def sweep_s(runs: int, workers: int, folder: Path) -> float:
    """Seconds of a sweep on the processes that `airpace.sweep` begins by itself, from when they have begun."""
    with local_cluster(workers, runs) as client:
        client.run(importlib.import_module, "airpace._native")
        return seconds(lambda: airpace.sweep(SWEPT, SWEEP, repeats=runs // 2, out=folder, client=client))


def bare_s(runs: int, processes: int) -> float:
    """The same runs in processes that share nothing and keep nothing: what this machine can gain from a second one."""
    axes = [("node.station.count", ["5", "6"])]
    jobs = [job.json() for job in _run.load(SWEPT, {}).jobs(axes, runs // 2)]

    def carry_out() -> None:
        children = []
        for first in range(processes):
            child = os.fork()
            if child == 0:
                for job in jobs[first::processes]:
                    _native.run_job(job)
                os._exit(0)
            children.append(child)
        if any(os.waitpid(child, 0)[1] for child in children):
            raise RuntimeError("a process of the comparison has failed")

    return seconds(carry_out)


def gain(rounds: list[list[float]]) -> float:
    """The median of how often the time with two is in the time with one."""
    return statistics.median(one / two for one, two in rounds)


def median_s(rounds: list[list[float]], count: int) -> float:
    """The median time with this number of workers or processes."""
    return statistics.median(times[count - 1] for times in rounds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path, help="the program airpace, from a release build")
    parser.add_argument("--rounds", type=int, default=9, help="runs of each kind (default: 9)")
    parser.add_argument("--runs", type=int, default=1000, help="runs of the sweep (default: 1000)")
    parser.add_argument("--sweeps", type=int, default=3, help="sweeps with one worker and with two (default: 3)")
    options = parser.parse_args()
    command = [options.program, "sim", "run", str(SCENARIO), "--json", "--set", "duration=60 s"]
    figures = [
        ("Python over the program, %", 5, ratio(
            options.rounds,
            lambda: subprocess.run(command, check=True, capture_output=True),
            lambda: airpace.simulate(SCENARIO, duration="60 s", record__slots=False),
        )),
        ("a law in Python over the built-in one, %", 20, ratio(
            options.rounds,
            lambda: airpace.simulate(OWN_LAW["CELL"], duration="20 s"),
            lambda: airpace.simulate(OWN_LAW["CELL"], duration="20 s", law=OWN_LAW["Linear"]),
        )),
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        swept, bare = [], []
        for number in range(options.sweeps):
            data = [Path(folder) / f"{number} {workers}" for workers in (1, 2)]
            swept.append([sweep_s(options.runs, workers, out) for workers, out in enumerate(data, 1)])
            bare.append([bare_s(options.runs, processes) for processes in (1, 2)])
        data = data[-1]
        size = sum(path.stat().st_size for path in data.glob("*.parquet"))
        read = seconds(lambda: [polars.read_parquet(path) for path in data.glob("*.parquet")])
    figures += [
        ("one worker's time over two workers', at least", 1.8, gain(swept)),
        ("the same of bare processes", "none: what the machine gives", gain(bare)),
        *((f"seconds of {options.runs} runs, workers: {count}", "none", median_s(swept, count)) for count in (1, 2)),
        *((f"seconds of them, bare processes: {count}", "none", median_s(bare, count)) for count in (1, 2)),
        ("bytes per run", 5_000, size / options.runs),
        ("seconds to read the data set", 1, read),
    ]
    for what, bar, value in figures:
        print(f"{what:48} {value:10.3f}   bar {bar}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
