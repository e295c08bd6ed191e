"""Figures of runs, sweeps and laws."""

import numpy as np
import pytest

import airpace
from airpace import plot

CELL = {
    "warm_up": "200 ms",
    "duration": "500 ms",
    "node": [{"kind": "ap"}, {"kind": "station", "count": 3, "rate": ["mcs 9", "mcs 4", "mcs 1"]}],
    "flow": [{"kind": "tcp"}],
}


@pytest.fixture(scope="module")
def results():
    return {law: airpace.simulate(CELL, proxy=[{"law": law}]) for law in ("linear", "waterfill")}


def points(axes):
    return [np.asarray(drawn.get_offsets()) for drawn in axes.collections]


def test_laws_are_drawn_with_a_point_per_station(results):
    figure = plot.laws(results)
    (axes,) = figure.axes
    for (name, result), drawn in zip(results.items(), points(axes)):
        stations = result.stations
        assert np.allclose(drawn[:, 0], stations["delay_p95_ms"]), name
        assert np.allclose(drawn[:, 1], stations["goodput_mbps"]), name
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["linear", "waterfill"]
    low, high = axes.get_xlim()
    assert all(((low < drawn[:, 0]) & (drawn[:, 0] < high)).all() for drawn in points(axes))


def test_laws_are_drawn_with_a_panel_per_cell_and_a_point_per_run(results):
    nested = {"linear": {"a": results["linear"], "b": results["linear"]}, "waterfill": {"b": results["waterfill"]}}
    first, second = plot.laws(nested, per="cell").axes
    assert [first.get_title(), second.get_title()] == ["a", "b"]
    assert [len(points(axes)) for axes in (first, second)] == [1, 2]
    stations = results["waterfill"].stations
    whole = [stations["delay_p95_ms"].max(), stations["goodput_mbps"].sum()]
    assert np.allclose(points(second)[1], [whole])


def test_what_cannot_be_drawn_is_told(results):
    with pytest.raises(ValueError, match="no runs to draw"):
        plot.laws({})
    with pytest.raises(ValueError, match="give 'station' or 'cell'"):
        plot.laws(results, per="flow")
    silent = airpace.simulate({**CELL, "flow": [{"kind": "udp-cbr", "rate": "1 Mbit/s", "start": "100 s"}]})
    with pytest.raises(ValueError, match="they receive nothing"):
        plot.laws({"none": silent})


def test_runs_and_sweeps_are_drawn_by_the_same_functions_as_by_their_methods(results, tmp_path):
    assert len(plot.run(results["linear"]).axes) == len(results["linear"].plot().axes) == 3
    sweep = airpace.sweep(CELL, {"node.station.count": [3]}, out=tmp_path / "sweep", workers=1)
    assert plot.sweep(sweep, "node.station.count").axes[0].get_xlabel() == "node.station.count"


def test_a_sweep_is_drawn_in_the_order_of_its_settings_without_the_runs_that_failed(tmp_path):
    placed = {**CELL, "channel": {"carrier_sense_range": "45 m"}}
    placed["node"] = [{"kind": "ap"}, {"kind": "station", "within": "1 m"}]
    out = tmp_path / "sweep"
    sweep = airpace.sweep(placed, {"node.station.within": ["1 m", "1 km"], "seed": [3, 1]}, out=out, workers=1)
    assert sweep.runs["status"] == ["finished", "finished", "refused", "refused"]
    (axes,) = sweep.plot("seed").axes
    drawn, means = (line.get_xydata() for line in axes.lines)
    assert means[:, 0].tolist() == [1, 3]
    assert np.isfinite(means).all()
    assert len(drawn) == 4
    (axes,) = sweep.plot("node.station.within").axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1 m", "1 km"]
    assert len(axes.lines[1].get_xydata()) == 1
    with pytest.raises(ValueError, match="`status` is a column of texts"):
        sweep.plot("seed", "status")
    with pytest.raises(KeyError, match="no column `loudness`"):
        sweep.plot("seed", "loudness")
