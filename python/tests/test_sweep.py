"""Sweeps: the data set, resumption, workers that die."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars
import pytest
from distributed import Client, LocalCluster

import airpace
from airpace import _dispatch, _native, _sweep
from airpace._run import load

CELL = {
    "warm_up": "50 ms",
    "duration": "150 ms",
    "node": [{"kind": "ap"}, {"kind": "station", "count": 2, "rate": "mcs 9"}],
    "flow": [{"kind": "udp-cbr", "rate": "20 Mbit/s"}, {"kind": "voip"}],
}
OVER = {"node.station.count": [1, 2, 4], "flow.0.rate": ["10 Mbit/s", "20 Mbit/s"]}
FILES = ["runs.parquet", "stations.parquet", "flows.parquet"]


def contents(folder):
    return [(folder / name).read_bytes() for name in FILES]


def test_rows_do_not_depend_on_the_number_of_workers(tmp_path):
    one = airpace.sweep(CELL, OVER, repeats=2, out=tmp_path / "one", workers=1)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        airpace.sweep(CELL, OVER, repeats=2, out=tmp_path / "two", client=client)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert len(one.runs) == 12
    assert one.runs["node.station.count"].tolist() == [1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4]
    assert one.runs["flow.0.rate"][1:3] == ["10 Mbit/s", "20 Mbit/s"]
    assert one.runs["seed"].tolist() == [1, 2] * 6
    runs, flows = (polars.read_parquet(tmp_path / "one" / name) for name in ("runs.parquet", "flows.parquet"))
    joined = flows.join(runs, on="run", suffix="_of_run")
    assert joined.height == len(one.flows) == 2 * 2 * 2 * (1 + 2 + 4)
    assert joined.filter(kind="voip")["mos"].min() > 4
    assert one.plot("node.station.count").axes
    assert "12 runs, 0 without" in repr(one)


def test_a_sweep_goes_on_where_it_was_stopped(tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    jobs = load(CELL, {}).jobs([(key, [str(value) for value in values]) for key, values in OVER.items()], 1)
    journal = _native.Journal(parts)
    for job in jobs[:4]:
        journal.add([_native.run_job(job.json())])
    with pytest.raises(RuntimeError, match="in use by another sweep"):
        airpace.sweep(CELL, OVER, out=parts)
    # As if the process had been killed: the journal was not folded into the tables.
    journal.close()
    airpace.sweep(CELL, OVER, out=whole, workers=2)
    airpace.sweep(CELL, OVER, out=parts, workers=1)
    assert contents(whole) == contents(parts)
    again = airpace.sweep(CELL, OVER, out=whole, workers=1)
    assert len(again.runs) == 6
    assert contents(whole) == contents(parts)


class Cluster:
    """A client of a cluster that carries out nothing, with these numbers of threads, each asked for once."""

    def __init__(self, *threads):
        self.threads = list(threads)

    def nthreads(self):
        return {"worker": self.threads.pop(0)} if len(self.threads) > 1 else {"worker": self.threads[0]}

    def submit(self, function, batch, budget_s, *, pure):
        return tuple(batch)


def handed_out(jobs, run_s, *threads):
    """The sizes of the batches of `jobs` runs that take `run_s` each, if each batch is finished before the next is handed out."""
    handout = _dispatch._Handout([str(number) for number in range(jobs)], Cluster(*threads))
    sizes, names = [], []
    while handout.submit() or handout.batches:
        batch = handout.batches.pop(next(iter(handout.batches)))
        sizes.append(len(batch))
        names += batch
        handout.learn(len(batch), run_s * len(batch))
    assert sorted(names, key=int) == [str(number) for number in range(jobs)]
    return sizes


def test_batches_are_as_long_as_is_worth_while_and_shrink_to_single_runs():
    sizes = handed_out(1000, 0.02, 2)
    assert max(sizes) == pytest.approx(_dispatch.BATCH_S / 0.02, abs=1)
    assert sizes[0] == sizes[-1] == 1
    # Some milliseconds for each of so few batches are less than 1 % of the 20 s that the runs take.
    assert len(sizes) < 40
    assert max(handed_out(1000, 10.0, 2)) == 1
    assert max(handed_out(10_000, 1e-9, 2)) == _dispatch.BATCH_MOST
    assert handed_out(0, 1.0, 2) == []
    assert handed_out(1, 1.0, 64) == [1]


def test_workers_that_come_later_are_counted(monkeypatch):
    monkeypatch.setattr(_dispatch, "COUNT_S", 0.0)
    handout = _dispatch._Handout([str(number) for number in range(1000)], Cluster(0, 100))
    assert len(handout.submit()) == _dispatch.AHEAD
    assert len(handout.submit()) == _dispatch.AHEAD * 99


def test_a_worker_ends_a_batch_when_its_time_is_over():
    job = load(CELL, {}).jobs([], 1)[0].json()
    records, took_s = _dispatch.run_batch([job] * 3, 0.0)
    assert len(records) == 1
    assert took_s > 0
    assert len(_dispatch.run_batch([job] * 3, 60.0)[0]) == 3


def fatal_batch(jobs, budget_s):
    """The same, but the runs with seed 3 kill their process."""
    records = []
    for job in jobs:
        if '"seed=3"' in job:
            os.kill(os.getpid(), signal.SIGKILL)
        records.append(_native.run_job(job))
    return records, 0.1


def test_a_run_that_kills_its_workers_is_a_row_and_costs_no_other_run(tmp_path, monkeypatch):
    monkeypatch.setattr(_dispatch, "run_batch", fatal_batch)
    sweep = airpace.sweep(CELL, {}, repeats=12, out=tmp_path, workers=2)
    assert sweep.runs["status"] == ["finished" if seed != 3 else "failed" for seed in range(1, 13)]
    assert "died, 4 times in a row" in sweep.runs["error"][2]
    assert len(sweep.stations) == 11 * 2


def test_only_a_run_that_was_alone_is_blamed_for_its_workers_death():
    # With two single runs handed out per worker, the one that waits dies with the one that kills.
    handout = _dispatch._Handout([str(number) for number in range(4)], Cluster(2))
    handed = handout.submit()
    assert len(handed) == 4
    assert handout.alone is None
    for future in handed:
        handout.suspects.extend(handout.batches.pop(future))
    for number in range(4):
        (alone,) = handout.submit()
        assert handout.alone is alone
        assert handout.submit() == []
        assert handout.batches.pop(alone) == [str(number)]


def test_ctrl_c_keeps_what_is_done_and_the_same_call_goes_on(tmp_path):
    program = f"""
import airpace
if __name__ == "__main__":
    airpace.sweep({CELL!r}, {OVER!r}, repeats=500, out="out", workers=2, progress=True)
"""
    (tmp_path / "program.py").write_text(program)
    environment = {**os.environ, "PYTHONPATH": str(Path(airpace.__file__).parents[1])}
    # A group of its own, to which a terminal's Ctrl-C would go.
    process = subprocess.Popen(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    journal = tmp_path / "out/journal.jsonl"
    while process.poll() is None and not (journal.exists() and journal.stat().st_size > 0):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert "KeyboardInterrupt" in said
    done = airpace.read_sweep(tmp_path / "out").runs
    assert 0 < len(done) < 3000
    assert journal.stat().st_size == 0
    airpace.sweep(CELL, OVER, repeats=2, out=tmp_path / "out", workers=1)
    airpace.sweep(CELL, OVER, repeats=2, out=tmp_path / "whole", workers=1)
    resumed, whole = (polars.read_parquet(tmp_path / name / "flows.parquet") for name in ("out", "whole"))
    assert resumed.head(whole.height).equals(whole)


def test_a_killed_worker_loses_nothing(tmp_path, monkeypatch):
    carried_out = _sweep.carried_out
    killed = []

    def kill_after_the_first_run(jobs, client):
        for records in carried_out(jobs, client):
            yield records
            if not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr(_sweep, "carried_out", kill_after_the_first_run)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        airpace.sweep(CELL, OVER, repeats=8, out=tmp_path / "killed", client=client)
    monkeypatch.undo()
    assert len(killed) == 1
    airpace.sweep(CELL, OVER, repeats=8, out=tmp_path / "whole", workers=1)
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_runs_without_figures_are_rows(tmp_path):
    placed = {**CELL, "channel": {"carrier_sense_range": "45 m"}}
    placed["node"] = [{"kind": "ap"}, {"kind": "station", "within": "120 m"}]
    sweep = airpace.sweep(placed, {}, repeats=8, out=tmp_path, workers=1)
    refused = [error for error, status in zip(sweep.runs["error"], sweep.runs["status"]) if status == "refused"]
    assert 0 < len(refused) < 8
    assert all("do not hear each other" in error for error in refused)
    assert len(sweep.stations) == 8 - len(refused)


def test_a_grid_with_a_refused_point_is_refused_before_anything_runs(tmp_path):
    with pytest.raises(airpace.ScenarioError, match=r"node\.station\.count=0: out of range"):
        airpace.sweep(CELL, {"node.station.count": [1, 0]}, out=tmp_path / "out")
    with pytest.raises(ValueError, match="has no values"):
        airpace.sweep(CELL, {"node.station.count": []}, out=tmp_path / "out")
    with pytest.raises(ValueError, match="repeats is 0"):
        airpace.sweep(CELL, {}, repeats=0, out=tmp_path / "out")
    with pytest.raises(ValueError, match="workers is 0"):
        airpace.sweep(CELL, {}, workers=0, out=tmp_path / "out")
    with pytest.raises(TypeError, match=r"`proxy\.0\.law` is 'linear': give a list"):
        airpace.sweep(CELL, {"proxy.0.law": "linear"}, out=tmp_path / "out")
    with pytest.raises(TypeError, match=r"`node\.station\.count` is 3: give a list"):
        airpace.sweep(CELL, {"node.station.count": 3}, out=tmp_path / "out")
    with pytest.raises(TypeError, match="give a dictionary"):
        airpace.sweep(CELL, ["node.station.count=1"], out=tmp_path / "out")
    with pytest.raises(TypeError, match=r"give a distributed\.Client"):
        airpace.sweep(CELL, {}, client="tcp://127.0.0.1:8786", out=tmp_path / "out")
    with pytest.raises(FileNotFoundError, match=r"no runs\.parquet"):
        airpace.read_sweep(tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_run_takes_at_most_5_kb(tmp_path):
    cell = {**CELL, "node": [{"kind": "ap"}, {"kind": "station", "count": 10, "rate": "mcs 9"}]}
    sweep = airpace.sweep(cell, {"flow.0.rate": ["1 Mbit/s", "2 Mbit/s"]}, repeats=25, out=tmp_path, workers=2)
    assert len(sweep.flows) == 50 * 20
    assert sum(len(text) for text in contents(tmp_path)) / 50 <= 5_000
