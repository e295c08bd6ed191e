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
