"""Draws a figure of each row that `airpace reproduce --out` stored: our runs, and every printed figure of the paper beside ours.

Usage: `python -m airpace.reproduce_report out/reproduce [--page docs/reproduction.md]`. With `--page` the figures are also put into the page that
`airpace reproduce --markdown` wrote: each below the heading of its row, the files in `img/reproduction` beside the page.
"""

from __future__ import annotations

import argparse
import json
import re
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
from airpace.model import jain
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


def _airtime(case: str, summary: dict[str, Any], key: str = "airtime_share") -> Points:
    group, series = _parts(case)
    airtimes = [station.get(key) or 0.0 for station in summary["stations"]]
    total = sum(airtimes)
    shares: dict[str, float] = defaultdict(float)
    for station, airtime in zip(summary["stations"], airtimes, strict=True):
        shares[_bare(station["name"])] += 100 * airtime / total if total else 0.0
    for name, share in shares.items():
        yield f"{group} {name}".strip(), series, share


def _counted_airtime(case: str, summary: dict[str, Any]) -> Points:
    """As the access point's driver counts it, which is what the paper's figures show."""
    return _airtime(case, summary, "counted_airtime_share")


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


def _counted_jain(case: str, summary: dict[str, Any]) -> Points:
    group, series = _parts(case)
    airtimes = [station.get("counted_airtime_share") or 0.0 for station in summary["stations"]]
    if any(airtimes):
        yield group, series, float(jain(airtimes))


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


def _by_sender(value: Callable[[dict[str, Any]], Any]) -> Callable[[str, dict[str, Any]], Points]:
    """What the downloads of Figure 9 had, by their senders; the case ends with the test bed."""

    def points(case: str, summary: dict[str, Any]) -> Points:
        yield case.split(", ")[0], "download", value(summary)

    return points


def _delay(summary: dict[str, Any]) -> Any:
    delay = summary["totals"]["delay_ms"]
    return None if delay is None else delay["mean"]


def _lost(summary: dict[str, Any]) -> Any:
    return summary["totals"]["dropped"]


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
    "002-F9": [
        Bars("goodput, Mbit/s", _by_sender(lambda summary: summary["totals"]["goodput_mbps"])),
        Bars("mean one-way delay with the queue of the sender, ms", _by_sender(_delay)),
        Bars("packets lost", _by_sender(_lost)),
    ],
    "003-F2/3": [Bars("mean RTT, ms", _rtt), Bars("goodput, Mbit/s", _total)],
    "003-F4/5": [Bars("mean RTT, ms", _rtt), Bars("goodput, Mbit/s", _total)],
    "003-F7": [Bars("mean RTT, ms", _rtt_by_flow, log=True), Bars("goodput, Mbit/s", _total)],
    "004-T1": [Bars("packets per frame", _level), Bars("airtime, %", _airtime), Bars("goodput, Mbit/s", _goodput)],
    "004-F1/4": [Bars("median ping, ms", _ping, log=True)],
    "004-F5": [Bars("airtime, %", _counted_airtime)],
    "004-F6": [Bars("Jain's index of airtime", _counted_jain)],
    "004-F7": [Bars("goodput, Mbit/s", _goodput)],
    "004-F8": [Bars("median ping, ms", _ping)],
    "004-F9/10": [Bars("airtime, %", _counted_airtime), Bars("median ping, ms", _ping, log=True)],
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
    """The figure of a row: its panels, and below them the relations with their bars, the paper's figures and ours."""
    row = data["row"]
    panels = PANELS.get(row["id"], [])
    height = 0.24 * (len(row["relations"]) + 3)
    drawing = plt.figure(figsize=(13, 3.6 * len(panels) + height + 0.9))
    grid = drawing.add_gridspec(len(panels) + 1, 2, height_ratios=[3.6] * len(panels) + [height], width_ratios=[3, 1])
    for index, panel in enumerate(panels):
        axis = drawing.add_subplot(grid[index, :])
        (_bars if isinstance(panel, Bars) else _lines)(axis, panel, _drawn(data))
        axis.set_title(panel.title)
    _relations(drawing.add_subplot(grid[len(panels), 0]), row)
    _comparison(drawing.add_subplot(grid[len(panels), 1]), row)
    drawing.suptitle(f"{row['source']}: {row['verdict']}")
    return drawing


def _drawn(data: dict[str, Any]) -> dict[str, Any]:
    """The cases of a figure: of 004 and 002-F9, whose figures compare schemes and senders, those that are judged and no
    variants."""
    row = data["row"]
    if not row["id"].startswith(("004", "002-F9")):
        return data["cases"]
    variants = tuple(f", {v['with']}" for relation in row["relations"] for v in relation["variants"])
    return {name: runs for name, runs in data["cases"].items() if not name.endswith(variants)}


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
        for x, text in zip((0.0, 0.45, 0.65, 0.8, 0.93), line):
            axis.text(x, y, text, fontsize=8, va="center", color=colour, transform=axis.transAxes)


Span = tuple[float, float]
"""Two ends of a range, which may be equal or infinite."""

WIDEST = 2.0
"""How far the comparison reaches, in multiples of the paper's figure; what is beyond stands at the edge as an arrow."""

_NUMBER = r"(-?\d+(?:\.\d+)?)"


def _printed(text: str) -> Span | None:
    """The figure or range that a paper prints; `None` if it says something in words."""
    if found := re.match(rf"{_NUMBER} to {_NUMBER}\b", text):
        return float(found[1]), float(found[2])
    if found := re.match(rf"{_NUMBER}(?: |$)", text):
        return float(found[1]), float(found[1])
    return None


def _bar(text: str) -> Span | None:
    """What a bar allows; `None` if it is not a figure."""
    if found := re.match(rf"{_NUMBER} ± {_NUMBER}$", text):
        return float(found[1]) - float(found[2]), float(found[1]) + float(found[2])
    if found := re.match(rf"[≥>] {_NUMBER}$", text):
        return float(found[1]), float("inf")
    if found := re.match(rf"[≤<] {_NUMBER}$", text):
        return float("-inf"), float(found[1])
    return _printed(text)


def _reference(paper: Span | None, bar: Span | None) -> float:
    """What a relation's figures are compared with: the paper's figure, the middle of its range, or the bar. 0 if there is none."""
    span = paper or bar
    if span is None:
        return 0.0
    finite = [end for end in span if abs(end) != float("inf")]
    return sum(finite) / len(finite)


def _comparison(axis: Axes, row: dict[str, Any]) -> None:
    """Beside each relation: the paper's figure or range, the bar, and ours with its interval, all over the paper's."""
    count = len(row["relations"]) + 1
    for number, relation in enumerate(row["relations"], start=1):
        y = 1 - (number + 0.5) / count
        paper, bar = _printed(relation["printed"]), _bar(relation["bar"])
        reference = _reference(paper, bar)
        if relation["measured"] is None or reference == 0.0:
            continue
        if bar is not None:
            low, high = sorted(min(max(end / reference, 0.0), WIDEST) for end in bar)
            axis.plot([low, high], [y, y], color="#dddddd", linewidth=7, solid_capstyle="butt", zorder=1)
        if paper is not None:
            axis.plot([end / reference for end in paper], [y, y], color="black", marker="D", markersize=5, zorder=2)
        ours, half = relation["measured"] / reference, (relation["ci95"] or 0.0) / abs(reference)
        colour = "#0072B2" if relation["verdict"] == "holds" else "#D55E00"
        if 0.0 <= ours <= WIDEST:
            axis.errorbar(ours, y, xerr=half, color=colour, marker="o", markersize=5, capsize=2, zorder=3)
        else:
            axis.plot(min(max(ours, 0.0), WIDEST), y, color=colour, marker="<" if ours < 0.0 else ">", zorder=3)
    axis.set_xlim(-0.05, WIDEST + 0.05)
    axis.set_ylim(0, 1)
    axis.set_yticks([])
    axis.set_xlabel(
        "over the paper's (◆), or over the bar (grey)\nwhere it prints none; ours ●, beyond the edge ▸", fontsize=8
    )


def _relation(relation: dict[str, Any]) -> list[str]:
    measured, interval = relation["measured"], relation["ci95"]
    text = "not measured" if measured is None else f"{measured:.3g}" + (f" ± {interval:.2g}" if interval else "")
    unit = relation["unit"]
    what, printed = _short(relation["what"], 62), _short(relation["printed"], 30)
    return [what, printed, f"{text} {unit}", f"{relation['bar']} {unit}", relation["verdict"]]


def _short(text: str, most: int) -> str:
    """The text, cut to at most so many characters; the page has it whole."""
    return text if len(text) <= most else text[: most - 1] + "…"


def write_report(folder: Path, page: Path | None = None) -> list[Path]:
    """Draws every row of `folder` to a file beside its data, and into `page`, if given. Returns the files."""
    rows = load(folder)
    if page is not None:
        _require_rows(page, rows)
    with plt.rc_context(STYLE):
        files = figures.save_all(folder, ((_name(data), figure(data)) for data in rows))
        if page is not None:
            beside = page.parent / IMAGES
            beside.mkdir(parents=True, exist_ok=True)
            figures.save_all(beside, ((_name(data), figure(data)) for data in rows), dpi=72)
            page.write_text(_illustrated(page.read_text(encoding="utf-8"), rows), encoding="utf-8")
    return files


IMAGES = "img/reproduction"
"""Where the figures of a page are, from the folder of the page."""


def _name(data: dict[str, Any]) -> str:
    name: str = data["row"]["id"].replace("/", "-")
    return name


def _heading(data: dict[str, Any]) -> str:
    return f"## {data['row']['id']}: {data['row']['verdict']}"


def _require_rows(page: Path, rows: list[dict[str, Any]]) -> None:
    """Refuses a page of other results: figures and verdicts must be of the same runs."""
    try:
        lines = page.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise FormatError(f"cannot read {page}: {error.strerror}") from error
    for data in rows:
        if _heading(data) not in lines:
            raise FormatError(
                f"{page} has no heading `{_heading(data)}`: write the page anew from the same rows with `airpace reproduce --markdown`"
            )


def _illustrated(text: str, rows: list[dict[str, Any]]) -> str:
    """The page with the figure of each row below its heading, in place of those that are there."""
    headings = {_heading(data): _name(data) for data in rows}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("![") and f"]({IMAGES}/" in line:
            # The empty line after a figure goes with it.
            lines.pop()
            continue
        lines.append(line)
        if name := headings.get(line):
            lines += ["", f"![{line.removeprefix('## ')}]({IMAGES}/{name}.png)"]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Runs the program. Returns its exit code: 2 if the folder or the page cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m airpace.reproduce_report", description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder that `airpace reproduce --out` wrote")
    parser.add_argument("--page", type=Path, help="the page of `airpace reproduce --markdown` that gets the figures")
    options = parser.parse_args(arguments)
    try:
        files = write_report(options.folder, options.page)
    except FormatError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{len(files)} figures in {options.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
