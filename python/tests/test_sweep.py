"""Sweeps: the data set, resumption, workers that die."""

import os
import signal

import polars
import pytest
from distributed import Client, LocalCluster

import airpace
from airpace import _native, _sweep
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


@pytest.mark.parametrize(("jobs", "threads"), [(0, 2), (1, 2), (7, 2), (1000, 2), (1000, 64)])
def test_batches_hold_each_job_once_and_shrink_to_single_ones(jobs, threads):
    names = [str(number) for number in range(jobs)]
    batches = _sweep._batches(names, threads)
    sizes = [len(batch) for batch in batches]
    assert [name for batch in batches for name in batch] == names
    assert sizes == sorted(sizes, reverse=True)
    assert all(size <= _sweep.BATCH_MOST for size in sizes)
    assert not sizes or sizes[-1] == 1


def test_a_killed_worker_loses_nothing(tmp_path, monkeypatch):
    carried_out = _sweep._carried_out
    killed = []

    def kill_after_the_first_run(jobs, client, workers):
        for records in carried_out(jobs, client, workers):
            yield records
            if not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr(_sweep, "_carried_out", kill_after_the_first_run)
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
    with pytest.raises(FileNotFoundError, match=r"no runs\.parquet"):
        airpace.read_sweep(tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_run_takes_at_most_5_kb(tmp_path):
    cell = {**CELL, "node": [{"kind": "ap"}, {"kind": "station", "count": 10, "rate": "mcs 9"}]}
    sweep = airpace.sweep(cell, {"flow.0.rate": ["1 Mbit/s", "2 Mbit/s"]}, repeats=25, out=tmp_path, workers=2)
    assert len(sweep.flows) == 50 * 20
    assert sum(len(text) for text in contents(tmp_path)) / 50 <= 5_000
