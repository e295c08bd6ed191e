"""What users read of the package: README, notebook, types, names."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import airpace

ROOT = Path(__file__).parents[2]
PYTHON = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "MYPYPATH": str(ROOT / "python")}


def run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=PYTHON, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)


def test_the_example_of_the_readme_runs(tmp_path):
    (example,) = blocks(ROOT / "README.md")
    assert len([line for line in example.splitlines() if line.strip()]) <= 20
    (tmp_path / "example.py").write_text(example)
    said = run(tmp_path, "example.py")
    assert "waterfill" in said
    assert "node.station.count" in said
    assert (tmp_path / "out/python-sweep/flows.parquet").exists()


def test_the_python_of_the_documentation_is_python():
    for block in blocks(ROOT / "docs/python.md"):
        compile(block, "docs/python.md", "exec")


def test_the_models_of_the_documentation_have_the_shapes_that_it_tells():
    (example,) = [block for block in blocks(ROOT / "docs/python.md") if "phy.mpdu_error" in block]
    link = airpace.model.link([9, 9, 4, 1], nss=[2, 1, 1, 1])
    assert "delay_s=[3e-3, 5e-3]).rate_pps                  # shape (2, 4)" in example
    assert airpace.allocate(*link, delay_s=[3e-3, 5e-3]).rate_pps.shape == (2, 4)


def test_the_notebook_runs(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    notebook = nbformat.read(ROOT / "examples/python/cell.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = str([cell.get("outputs") for cell in notebook.cells])
    assert "<svg" in shown
    assert "Three downloads and a call" in shown


def test_the_types_of_the_native_module_are_those_that_it_has(tmp_path):
    assert "Success" in run(tmp_path, "-m", "mypy.stubtest", "airpace._native")


def test_the_types_of_the_package_serve_users(tmp_path):
    program = """
import airpace

result = airpace.simulate({"node": []}, seed=3)
levels = result.slots["level"]
rates: airpace.Allocated = airpace.allocate([1e-5], 1e-4, 32.0)
sweep: airpace.Sweep = airpace.sweep("cell.toml", {"seed": [1, 2]}, out="out")
for column in sweep.runs.columns:
    reveal_type(column)
reveal_type(airpace.phy.frame_s(9))
reveal_type(airpace.Allocation(1, 2.0).rate_pps)
"""
    (tmp_path / "program.py").write_text(program)
    said = run(tmp_path, "-m", "mypy", "--strict", "program.py")
    assert "Success" in said
    assert '"str"' in said
    assert "float64" in said
    assert '"float"' in said
    (tmp_path / "program.py").write_text("import airpace\nairpace.simulat({})\n")
    wrong = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "program.py"],
        cwd=tmp_path,
        env=PYTHON,
        capture_output=True,
        text=True,
    )
    assert 'Module has no attribute "simulat"' in wrong.stdout


def test_every_name_is_there_and_others_are_not():
    for name in airpace.__all__:
        assert getattr(airpace, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = airpace.simulat


def test_the_reports_need_no_native_module(tmp_path):
    said = run(tmp_path, "-c", "import sys, airpace.demo_report; print('airpace._native' in sys.modules)")
    assert said.strip() == "False"


@pytest.mark.parametrize("name", ["apartment_house", "lecture_hall", "law_against_ours"])
def test_the_examples_run_and_draw(name, tmp_path, capsys):
    path = ROOT / "examples/python" / f"{name}.py"
    assert len(path.read_text().splitlines()) < 60
    example = runpy.run_path(str(path))
    example["main"]([tmp_path / "figure.png"], warm_up="200 ms", duration="300 ms")
    assert "Mbit/s" in capsys.readouterr().out
    assert (tmp_path / "figure.png").stat().st_size > 5_000
