"""The report of a stored run: files, page, findings, and the errors for folders that cannot be read."""

import json
import re
from pathlib import Path

import pytest
from conftest import ARMS

from airpace import demo_report, page, plots
from airpace.findings import findings
from airpace.results import load


def edit(folder: Path, change) -> None:
    path = folder / "summary.json"
    summary = json.loads(path.read_text())
    change(summary)
    path.write_text(json.dumps(summary))


def test_a_report_is_complete_and_its_page_contains_its_figures(folder):
    figure = folder / "docs" / "img" / "demo.png"
    assert demo_report.main([str(folder), "--readme-figure", str(figure)]) == 0
    for stem in ("overview", "arms", "timeline-1", "ping-1", "timeline-3", "ping-3", "stations-3"):
        assert (folder / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (folder / f"{stem}.svg").read_bytes()
    assert figure.read_bytes() == (folder / "overview.png").read_bytes()
    index = (folder / "index.html").read_text()
    sources = re.findall(r'(?:src|href)="([^"]*)"', index)
    assert len(sources) == 7 and all(source.startswith("data:") for source in sources)
    assert "one download, eight ways" in index
    assert (
        "behind airpace edge, nothing on the stations" in index
        and "AP with FQ-MAC + airtime" in index
        and "--seed 1" in index
    )


def test_a_run_without_series_and_with_an_unknown_arm_is_drawn(folder):
    for path in folder.glob("series-*.json"):
        path.unlink()
    edit(folder, lambda s: s["arms"].append(dict(s["arms"][0], name="reno")))
    demo = load(folder)
    assert len(demo.arms) == 2 * len(ARMS) + 1
    assert plots.overview(demo).axes and plots.timeline(demo, 1).axes


def test_claims_that_hold_are_reported_as_such(folder):
    assert all(f.holds for f in findings(load(folder)))


def test_a_claim_that_fails_is_reported_as_failing(folder):
    def slow(summary):
        next(a for a in summary["arms"] if a["name"] == "airpace-cubic" and a["stations"] == 1)["goodput_mbps"] = 100

    edit(folder, slow)
    assert [f.claim for f in findings(load(folder)) if not f.holds] == [
        "one station, tunnel: at least 97% of the goodput of Cubic alone",
        "one station: behind the tunnel a closed AP has at least half of the goodput of one with FQ-MAC + airtime, "
        "and no longer p95 pings under load",
    ]
    assert "does not hold" in page.render(load(folder), {})


def test_a_claim_about_several_stations_has_bars_of_its_own(folder):
    def between_the_bars(summary):
        ours, cubic = (
            next(a for a in summary["arms"] if a["name"] == name and a["stations"] == 3)
            for name in ("airpace-cubic", "cubic")
        )
        # Enough for one station, not for several.
        ours["goodput_mbps"] = 1.05 * cubic["goodput_mbps"]
        ours["ping_ms"]["p95"] = cubic["ping_ms"]["p95"] / 20

    edit(folder, between_the_bars)
    assert [f.claim for f in findings(load(folder)) if not f.holds] == [
        "3 stations, tunnel: at least 110% of the goodput of Cubic alone",
        "3 stations, tunnel: at most 1/25 of Cubic's p95 ping under load, at most 1 % of pings unanswered",
    ]


def change_arm(folder: Path, name: str, change) -> None:
    edit(folder, lambda s: change(next(a for a in s["arms"] if a["name"] == name and a["stations"] == 3)))


def failing(folder: Path) -> list[str]:
    return [f"{f.claim} ({f.figures})" for f in findings(load(folder)) if not f.holds]


def test_the_in_line_box_without_agents_must_reach_the_unpaced_goodput_with_several_stations(folder):
    change_arm(folder, "edge-acks", lambda arm: arm.update(goodput_mbps=0.99 * 330 / 3**0.5))
    assert [f for f in failing(folder) if "at least the goodput of Cubic alone (189 of 191 Mbit/s: 99%)" in f]


def test_one_station_below_nine_tenths_of_what_agents_give_is_enough_to_fail(folder):
    change_arm(folder, "edge-acks", lambda arm: arm["per_station"][2].update(goodput_mbps=70))
    (failed,) = failing(folder)
    assert failed.startswith("3 stations, airpace edge: without agents each has at least 90 %") and failed.endswith(
        ", 87%)"
    )


def test_the_radio_is_compared_with_agents_in_goodput_and_ping(folder):
    change_arm(folder, "edge-radio", lambda arm: arm["ping_ms"].update(p95=1.3 * 3.1 * 3 * 1.4))
    (failed,) = failing(folder)
    assert "a block-ack radio gives at least 95 %" in failed and "1.30 times" in failed


def test_the_overview_of_a_run_without_the_in_line_box_has_all_arms(folder):
    edit(folder, lambda s: s.update(arms=[a for a in s["arms"] if not a["name"].startswith("edge-")]))
    demo = load(folder)
    assert plots.main_arms(demo) == demo.arms
    assert "arms" not in [name for name, _ in plots.figures(demo)]


def test_legends_lie_within_their_figures(folder):
    demo = load(folder)
    for name, figure in plots.figures(demo):
        figure.canvas.draw()
        for legend in figure.legends:
            box = legend.get_window_extent()
            assert box.x0 >= 0 and box.y0 >= 0, name
            assert box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1, name
        for axis in figure.axes:
            assert axis.get_window_extent().height > 0.15 * figure.bbox.height, name


def test_a_run_at_the_default_aim_claims_nothing_about_the_level(folder):
    edit(folder, lambda s: s["settings"].update(target_level=None))
    demo = load(folder)
    assert not any("level within" in f.claim for f in findings(demo))
    assert plots.overview(demo).axes
    assert "at its default aim" in page.render(demo, {})


def test_a_check_fails_if_a_claim_fails(folder, capsys):
    assert demo_report.main([str(folder), "--check"]) == 0
    edit(folder, lambda s: [a.update(ping_loss=0.2) for a in s["arms"]])
    assert demo_report.main([str(folder), "--check"]) == 1
    assert "FAILS: one station, tunnel: at most 1/10" in capsys.readouterr().out


def test_an_arm_whose_emulator_lagged_is_named(folder):
    edit(folder, lambda s: s["arms"][0].update(trusted=False, lag_p99_ms=4.5))
    assert "late in: closed AP, Cubic on 1" in [f.figures for f in findings(load(folder))]
    rendered = page.render(load(folder), {})
    first_cell = re.search(r'<tr class="late"><td class="name">(.*?)</td>', rendered)
    assert first_cell and "not to be trusted: the emulator was 4.5 ms late" in first_cell[1]


@pytest.mark.parametrize("content", [None, "{", "[]", '{"format": 99, "arms": [1]}', '{"format": 1, "arms": []}'])
def test_a_folder_that_cannot_be_read_gives_one_line_of_error(tmp_path, capsys, content):
    if content is not None:
        (tmp_path / "summary.json").write_text(content)
    assert demo_report.main([str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and "summary.json" in error
