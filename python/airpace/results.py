"""Reads the results of `airpace demo`: `summary.json` and one `series-<stations>-<name>.json` per arm."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMAT = 1
"""The version of the files that this module reads (`DEMO_FORMAT` in airpace-lab)."""

LABELS = {
    "cubic": "closed AP, Cubic",
    "bbr": "closed AP, BBR",
    "fqmac-airtime-cubic": "AP with FQ-MAC + airtime",
    "edge-acks": "behind airpace edge, nothing on the stations",
    "edge-radio": "behind airpace edge, block-ack radio",
    "edge-agents": "behind airpace edge, agents on the stations",
    "edge-mixed": "behind airpace edge, an agent on the first station",
    "airpace-cubic": "behind airpace tunnel",
    "airpace-udp": "behind airpace tunnel, UDP",
}
"""Names of the arms. What is behind airpace is the closed access point."""


class FormatError(ValueError):
    """The folder does not hold results that this module can read."""


@dataclass(frozen=True)
class Demo:
    """A run of the demo: the stored summary, and the series by (stations, name)."""

    summary: dict[str, Any]
    series: dict[tuple[int, str], dict[str, Any]]

    @property
    def arms(self) -> list[dict[str, Any]]:
        """The arms, in the order in which they were run."""
        return self.summary["arms"]

    @property
    def station_counts(self) -> list[int]:
        """Every number of stations that was run, ascending."""
        return sorted({arm["stations"] for arm in self.arms})

    def arm(self, stations: int, name: str) -> dict[str, Any] | None:
        """The arm of that name, if it was run."""
        return next((a for a in self.arms if a["stations"] == stations and a["name"] == name), None)


def jain_airtime(arm: dict[str, Any]) -> float:
    """Jain's index of the stations' airtime in both directions, or of the downlink in runs that stored only that."""
    return arm.get("jain_airtime_both_ways", arm["jain_airtime"])


def label(name: str) -> str:
    """The name of an arm in plots."""
    return LABELS.get(name, name)


def load(folder: Path) -> Demo:
    """Reads a folder that `airpace demo` wrote.

    Raises FormatError if there is no summary, or it has another format. A missing series is not an error; the plots leave
    it out.
    """
    summary = _read(folder / "summary.json")
    if summary.get("format") != FORMAT:
        raise FormatError(f"{folder}/summary.json has format {summary.get('format')!r}; this program reads {FORMAT}")
    if not summary.get("arms"):
        raise FormatError(f"{folder}/summary.json has no arms")
    series = {}
    for arm in summary["arms"]:
        path = folder / f"series-{arm['stations']}-{arm['name']}.json"
        if path.exists():
            series[arm["stations"], arm["name"]] = _read(path)
    return Demo(summary, series)


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist: run `airpace demo --out {path.parent}` first") from None
    except json.JSONDecodeError as error:
        raise FormatError(f"{path} is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise FormatError(f"{path} does not contain a JSON object")
    return content
