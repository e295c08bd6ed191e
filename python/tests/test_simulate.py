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


def test_arrays_and_their_scalars_are_values():
    node = [{"kind": "ap"}, {"kind": "station", "count": np.uint8(2), "rate": "mcs 9", "loss": np.array([0.25, 0.5])}]
    settings = {"record": {"slots": np.bool_(False)}, "seed": pandas.Series([7])[0]}
    own = airpace.simulate({**CELL, **settings, "node": node})
    node = [node[0], {**node[1], "loss": [0.25, 0.5]}]
    same = airpace.simulate({**CELL, "node": node}, record__slots=False, seed=7)
    assert own.stations["goodput_mbps"].tolist() == same.stations["goodput_mbps"].tolist()
    assert "slots" not in own.tables


def test_flows_have_voice_quality_and_round_trip_times_in_their_table():
    flows = polars.DataFrame(airpace.simulate(CELL).flows)
    calls = flows.filter(polars.col("kind").cast(polars.String) == "voip")
    assert calls["mos"].min() > 4
    pings = flows.filter(polars.col("kind").cast(polars.String) == "ping")
    assert pings["rtt_p95_ms"].is_not_null().all()
    assert calls["rtt_p95_ms"].is_null().all()


def memory(array):
    """Where the values of an Arrow array are."""
    return array.buffers()[1].address


def test_numbers_are_read_without_copying_and_texts_by_pandas_too():
    result = airpace.simulate(CELL, proxy=[{}], record={"frames": True, "packets": True, "slots": True})
    assert set(result.tables) == {"summary", "stations", "flows", "slots", "decisions", "frames", "packets"}
    for table in result.tables.values():
        own, to_pandas, to_polars = pyarrow.table(table), table.to_pandas(), polars.DataFrame(table)
        assert own.num_rows == len(table) == len(to_pandas) == to_polars.height > 0
        for name in own.column_names:
            at = memory(own[name].chunk(0))
            assert memory(pyarrow.table(table)[name].chunk(0)) == at
            assert memory(to_pandas[name].array.__arrow_array__().chunk(0)) == at, name
            # Polars numbers texts in its own way.
            if not isinstance(table[name], list):
                assert memory(to_polars[name].to_arrow()) == at, name
    frames = result.frames
    assert pandas.DataFrame.from_arrow(frames)["mpdus"].sum() == sum(frames["mpdus"])
    assert set(frames["to"]) >= {"station-1", "station-2"}


def test_a_table_is_a_mapping_of_its_columns():
    flows = airpace.simulate(CELL).flows
    columns = dict(flows)
    assert list(columns) == flows.columns
    assert "mos" in flows
    assert "loudness" not in flows
    assert pandas.DataFrame(columns)["kind"].tolist() == flows["kind"]


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


def test_a_dictionary_that_is_no_scenario_is_refused():
    loop = {**CELL}
    loop["node"] = [loop]
    with pytest.raises(ValueError, match="does one contain itself"):
        airpace.simulate(loop)
    with pytest.raises(ValueError, match=r"`seed` is 1180591620717411303424: it must be less than 2\^63"):
        airpace.simulate(CELL, seed=2**70)
    with pytest.raises(TypeError, match="the key 3 is not a text"):
        airpace.simulate({**CELL, 3: 4})


@pytest.mark.parametrize("title", ["", "17", "true", 'a\nb "q" = c', "[1, 2", "2020-01-01", "'x'", "#no", " a "])
def test_texts_stay_what_they_are(title):
    assert airpace.simulate(CELL, title=title).summary["scenario"]["title"] == title
    assert airpace.simulate({**CELL, "title": title}).summary["scenario"]["title"] == title


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
    silent = {**CELL, "title": "<b>", "flow": [{"kind": "udp-cbr", "rate": "1 Mbit/s", "start": "100 s"}]}
    with pytest.warns(UserWarning, match="nothing-arrived"):
        shown = airpace.simulate(silent, record__slots=False)._repr_html_()
    assert shown.startswith("<h4>&lt;b&gt;</h4>")


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
