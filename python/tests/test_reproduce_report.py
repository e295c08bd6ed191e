"""Figures of rows from stored runs, and what is said of a folder that cannot be read."""

import json

from airpace import reproduce_report

RELATION = {"what": "gain", "unit": "", "measured": 9.5, "ci95": 0.1, "bar": "≥ 8", "printed": "8", "verdict": "holds"}


def summary(goodput: float) -> dict:
    flow = {"name": "tcp@fast", "kind": "tcp", "to": "fast", "rtt_ms": {"mean": 30.0, "p50": 28.0}, "page_load_s": None}
    return {"flows": [flow], "stations": [], "links": [], "totals": {"goodput_mbps": goodput, "jain_airtime": 1.0}}


def store(folder, ids):
    rows = []
    for name in ids:
        row = {"id": name, "source": name, "verdict": "holds", "relations": [RELATION]}
        runs = [{"seed": seed, "summary": summary(50.0 + seed), "figures": {}} for seed in (1, 2)]
        cases = {"1 hops, fifo": runs, "1 hops, wqm": runs} if name == "003-F2/3" else {}
        (folder / f"{name.replace('/', '-')}.json").write_text(json.dumps({"row": row, "cases": cases}))
        rows.append(row)
    (folder / "reproduction.json").write_text(json.dumps({"format": 2, "rows": rows}))


def test_every_row_has_a_figure(tmp_path, capsys):
    store(tmp_path, ["003-T1", "003-F2/3"])
    assert reproduce_report.main([str(tmp_path)]) == 0
    assert "2 figures" in capsys.readouterr().out
    for name in ("003-T1", "003-F2-3"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_bars_are_grouped_by_case_and_coloured_by_scheme():
    points = list(reproduce_report._rtt("3 hops, wqm", summary(1.0)))
    assert points == [("3 hops", "wqm", 30.0)]
    assert [reproduce_report._bare(name) for name in ("fast-2", "tcp@slow", "tcp#3")] == ["fast", "tcp", "tcp"]


def test_a_folder_without_rows_is_refused(tmp_path, capsys):
    assert reproduce_report.main([str(tmp_path)]) == 2
    assert "airpace reproduce --out" in capsys.readouterr().err


def test_printed_figures_and_bars_are_read():
    printed = [
        reproduce_report._printed(text) for text in ("35 ms", "4.54 to 5", "10 to 15 %", "“around 80 %”", "(ours)")
    ]
    assert printed == [(35.0, 35.0), (4.54, 5.0), (10.0, 15.0), None, None]
    bars = [reproduce_report._bar(text) for text in ("2 ± 0.5", "≥ 8", "< 1", "0.75 to 0.9", "> -1.5")]
    assert bars == [(1.5, 2.5), (8.0, float("inf")), (float("-inf"), 1.0), (0.75, 0.9), (-1.5, float("inf"))]
    assert reproduce_report._reference((4.0, 6.0), None) == 5.0
    assert reproduce_report._reference(None, (8.0, float("inf"))) == 8.0


def test_a_page_gets_the_figures_below_the_headings_of_their_rows(tmp_path, capsys):
    store(tmp_path, ["003-T1", "003-F2/3"])
    page = tmp_path / "reproduction.md"
    text = "# Title\n\n## 003-T1: holds\n\nwords\n\n## 003-F2/3: holds\n\nmore\n"
    page.write_text(text)
    for _ in range(2):  # The second time the figures are replaced.
        assert reproduce_report.main([str(tmp_path), "--page", str(page)]) == 0
        assert page.read_text() == text.replace(
            "## 003-T1: holds\n", "## 003-T1: holds\n\n![003-T1: holds](img/reproduction/003-T1.png)\n"
        ).replace("## 003-F2/3: holds\n", "## 003-F2/3: holds\n\n![003-F2/3: holds](img/reproduction/003-F2-3.png)\n")
    assert (tmp_path / "img/reproduction/003-F2-3.png").read_bytes().startswith(b"\x89PNG")
    page.write_text(text.replace("003-T1: holds", "003-T1: missed"))
    assert reproduce_report.main([str(tmp_path), "--page", str(page)]) == 2
    assert "no heading `## 003-T1: holds`" in capsys.readouterr().err
