"""The demo's plots. Each function takes a loaded demo and returns a figure. Nothing is measured or smoothed here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from airpace.results import Demo, label

COLOURS = {
    "cubic": "#D55E00",
    "bbr": "#B27C00",
    "fqmac-airtime-cubic": "#A8457C",
    "edge-acks": "#0072B2",
    "edge-radio": "#009E73",
    "edge-agents": "#2A9FD6",
    "edge-mixed": "#6A5ACD",
    "airpace-cubic": "#444444",
    "airpace-udp": "#8A8A8A",
}
"""Okabe and Ito's colours, which readers with colour-vision deficiency can tell apart.

Yellow, purple and light blue are darkened for text on white. The tunnel's arms are grey.
"""

MARKERS = {
    "cubic": "s",
    "bbr": "D",
    "fqmac-airtime-cubic": "v",
    "edge-acks": "o",
    "edge-radio": "P",
    "edge-agents": "X",
    "edge-mixed": "*",
    "airpace-cubic": "^",
    "airpace-udp": "<",
}

MAIN_ARMS = ("cubic", "bbr", "fqmac-airtime-cubic", "edge-acks", "edge-radio", "edge-agents")
"""What the overview compares: the access point as it is under Cubic and BBR, a modified one, and the in-line box with each of its sensors."""

STYLE = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "font.size": 10,
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "savefig.facecolor": "white",
    "svg.hashsalt": "airpace",
}


def figures(demo: Demo) -> Iterator[tuple[str, Figure]]:
    """Every figure with its name. The caller closes them."""
    with plt.rc_context(STYLE):
        yield "overview", overview(demo)
        if len(main_arms(demo)) < len(demo.arms):
            yield "arms", overview(demo, demo.arms)
        for stations in demo.station_counts:
            yield f"timeline-{stations}", timeline(demo, stations)
            yield f"ping-{stations}", ping_distribution(demo, stations)
            if stations > 1:
                yield f"stations-{stations}", per_station(demo, stations)


def main_arms(demo: Demo) -> list[dict[str, Any]]:
    """The arms that the overview compares; all arms of a run without the in-line box."""
    names = {arm["name"] for arm in demo.arms}
    has_edge = any(name.startswith("edge-") for name in names)
    return [arm for arm in demo.arms if arm["name"] in MAIN_ARMS or not has_edge]


def overview(demo: Demo, drawn: list[dict[str, Any]] | None = None) -> Figure:
    """Goodput against p95 ping under load, one panel per number of stations. Up and to the left is better."""
    counts = demo.station_counts
    figure, axes = plt.subplots(1, len(counts), figsize=(5.6 * len(counts), 4.6), squeeze=False)
    drawn = main_arms(demo) if drawn is None else drawn
    for axis, stations in zip(axes[0], counts):
        arms = [a for a in drawn if a["stations"] == stations]
        _overview_panel(axis, arms)
        axis.set_title(f"{_on(stations)} ({_rates(arms[0])})" if arms else _on(stations))
    axes[0][0].set_ylabel("goodput, Mbit/s (all stations)")
    return figure


def _overview_panel(axis: Axes, arms: list[dict[str, Any]]) -> None:
    drawn = [a for a in arms if a["ping_ms"]["count"]]
    for arm in drawn:
        x, y, name = arm["ping_ms"]["p95"], arm["goodput_mbps"], arm["name"]
        axis.plot([arm["ping_ms"]["p50"], x], [y, y], color=_colour(name), linewidth=1.2, alpha=0.6, zorder=2)
        axis.plot(x, y, _marker(name), color=_colour(name), markersize=9, zorder=3)
    milliseconds(axis.xaxis)
    pings = [q for a in drawn for q in (a["ping_ms"]["p50"], a["ping_ms"]["p95"])]
    if pings:
        axis.set_xlim(min(pings) / 1.8, max(pings) * 1.8)
    axis.set_ylim(0, max((a["goodput_mbps"] for a in arms), default=1) * 1.3)
    _direct_labels(axis, drawn)
    axis.set_xlabel("ping under load, ms (mark: p95, line from the median)")


LINE_HEIGHT = 0.05
"""Height of a line of a label, as a share of the axes."""

LETTER = 0.0135
"""Width of a letter of a label, as a share of the axes."""


def _label_lines(arm: dict[str, Any]) -> list[str]:
    """The name of an arm, broken where it is long, and its figures."""
    figures = f"{arm['goodput_mbps']:.0f} Mbit/s, {arm['ping_ms']['p95']:.3g} ms"
    name = label(arm["name"])
    return [*(name.split(", ") if len(name) > 26 else [name]), figures]


def _direct_labels(axis: Axes, arms: list[dict[str, Any]]) -> None:
    """A label near each mark that covers neither a mark nor another label. Distant labels get a line to their mark."""
    top = axis.get_ylim()[1]
    marks = [(_fraction(axis, a["ping_ms"]["p95"]), a["goodput_mbps"] / top) for a in arms]
    boxes = [(x, y, 0.04, 0.06) for x, y in marks]
    for arm, (x, y) in sorted(zip(arms, marks), key=lambda pair: pair[1]):
        lines = _label_lines(arm)
        size = (LETTER * max(len(line) for line in lines), LINE_HEIGHT * len(lines))
        place = _free_place(boxes, (x, y), size)
        boxes.append((*place, *size))
        colour = _colour(arm["name"])
        if abs(place[1] - y) > size[1] / 2 + 0.06 or abs(place[0] - x) > size[0] / 2:
            axis.plot([x, place[0]], [y, place[1]], color=colour, linewidth=0.8, alpha=0.6, transform=axis.transAxes)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
        style = {"ha": "center", "va": "center", "fontsize": 8.5, "color": colour, "bbox": box}
        axis.text(*place, "\n".join(lines), transform=axis.transAxes, **style)


def _free_place(
    boxes: list[tuple[float, float, float, float]], mark: tuple[float, float], size: tuple[float, float]
) -> tuple[float, float]:
    """The nearest place for a label of the mark that overlaps none of the boxes."""
    (x, y), (width, height) = mark, size
    inner = width / 2 + 0.01

    def is_free(place: tuple[float, float]) -> bool:
        inside = height / 2 < place[1] < 1 - height / 2
        return inside and not any(
            abs(place[0] - bx) < (width + bw) / 2 and abs(place[1] - by) < (height + bh) / 2 for bx, by, bw, bh in boxes
        )

    offsets = ((0.05 * i, 0.035 * j) for i in range(-12, 13) for j in range(-22, 23) if abs(j) > 2)
    places = sorted(offsets, key=lambda offset: (round(abs(offset[0]) + abs(offset[1]), 6), offset))
    clamped = ((min(max(x + dx, inner), 1 - inner), y + dy) for dx, dy in places)
    return next((place for place in clamped if is_free(place)), (min(max(x, inner), 1 - inner), y))


def _fraction(axis: Axes, x: float) -> float:
    """Where `x` lies on the logarithmic axis, from 0 at the left end to 1 at the right."""
    low, high = axis.get_xlim()
    return math.log(x / low) / math.log(high / low)


def timeline(demo: Demo, stations: int) -> Figure:
    """Goodput (the sum over stations), pings (all of them) and level (the mean over stations) over time."""
    figure, axes = plt.subplots(3, 1, figsize=(9, 8.5), sharex=True)
    for (count, name), series in demo.series.items():
        if count == stations:
            _timeline_of(axes, name, series)
    axes[0].set_ylabel("goodput, Mbit/s")
    axes[1].set_ylabel("ping, ms")
    milliseconds(axes[1].yaxis)
    axes[2].set_ylabel("packets per frame")
    axes[2].set_xlabel("seconds after the load began")
    if (target := demo.summary["settings"]["target_level"]) is not None:
        axes[2].axhline(target, color="#444444", linestyle=":", linewidth=1)
    axes[0].set_title(f"{_on(stations)}: over time")
    for axis in (axes[0], axes[2]):
        axis.set_ylim(bottom=0)
    if axes[0].lines:
        # Below all panels: between two of them it would take their height, and be cut off at both sides.
        figure.legend(*axes[0].get_legend_handles_labels(), ncols=2, loc="outside lower center")
    return figure


def _timeline_of(axes: Any, name: str, series: dict[str, Any]) -> None:
    start, colour = series["load_from_s"], _colour(name)
    rows = list(zip(*(s["slots"] for s in series["per_station"])))
    at = [slots[0]["at_s"] - start for slots in rows]
    axes[0].plot(at, [sum(s["goodput_mbps"] for s in slots) for slots in rows], color=colour, label=label(name), lw=1.3)
    levels = [(t, _level(slots)) for t, slots in zip(at, rows)]
    known = [(t, level) for t, level in levels if level is not None]
    if known:
        axes[2].plot(*zip(*known), color=colour, linewidth=1.3)
    pings = [(t - start, rtt) for s in series["per_station"] for t, rtt in s["pings"] if rtt is not None]
    if pings:
        axes[1].plot(*zip(*pings), ".", color=colour, markersize=2, alpha=0.5, rasterized=True)


def _level(slots: tuple[dict[str, Any], ...]) -> float | None:
    """Mean packets per frame over the stations, weighted by their frames."""
    frames = sum(s["frames"] for s in slots if s["level"] is not None)
    return sum(s["level"] * s["frames"] for s in slots if s["level"] is not None) / frames if frames else None


def ping_distribution(demo: Demo, stations: int) -> Figure:
    """Share of pings above a round-trip time, in the steady state. Unanswered pings count as longer than any."""
    figure, axis = plt.subplots(figsize=(8, 5.5))
    for (count, name), series in demo.series.items():
        if count == stations:
            _tail(axis, name, series)
    milliseconds(axis.xaxis)
    axis.set_yscale("log")
    axis.set_ylim(1e-3, 1.1)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.1%}" if v < 0.01 else f"{v:.0%}"))
    axis.set_xlabel("ping under load, ms")
    axis.set_ylabel("share of pings above")
    axis.set_title(f"{_on(stations)}: how long pings take under load")
    if axis.lines:
        figure.legend(*axis.get_legend_handles_labels(), ncols=2, loc="outside lower center")
    return figure


def _tail(axis: Axes, name: str, series: dict[str, Any]) -> None:
    window = (series["steady_from_s"], series["load_to_s"])
    rtts = [rtt for s in series["per_station"] for t, rtt in s["pings"] if window[0] <= t < window[1]]
    answered = sorted(rtt for rtt in rtts if rtt is not None)
    if answered:
        above = [1 - i / len(rtts) for i in range(len(answered))]
        axis.step(answered, above, where="post", color=_colour(name), label=label(name), linewidth=1.6)


def per_station(demo: Demo, stations: int) -> Figure:
    """Goodput, airtime and p95 ping of every station, per arm."""
    arms = [a for a in demo.arms if a["stations"] == stations]
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 4.6))
    values = (
        ("goodput, Mbit/s", lambda s: s["goodput_mbps"]),
        ("share of the time on the air", lambda s: s["airtime"] + s.get("uplink_airtime", 0)),
        ("p95 ping under load, ms", lambda s: s["ping_ms"]["p95"]),
    )
    for axis, (title, value) in zip(axes, values):
        # Bars begin at zero, which a logarithmic axis does not have, so the pings get marks.
        _by_station(axis, arms, value, bars=axis is not axes[2])
        axis.set_title(title)
        axis.grid(axis="x", visible=False)
    milliseconds(axes[2].yaxis)
    figure.legend(*axes[0].get_legend_handles_labels(), ncols=2, loc="outside lower center")
    return figure


def _by_station(axis: Axes, arms: list[dict[str, Any]], value: Any, *, bars: bool) -> None:
    width = 0.8 / max(len(arms), 1)
    for index, arm in enumerate(arms):
        name = arm["name"]
        at = [s["station"] + (index - (len(arms) - 1) / 2) * width for s in arm["per_station"]]
        values = [value(s) for s in arm["per_station"]]
        if bars:
            axis.bar(at, values, width * 0.92, color=_colour(name), label=label(name), zorder=2)
        else:
            axis.plot(at, values, _marker(name), color=_colour(name), markersize=8)
    names = [f"MCS {s['mcs']}\n{s['phy_mbps']:g} Mbit/s" for s in arms[0]["per_station"]]
    axis.set_xticks(range(len(names)), names)


def milliseconds(axis: Axis) -> None:
    """A logarithmic axis with plain numbers at 1, 2 and 5."""
    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    axis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_minor_formatter(NullFormatter())


def _rates(arm: dict[str, Any]) -> str:
    return ", ".join(f"{s['phy_mbps']:g}" for s in arm["per_station"]) + " Mbit/s PHY"


def _colour(name: str) -> str:
    return COLOURS.get(name, "#666666")


def _marker(name: str) -> str:
    return MARKERS.get(name, "o")


def _on(stations: int) -> str:
    return {1: "One station", 2: "Two stations", 3: "Three stations"}.get(stations, f"{stations} stations")
