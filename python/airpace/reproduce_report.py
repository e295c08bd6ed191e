"""Draws a figure of each row that `airpace reproduce --out` stored.

Usage: `python -m airpace.reproduce_report out/reproduce`.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airpace import figures
from airpace.plots import STYLE
from airpace.results import FormatError

FORMAT = 2
"""The version of the files that this module reads (`REPRODUCTION_FORMAT` in airpace-papers)."""

COLOURS = {
    "fifo": "#D55E00",
    "codel": "#B27C00",
    "fq-codel": "#B27C00",
    "fq-mac": "#0072B2",
    "airtime": "#009E73",
    "wqm": "#009E73",
}
"""Okabe and Ito's colours, for the schemes."""

Points = Iterator[tuple[str, str, float]]
"""The values of a run in a panel of bars: group on the axis, series (colour), value."""


@dataclass(frozen=True)
class Bars:
    """A panel with one bar per group and series: the mean over the seeds, and whiskers from least to greatest."""

    title: str
    points: Callable[[str, dict[str, Any]], Points]
    log: bool = False


@dataclass(frozen=True)
class Lines:
    """A panel with one line per case: a time series of the first seed."""

    title: str
    series: str


def _parts(case: str) -> tuple[str, str]:
    """Group and series of a case: "3 hops" and "wqm" of "3 hops, wqm", "" and "wqm" of "wqm"."""
    group, _, series = case.rpartition(", ")
    return group, series


def _bare(name: str) -> str:
    """`fast` of `fast-2`, `tcp` of `tcp@slow` and of `tcp#3`."""
    return name.split("@")[0].split("#")[0].rstrip("0123456789").rstrip("-")


def _mean(values: list[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else float("nan")


def _rtt(case: str, summary: dict[str, Any]) -> Points:
    group, series = _parts(case)
    for flow in summary["flows"]:
        if flow["rtt_ms"]:
            yield group, series, flow["rtt_ms"]["mean"]


def _rtt_by_flow(case: str, summary: dict[str, Any]) -> Points:
    group, series = _parts(case)
    for flow in summary["flows"]:
        if flow["rtt_ms"]:
            yield f"{group}\n{flow['name']}", series, flow["rtt_ms"]["mean"]


def _total(case: str, summary: dict[str, Any]) -> Points:
    group, series = _parts(case)
    yield group, series, summary["totals"]["goodput_mbps"]


def _ping(case: str, summary: dict[str, Any]) -> Points:
    group, series = _parts(case)
    pings = defaultdict(list)
    for flow in summary["flows"]:
        if flow["kind"] == "ping" and flow["rtt_ms"]:
            pings[_bare(flow["to"])].append(flow["rtt_ms"]["p50"])
    for station, medians in pings.items():
        yield f"{group} {station}".strip(), series, _mean(medians)


def _airtime(case: str, summary: dict[str, Any]) -> Points:
    group, series = _parts(case)
    total = sum(station["airtime_share"] for station in summary["stations"])
    shares: dict[str, float] = defaultdict(float)
    for station in summary["stations"]:
        shares[_bare(station["name"])] += 100 * station["airtime_share"] / total if total else 0.0
    for station, share in shares.items():
        yield f"{group} {station}".strip(), series, share


def _goodput(case: str, summary: dict[str, Any]) -> Points:
    _, series = _parts(case)
    for station in summary["stations"]:
        yield station["name"], series, station["goodput_mbps"]
    yield "all", series, summary["totals"]["goodput_mbps"]


def _level(case: str, summary: dict[str, Any]) -> Points:
    _, series = _parts(case)
    for link in summary["links"]:
        if link["from"] == "ap":
            yield link["to"], series, link["level"]


def _jain(case: str, summary: dict[str, Any]) -> Points:
    group, series = _parts(case)
    yield group, series, summary["totals"]["jain_airtime"]


def _voice(case: str, summary: dict[str, Any]) -> Points:
    scheme, mark, delay = case.split(", ")
    for flow in summary["flows"]:
        if flow["kind"] == "voip":
            yield f"{mark}, {delay}", scheme, flow["network_mos"]


def _bulk(case: str, summary: dict[str, Any]) -> Points:
    scheme, mark, delay = case.split(", ")
    yield f"{mark}, {delay}", scheme, sum(f["goodput_mbps"] for f in summary["flows"] if f["kind"] == "tcp")


def _page(case: str, summary: dict[str, Any]) -> Points:
    group, series = _parts(case)
    for flow in summary["flows"]:
        if flow["page_load_s"]:
            yield group, series, flow["page_load_s"]["mean"]


def _by_case(case: str, summary: dict[str, Any]) -> Points:
    yield case, "goodput", summary["totals"]["goodput_mbps"]


LEVEL = Lines("packets per frame", "level")

PANELS: dict[str, list[Bars | Lines]] = {
    "000-F5": [Bars("goodput, Mbit/s", _by_case)],
    "000-F11": [Bars("goodput, Mbit/s", _by_case)],
    "000-F12": [Bars("goodput, Mbit/s", _by_case)],
    "000-F13": [LEVEL, Lines("packets lost per slot", "lost")],
    "000-F15": [LEVEL],
    "000-F16": [LEVEL],
    "002-F4": [LEVEL, Lines("rate of a station, packets/s", "rate_pps")],
    "002-F5": [LEVEL],
    "002-5.4.3": [Lines("estimate of the overhead, ms", "overhead_ms")],
    "002-F6": [Lines("estimate of the overhead, ms", "overhead_ms")],
    "002-F9": [Bars("goodput, Mbit/s", _by_case)],
    "003-F2/3": [Bars("mean RTT, ms", _rtt), Bars("goodput, Mbit/s", _total)],
    "003-F4/5": [Bars("mean RTT, ms", _rtt), Bars("goodput, Mbit/s", _total)],
    "003-F7": [Bars("mean RTT, ms", _rtt_by_flow, log=True), Bars("goodput, Mbit/s", _total)],
    "004-T1": [Bars("packets per frame", _level), Bars("airtime, %", _airtime), Bars("goodput, Mbit/s", _goodput)],
    "004-F1/4": [Bars("median ping, ms", _ping, log=True)],
    "004-F5": [Bars("airtime, %", _airtime)],
    "004-F6": [Bars("Jain's index of airtime", _jain)],
    "004-F7": [Bars("goodput, Mbit/s", _goodput)],
    "004-F8": [Bars("median ping, ms", _ping)],
    "004-F9/10": [Bars("airtime, %", _airtime), Bars("median ping, ms", _ping, log=True)],
    "004-T2": [Bars("mean opinion score", _voice), Bars("bulk goodput, Mbit/s", _bulk)],
    "004-more": [Bars("median ping, ms", _ping, log=True)],
    "004-F11": [Bars("page load time, s", _page, log=True)],
}
"""The panels of each row's figure. Rows without an entry only have the table of their relations."""


def load(folder: Path) -> list[dict[str, Any]]:
    """Every row of `folder` with its cases, in the order of `reproduction.json`."""
    try:
        whole = json.loads((folder / "reproduction.json").read_text(encoding="utf-8"))
        if whole.get("format") != FORMAT:
            raise FormatError(f"{folder} has format {whole.get('format')}, this program reads {FORMAT}")
        names = [row["id"].replace("/", "-") for row in whole["rows"]]
        return [json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in names]
    except (OSError, json.JSONDecodeError, KeyError) as error:
        raise FormatError(f"{folder} does not hold the output of `airpace reproduce --out`: {error}") from error


def figure(data: dict[str, Any]) -> Figure:
    """The figure of a row: its panels, and below them the relations with their bars."""
    row = data["row"]
    panels = PANELS.get(row["id"], [])
    height = 0.24 * (len(row["relations"]) + 2)
    drawing = plt.figure(figsize=(10, 3.6 * len(panels) + height + 0.5))
    grid = drawing.add_gridspec(len(panels) + 1, 1, height_ratios=[3.6] * len(panels) + [height])
    for index, panel in enumerate(panels):
        axis = drawing.add_subplot(grid[index])
        (_bars if isinstance(panel, Bars) else _lines)(axis, panel, data["cases"])
        axis.set_title(panel.title)
    _relations(drawing.add_subplot(grid[len(panels)]), row)
    drawing.suptitle(f"{row['source']}: {row['verdict']}")
    return drawing


def _bars(axis: Axes, panel: Any, cases: dict[str, Any]) -> None:
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for name, runs in cases.items():
        for run in runs:
            for group, series, value in panel.points(name, run["summary"]) if run["summary"] else ():
                if value is not None:
                    values[group, series].append(value)
    groups = list(dict.fromkeys(group for group, _ in values))
    known = list(dict.fromkeys(series for _, series in values))
    known.sort(key=lambda series: list(COLOURS).index(series) if series in COLOURS else len(COLOURS))
    width = 0.8 / max(len(known), 1)
    for number, series in enumerate(known):
        at = [
            i + (number - (len(known) - 1) / 2) * width for i, group in enumerate(groups) if (group, series) in values
        ]
        drawn = [values[group, series] for group in groups if (group, series) in values]
        means = [_mean(values_of_bar) for values_of_bar in drawn]
        whiskers = [[m - min(v) for m, v in zip(means, drawn)], [max(v) - m for m, v in zip(means, drawn)]]
        axis.bar(at, means, width * 0.92, yerr=whiskers, color=COLOURS.get(series), label=series, zorder=2, capsize=2)
    axis.set_xticks(range(len(groups)), groups, fontsize=8)
    if panel.log:
        axis.set_yscale("log")
    if len(known) > 1:
        axis.legend(ncols=len(known), fontsize=8)


def _lines(axis: Axes, panel: Any, cases: dict[str, Any]) -> None:
    for name, runs in cases.items():
        figures = runs[0]["figures"] if runs else {}
        if panel.series in figures and "at_s" in figures:
            values = [float("nan") if value is None else value for value in figures[panel.series]]
            axis.plot(figures["at_s"], values, label=name, linewidth=1.2)
    axis.set_xlabel("seconds")
    axis.legend(fontsize=8)


def _relations(axis: Axes, row: dict[str, Any]) -> None:
    axis.axis("off")
    head = ["", "paper", "ours", "bar", ""]
    lines = [head] + [_relation(relation) for relation in row["relations"]]
    for number, line in enumerate(lines):
        y = 1 - (number + 0.5) / len(lines)
        colour = "black" if line[4] in ("", "holds") else "#D55E00"
        for x, text in zip((0.0, 0.5, 0.66, 0.8, 0.92), line):
            axis.text(x, y, text, fontsize=8, va="center", color=colour, transform=axis.transAxes)


def _relation(relation: dict[str, Any]) -> list[str]:
    measured, interval = relation["measured"], relation["ci95"]
    text = "not measured" if measured is None else f"{measured:.3g}" + (f" ± {interval:.2g}" if interval else "")
    unit = relation["unit"]
    return [relation["what"], relation["printed"], f"{text} {unit}", f"{relation['bar']} {unit}", relation["verdict"]]


def write_report(folder: Path) -> list[Path]:
    """Draws every row of `folder` to a file beside its data. Returns the files."""
    drawn = ((data["row"]["id"].replace("/", "-"), figure(data)) for data in load(folder))
    with plt.rc_context(STYLE):
        return figures.save_all(folder, drawn)


def main(arguments: list[str] | None = None) -> int:
    """Runs the program. Returns its exit code: 2 if the folder cannot be read."""
    return figures.run("airpace.reproduce_report", __doc__, "airpace reproduce", write_report, arguments)


if __name__ == "__main__":
    sys.exit(main())
