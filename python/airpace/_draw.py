"""Plots of runs and sweeps, in one style."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from airpace._run import Result, Table

COLOURS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#999999"]
"""Told apart by those who see few colours, too (Okabe and Ito)."""
MOST_LINES = 12
"""Lines in one plot; more could not be told apart."""


def draw_run(result: Result) -> Figure:
    """Goodput and delay of each station, and the levels of the links over time if slots were recorded."""
    tables = result.tables
    series = tables.get("slots")
    figure = Figure(figsize=(9.0, 2.6), layout="constrained")
    panels = figure.subplots(1, 2 if series is None else 3)
    stations = tables["stations"]
    _bars(panels[0], stations, "goodput_mbps", "goodput, Mbit/s")
    _bars(panels[1], stations, "delay_p95_ms", "delay, 95th percentile, ms")
    if series is not None:
        _levels(panels[2], series)
    return figure


def _bars(axes: Axes, stations: Table, column: str, label: str) -> None:
    names = stations["station"]
    axes.bar(range(len(names)), np.nan_to_num(stations[column]), color=COLOURS[0])
    if len(names) <= MOST_LINES:
        axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
    else:
        axes.set_xlabel("station")
    _plain(axes, label)


def _levels(axes: Axes, slots: Table) -> None:
    ends, senders, receivers = np.asarray(slots["end_s"]), np.asarray(slots["from"]), np.asarray(slots["to"])
    levels = slots["level"]
    drawn = 0
    for sender, receiver in dict.fromkeys(zip(senders.tolist(), receivers.tolist())):
        rows = (senders == sender) & (receivers == receiver)
        if np.isnan(levels[rows]).all() or drawn == MOST_LINES:
            continue
        axes.plot(ends[rows], levels[rows], color=COLOURS[drawn % len(COLOURS)], lw=1, label=f"{sender} → {receiver}")
        drawn += 1
    axes.set_xlabel("time, s")
    _plain(axes, "packets per frame")


def draw_sweep(runs: Table, over: str, figure: str) -> Figure:
    """The column `figure` of a sweep's runs over the setting `over`: each run, and the mean of each point."""
    drawn = Figure(figsize=(5.0, 3.2), layout="constrained")
    axes = drawn.subplots()
    values = runs[over]
    points = list(dict.fromkeys(values if isinstance(values, list) else values.tolist()))
    numbers = all(isinstance(point, (int, float)) for point in points)
    at = {point: point if numbers else place for place, point in enumerate(points)}
    heights = runs[figure]
    places = np.array([at[value] for value in (values if isinstance(values, list) else values.tolist())])
    axes.plot(places, heights, ".", color=COLOURS[0], alpha=0.4)
    means = [np.nanmean(heights[places == at[point]]) for point in points]
    axes.plot([at[point] for point in points], means, "o-", color=COLOURS[0])
    if not numbers:
        axes.set_xticks(range(len(points)), points, rotation=45, ha="right")
    axes.set_xlabel(over)
    _plain(axes, figure)
    return drawn


def _plain(axes: Axes, label: str) -> None:
    axes.set_title(label, fontsize=10)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def as_svg(figure: Figure) -> str:
    """The figure as an SVG element for a page."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]
