"""Figures of runs, of sweeps, and of laws against each other, in one style.

`run` draws a result, `sweep` a column of a sweep's runs, `laws` goodput against delay for several laws. Each returns a figure
of Matplotlib, which a notebook shows and `figure.savefig(path)` writes.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from airpace._run import Result, Table
    from airpace._sweep import Sweep

COLOURS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#999999"]
"""Told apart by those who see few colours, too (Okabe and Ito)."""
MARKS = ["o", "s", "^", "D", "v", "P", "X"]
"""One for each colour, so that laws are told apart without colours."""
MOST_LINES = 12
"""Lines in one plot; more could not be told apart."""


def run(result: Result) -> Figure:
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


def sweep(data: Sweep, over: str, figure: str = "goodput_mbps") -> Figure:
    """The column `figure` of a sweep's runs over the setting `over`: each run, and the mean of each point.

    Runs without the figure are left out.

    Raises
    ------
    KeyError
        The runs have no such column.
    ValueError
        The column `figure` is of texts.
    """
    runs = data.runs
    heights = runs[figure]
    if isinstance(heights, list):
        raise ValueError(f"`{figure}` is a column of texts: give one of numbers")
    drawn = Figure(figsize=(5.0, 3.2), layout="constrained")
    axes = drawn.subplots()
    column = runs[over]
    values = column if isinstance(column, list) else column.tolist()
    points = list(dict.fromkeys(values))
    numbers = all(isinstance(point, (int, float)) for point in points)
    at = {point: point if numbers else place for place, point in enumerate(points)}
    places = np.array([at[value] for value in values], dtype=float)
    axes.plot(places, heights, ".", color=COLOURS[0], alpha=0.4)
    known = ~np.isnan(np.asarray(heights, dtype=float))
    # A point without a finished run has no mean.
    finished = sorted({at[point] for point in points if known[places == at[point]].any()})
    axes.plot(finished, [heights[known & (places == place)].mean() for place in finished], "o-", color=COLOURS[0])
    if not numbers:
        axes.set_xticks(range(len(points)), points, rotation=45, ha="right")
    axes.set_xlabel(over)
    _plain(axes, figure)
    return drawn


def laws(runs: Mapping[str, Result | Mapping[str, Result]], *, per: Literal["station", "cell"] = "station") -> Figure:
    """Goodput against the 95th percentile of the delay, for one law beside the other. Up and to the left is better.

    Parameters
    ----------
    runs
        The result of each law by its name, or the results of each law in several cells by their names: `{"linear":
        {"three": result}}`. Each cell has a panel of its own.
    per
        `station` draws a point per station, with its goodput and its delay; `cell` a point per run, with the goodput of
        all stations and the delay of the worst.

    Raises
    ------
    ValueError
        There are no runs, `per` is neither of the two, or no station of a cell has a delay.
    """
    if per not in ("station", "cell"):
        raise ValueError(f"per is {per!r}: give 'station' or 'cell'")
    cells = {law: results if isinstance(results, Mapping) else {"": results} for law, results in runs.items()}
    names = list(dict.fromkeys(name for results in cells.values() for name in results))
    if not names:
        raise ValueError("there are no runs to draw: give a result for each law")
    figure = Figure(figsize=(0.6 + 3.4 * len(names), 3.2), layout="constrained")
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    for axes, name in zip(panels, names):
        drawn = {law: _points(results[name], per) for law, results in cells.items() if name in results}
        for law, (delays, goodputs) in drawn.items():
            place = list(cells).index(law)
            style = {"color": COLOURS[place % len(COLOURS)], "marker": MARKS[place % len(MARKS)]}
            axes.scatter(delays, goodputs, label=law, alpha=0.8, s=28, **style)
        delays, goodputs = (np.concatenate(values) for values in zip(*drawn.values()))
        if len(delays) == 0:
            raise ValueError(f"no station of {name or 'the runs'} has a delay: they receive nothing")
        axes.set_xlabel("delay, 95th percentile, ms" if per == "station" else "delay of the worst station, p95, ms")
        axes.set_xscale("log")
        axes.set_xlim(delays.min() / 2, delays.max() * 2)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
        _plain(axes, name)
        axes.set_ylim(0, 1.08 * max(goodputs.max(), 1e-3))
    panels[0].set_ylabel("goodput, Mbit/s")
    handles = {label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels())}
    figure.legend(handles.values(), handles.keys(), ncols=len(handles), loc="outside lower center", fontsize=9)
    return figure


def _points(result: Result, per: str) -> tuple[np.ndarray, np.ndarray]:
    """Delays in ms and goodputs in Mbit/s of the stations that have a delay, or of the whole run."""
    stations = result.stations
    delays, goodputs = np.asarray(stations["delay_p95_ms"]), np.asarray(stations["goodput_mbps"])
    known = ~np.isnan(delays)
    if per == "cell" and known.any():
        return delays[known].max(keepdims=True), goodputs.sum(keepdims=True)
    return delays[known], goodputs[known]


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
