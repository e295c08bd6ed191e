"""The claims about a run of the demo: whether they hold, and the figures."""

from __future__ import annotations

from dataclasses import dataclass

from airpace.results import Demo, jain_airtime, label


@dataclass(frozen=True)
class Finding:
    """A claim, whether it holds in this run, and the figures that decide it."""

    claim: str
    holds: bool
    figures: str


def findings(demo: Demo) -> list[Finding]:
    """The project's claims that this run can decide, in order. Claims about arms that were not run are left out."""
    found = []
    for stations in demo.station_counts:
        found += [f for f in (_goodput(demo, stations), _delay(demo, stations), _level(demo, stations)) if f]
        found += _closed_against_modified(demo, stations)
    lagging = [f"{label(a['name'])} on {a['stations']}" for a in demo.arms if not a["trusted"]]
    found.append(
        Finding(
            "the emulator kept up with real time (p99 lag at most 1 ms) in every arm",
            not lagging,
            f"late in: {', '.join(lagging)}" if lagging else f"worst {max(a['lag_p99_ms'] for a in demo.arms):.2f} ms",
        )
    )
    return found


def _pair(demo: Demo, stations: int):
    ours, cubic = demo.arm(stations, "airpace-cubic"), demo.arm(stations, "cubic")
    return (ours, cubic) if ours and cubic else None


def _goodput(demo: Demo, stations: int) -> Finding | None:
    pair = _pair(demo, stations)
    if not pair or pair[1]["goodput_mbps"] <= 0:
        return None
    share = pair[0]["goodput_mbps"] / pair[1]["goodput_mbps"]
    figures = f"{pair[0]['goodput_mbps']:.0f} of {pair[1]['goodput_mbps']:.0f} Mbit/s: {share:.0%}"
    # One station: nearly all of it. Several of mixed rates: equal airtime gains more than short rounds cost.
    least = 0.97 if stations == 1 else 1.10
    return Finding(f"{_on(stations)}: at least {least:.0%} of the goodput of Cubic alone", share >= least, figures)


def _delay(demo: Demo, stations: int) -> Finding | None:
    pair = _pair(demo, stations)
    if not pair or not all(arm["ping_ms"]["count"] for arm in pair):
        return None
    ours, cubic = (arm["ping_ms"]["p95"] for arm in pair)
    # The quantiles cover answered pings only, so they mean nothing if many are unanswered.
    lost = pair[0]["ping_loss"]
    figures = f"{ours:.1f} ms against {cubic:.1f} ms: 1/{cubic / max(ours, 1e-3):.1f}; {lost:.1%} of pings unanswered"
    factor = 10 if stations == 1 else 25
    claim = f"{_on(stations)}: at most 1/{factor} of Cubic's p95 ping under load, at most 1 % of pings unanswered"
    return Finding(claim, ours * factor <= cubic and lost <= 0.01, figures)


def _level(demo: Demo, stations: int) -> Finding | None:
    arm = demo.arm(stations, "airpace-udp")
    if not arm or stations > 1:
        # With several stations only the fastest is at the limit; equal airtime sets the level of the others.
        return None
    target = demo.summary["settings"]["target_level"]
    if target is None:
        return None
    figures = f"{arm['level']:.1f} of {target:.0f} packets per frame"
    return Finding(f"{_on(stations)}: level within 10 % of its target", abs(arm["level"] / target - 1) <= 0.1, figures)


def _closed_against_modified(demo: Demo, stations: int) -> list[Finding]:
    """Compares a closed access point behind airpace with a modified one."""
    ours, modified = demo.arm(stations, "airpace-cubic"), demo.arm(stations, "fqmac-airtime-cubic")
    if not ours or not modified or not all(arm["ping_ms"]["count"] for arm in (ours, modified)):
        return []
    what = f"{_on(stations)}: behind airpace a closed AP has at least half of the goodput of one with FQ-MAC + airtime"
    goodputs, pings, jains = (
        [arm["goodput_mbps"] for arm in (ours, modified)],
        [arm["ping_ms"]["p95"] for arm in (ours, modified)],
        [jain_airtime(arm) for arm in (ours, modified)],
    )
    holds = goodputs[0] * 2 >= goodputs[1] and pings[0] <= pings[1]
    figures = (
        f"{goodputs[0]:.0f} of {goodputs[1]:.0f} Mbit/s: {goodputs[0] / max(goodputs[1], 1e-3):.0%}; "
        f"p95 ping {pings[0]:.1f} ms against {pings[1]:.1f} ms; Jain index of airtime {jains[0]:.3f} against {jains[1]:.3f}"
    )
    return [Finding(f"{what}, and no longer p95 pings under load", holds, figures)]


def _on(stations: int) -> str:
    return "one station" if stations == 1 else f"{stations} stations"
