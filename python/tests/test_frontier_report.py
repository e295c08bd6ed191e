"""Figures of cells and loads from stored rows, and what is said of a folder that cannot be read."""

import json

from airpace import frontier_report


def row(cell, load, arm, setting, goodput, ping):
    return {
        "cell": cell,
        "load": load,
        "arm": arm,
        "setting": setting,
        "goodput_mbps": goodput,
        "utility": goodput / 100 - 1,
        "ping_p95_ms": ping,
    }


def test_every_cell_and_load_has_a_figure(tmp_path, capsys):
    rows = [
        row("one", "udp", "airtime", "", 100.0, 40.0),
        row("one", "udp", "price", "price = 0.25", 95.0, 12.0),
        row("one", "udp", "price", "price = 1.0", 80.0, 6.0),
        row("one", "cubic", "default", "", 95.0, 12.0),
    ]
    whole = {"format": 1, "cells": {"one": "One station"}, "rows": rows}
    (tmp_path / "rows.json").write_text(json.dumps(whole))
    assert frontier_report.main([str(tmp_path)]) == 0
    assert "2 figures" in capsys.readouterr().out
    for name in ("one-udp", "one-cubic"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_folder_without_rows_is_refused(tmp_path, capsys):
    assert frontier_report.main([str(tmp_path)]) == 2
    assert "airpace bench frontier --out" in capsys.readouterr().err
    (tmp_path / "rows.json").write_text(json.dumps({"format": 2, "rows": []}))
    assert frontier_report.main([str(tmp_path)]) == 2
    assert "format 2" in capsys.readouterr().err
