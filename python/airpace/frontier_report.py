"""Draws a figure of each cell and load that `airpace bench frontier --out` stored.

Usage: `python -m airpace.frontier_report out/frontier`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airpace import figures
from airpace.plots import STYLE, milliseconds
from airpace.results import FormatError

FORMAT = 1
"""The version of the file that this module reads (`FRONTIER_FORMAT` in airpace-papers)."""

CURVES = {
    "linear": ("#999999", "x"),
    "linear-pf": ("#E69F00", "s"),
    "dual": ("#D55E00", "^"),
    "nonlinear": ("#CC79A7", "D"),
    "level": ("#56B4E9", "."),
    "price": ("#0072B2", "o"),
}
"""Colour (Okabe and Ito's) and mark of each law that has a knob. Ours is drawn last, above the others."""

POINTS = {
    "closed": ("#000000", "X", "closed AP"),
    "fq-mac": ("#666666", "P", "AP with FQ-MAC"),
    "airtime": ("#A8457C", "v", "AP with FQ-MAC and airtime"),
    "low-latency": ("#009E73", "<", "airpace, low-latency"),
    "throughput": ("#009E73", ">", "airpace, throughput"),
    "latency-10ms": ("#009E73", "d", "airpace, latency = 10 ms"),
    "default": ("#0072B2", "*", "airpace, default"),
}
"""Colour, mark and label of each arm without a knob. The default is drawn last, above the others."""

LOADS = {"cubic": "TCP Cubic", "bbr": "TCP BBR", "udp": "saturated UDP"}


def load(folder: Path) -> dict[str, Any]:
    """The contents of `rows.json` in `folder`."""
    try:
        whole = json.loads((folder / "rows.json").read_text(encoding="utf-8"))
        if whole["format"] != FORMAT:
            raise FormatError(f"{folder} has format {whole['format']}, this program reads {FORMAT}")
        return whole
    except (OSError, json.JSONDecodeError, KeyError) as error:
        raise FormatError(f"{folder} does not hold the output of `airpace bench frontier --out`: {error}") from error


def figure(title: str, rows: list[dict[str, Any]]) -> Figure:
    """Goodput and utility against the p95 ping for the rows of one cell and load. Up and to the left is better."""
    drawing, axes = plt.subplots(1, 2, figsize=(11, 4.6))
    for axis, key in zip(axes, ("goodput_mbps", "utility")):
        for arm, (colour, mark) in CURVES.items():
            points = [(row["ping_p95_ms"], row[key]) for row in rows if row["arm"] == arm]
            if points:
                style = {"color": colour, "marker": mark, "markersize": 5, "linewidth": 1.4, "label": arm}
                axis.plot(*zip(*points), **(style | ({"linewidth": 2.2, "zorder": 4} if arm == "price" else {})))
        for arm, (colour, mark, label) in POINTS.items():
            points = [(row["ping_p95_ms"], row[key]) for row in rows if row["arm"] == arm]
            if points:
                size = 15 if arm == "default" else 9
                axis.plot(
                    *zip(*points), mark, color=colour, markersize=size, label=label, zorder=5, markeredgecolor="white"
                )
        milliseconds(axis.xaxis)
        axis.set_xlabel("p95 ping of the worst station, ms")
    axes[0].set_ylabel("goodput, Mbit/s")
    axes[0].set_ylim(0, 1.08 * max(row["goodput_mbps"] for row in rows))
    axes[1].set_ylabel("utility: mean of ln(x / x of the airtime AP)")
    _floor(axes[1], rows)
    drawing.legend(*axes[0].get_legend_handles_labels(), ncols=5, loc="outside lower center", fontsize=9)
    drawing.suptitle(title)
    return drawing


LEAST_UTILITY = -1.5
"""Points with a lower utility are cut off, so that those near the frontier can be told apart."""


def _floor(axis: Axes, rows: list[dict[str, Any]]) -> None:
    least = min(row["utility"] for row in rows)
    if least < LEAST_UTILITY:
        axis.set_ylim(bottom=LEAST_UTILITY)


def write_report(folder: Path) -> list[Path]:
    """Draws every cell and load to `folder`. Returns the files."""
    whole = load(folder)
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in whole["rows"]:
        # A station that answered no ping leaves a row without a place on the axis.
        if row["ping_p95_ms"] is None or row["utility"] is None:
            continue
        groups.setdefault((row["cell"], row["load"]), []).append(row)
    drawn = (
        (f"{cell}-{name}", figure(f"{whole['cells'].get(cell) or cell}: {LOADS.get(name, name)}", rows))
        for (cell, name), rows in groups.items()
    )
    with plt.rc_context(STYLE):
        return figures.save_all(folder, drawn)


def main(arguments: list[str] | None = None) -> int:
    """Runs the program. Returns its exit code: 2 if the folder cannot be read."""
    return figures.run("airpace.frontier_report", __doc__, "airpace bench frontier", write_report, arguments)


if __name__ == "__main__":
    sys.exit(main())
