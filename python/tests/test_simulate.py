"""Runs from Python: scenarios, results, errors."""

import json
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import airpace

CELL = {
    "warm_up": "100 ms",
    "duration": "400 ms",
    "node": [{"kind": "ap"}, {"kind": "station", "count": 2, "rate": "mcs 9"}],
    "flow": [
        {"kind": "udp-cbr", "rate": "20 Mbit/s"},
        {"kind": "voip", "to": "station-1"},
        {"kind": "ping", "to": "station-2", "interval": "20 ms"},
    ],
}
SCENARIOS = Path(__file__).parents[2] / "scenarios"


def test_a_dictionary_and_the_file_with_the_same_keys_give_the_same_figures(tmp_path):
    text = """
        warm_up = "100 ms"
        duration = "400 ms"
        node = [{ kind = "ap" }, { kind = "station", count = 2, rate = "mcs 9" }]
        [[flow]]
        kind = "udp-cbr"
        rate = "20 Mbit/s"
        [[flow]]
        kind = "voip"
        to = "station-1"
        [[flow]]
        kind = "ping"
        to = "station-2"
        interval = "20 ms"
    """
    (tmp_path / "cell.toml").write_text(text)
    from_file = airpace.simulate(tmp_path / "cell.toml").summary
    from_dict = airpace.simulate(CELL).summary
    for summary in (from_file, from_dict):
        del summary["wall_s"], summary["packets_per_wall_s"], summary["scenario"]["text"]
    assert from_file == from_dict


def test_overrides_replace_settings_whatever_their_type():
    result = airpace.simulate(
        CELL, seed=np.int64(3), node__station__count=3, **{"flow.0.rate": "18.628999999999998 Mbit/s"}
    )
    assert result.summary["seed"] == 3
    assert len(result.stations) == 3
    assert np.allclose(result.stations["goodput_mbps"][2], 18.6, atol=1)


def test_flows_have_voice_quality_and_round_trip_times_in_their_table():
    flows = polars.DataFrame(airpace.simulate(CELL).flows)
    calls = flows.filter(polars.col("kind").cast(polars.String) == "voip")
    assert calls["mos"].min() > 4
    pings = flows.filter(polars.col("kind").cast(polars.String) == "ping")
    assert pings["rtt_p95_ms"].is_not_null().all()
    assert calls["rtt_p95_ms"].is_null().all()


def test_tables_are_read_without_copying():
    frames = airpace.simulate(CELL, record__frames=True).frames
    assert len(frames) > 50
    first, second = (pyarrow.table(frames)["start_ns"].chunk(0).buffers()[1].address for _ in range(2))
    assert first == second
    assert polars.DataFrame(frames)["mpdus"].sum() == sum(frames["mpdus"])
    assert pandas.DataFrame.from_arrow(frames)["mpdus"].sum() == sum(frames["mpdus"])
    assert set(frames["to"]) >= {"station-1", "station-2"}


def test_a_table_that_was_not_recorded_says_how_it_is_recorded():
    result = airpace.simulate(CELL)
    assert set(result.tables) == {"summary", "stations", "flows", "slots"}
    with pytest.raises(ValueError, match="pass record__frames=True"):
        _ = result.frames
    with pytest.raises(ValueError, match="no proxy"):
        _ = result.decisions
    with pytest.raises(KeyError, match="stations has no column `delay`"):
        _ = result.stations["delay"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"node__station__cuont": 3}, "--set node.station.cuont=3: [[node]] has no key `cuont`"),
        ({"duration": "5 parsec"}, "`parsec` is not a unit here"),
        ({"duration": 5}, "`5` has no unit"),
        ({"seed": -1}, "seed"),
    ],
)
def test_a_refused_setting_is_refused_as_by_the_program(settings, said):
    with pytest.raises(airpace.ScenarioError) as refused:
        airpace.simulate(CELL, **settings)
    assert said in str(refused.value)


def test_a_refused_file_is_quoted(tmp_path):
    (tmp_path / "cell.toml").write_text("[[node]]\nkind = 'ap'\n[chanel]\n")
    with pytest.raises(airpace.ScenarioError) as refused:
        airpace.simulate(tmp_path / "cell.toml")
    assert str(refused.value).startswith(f"{tmp_path / 'cell.toml'}:3:2: a scenario has no key `chanel`")
    assert "^^^^^^" in str(refused.value)
    with pytest.raises(airpace.ScenarioError, match=r"cannot read nowhere\.toml"):
        airpace.simulate("nowhere.toml")


def test_values_of_no_type_of_a_scenario_are_refused():
    with pytest.raises(TypeError, match=r"`flow\.0\.rate` is None"):
        airpace.simulate({**CELL, "flow": [{"kind": "udp-cbr", "rate": None}]})


def test_the_interpreter_is_free_during_a_run():
    counted = 0
    ends = threading.Event()

    def run():
        airpace.simulate(CELL, duration="5 s")
        ends.set()

    thread = threading.Thread(target=run)
    thread.start()
    while not ends.is_set():
        counted += 1
        time.sleep(0)
    thread.join()
    assert counted > 100


def test_progress_is_told_and_an_exception_in_it_ends_the_run():
    told = []
    airpace.simulate(CELL, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (0.5, 0.5)

    def interrupt(done, total):
        raise KeyboardInterrupt

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        airpace.simulate(CELL, duration="100000 s", progress=interrupt)
    assert time.monotonic() - begun < 60


def test_files_go_where_the_program_puts_them(tmp_path):
    result = airpace.simulate(CELL, out=tmp_path / "out")
    assert json.loads((tmp_path / "out/summary.json").read_text()) == result.summary
    assert polars.read_parquet(tmp_path / "out/flows.parquet").height == len(result.flows)


def test_a_result_shows_itself():
    result = airpace.simulate(CELL)
    shown = result._repr_html_()
    assert "<td>station-2</td>" in shown
    assert "<svg" in shown
    assert "mos" in shown
    assert "goodput" in repr(result)
    assert len(result.plot().axes) == 3


def test_every_stored_scenario_that_is_short_runs():
    assert airpace.simulate(SCENARIOS / "002-f1-cell.toml", duration="50 ms", warm_up="10 ms").summary["stations"]


def test_a_setting_that_makes_figures_meaningless_is_told():
    with pytest.warns(UserWarning, match="nothing-arrived: `udp-cbr@station-1` starts at 2.0 s"):
        result = airpace.simulate(CELL, **{"flow.0.start": "2 s"})
    assert [warning["name"] for warning in result.warnings] == ["nothing-arrived"] * 2
    assert result.warnings[0]["who"] == "udp-cbr@station-1"
    assert "measure longer" in result.warnings[0]["text"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert airpace.simulate(CELL).warnings == []
