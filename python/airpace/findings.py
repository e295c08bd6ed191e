"""The claims about a run of the demo: whether they hold, and the figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
        found += _edge_against_unpaced(demo, stations)
        found += _edge_floor(demo, stations)
        found += _radio_against_agents(demo, stations)
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


def _measured(demo: Demo, stations: int, *names: str) -> list[dict[str, Any]] | None:
    """The arms of these names; None if one was not run or has no pings."""
    arms = [demo.arm(stations, name) for name in names]
    return arms if all(arm and arm["ping_ms"]["count"] for arm in arms) else None


def _edge_against_unpaced(demo: Demo, stations: int) -> list[Finding]:
    """The in-line box with nothing on several stations against the same access point without it."""
    arms = _measured(demo, stations, "edge-acks", "cubic")
    if not arms or stations == 1 or arms[1]["goodput_mbps"] <= 0:
        return []
    (ours, unpaced), who = arms, f"{_on(stations)} without agents, airpace edge"
    share = ours["goodput_mbps"] / unpaced["goodput_mbps"]
    goodputs = f"{ours['goodput_mbps']:.0f} of {unpaced['goodput_mbps']:.0f} Mbit/s: {share:.0%}"
    p95, unpaced_p95 = ours["ping_ms"]["p95"], unpaced["ping_ms"]["p95"]
    pings = f"{p95:.1f} ms against {unpaced_p95:.1f} ms: 1/{unpaced_p95 / max(p95, 1e-3):.1f}"
    return [
        Finding(f"{who}: at least the goodput of Cubic alone", share >= 1, goodputs),
        Finding(f"{who}: at most 1/10 of Cubic's p95 ping under load (aim: 1/25)", p95 * 10 <= unpaced_p95, pings),
    ]


def _edge_floor(demo: Demo, stations: int) -> list[Finding]:
    """No station has much less without agents than where all have one."""
    arms = _measured(demo, stations, "edge-acks", "edge-agents")
    if not arms:
        return []
    pairs = list(zip(arms[0]["per_station"], arms[1]["per_station"]))
    shares = [without["goodput_mbps"] / max(with_agent["goodput_mbps"], 1e-3) for without, with_agent in pairs]
    goodputs = [f"{a['goodput_mbps']:.1f} of {b['goodput_mbps']:.1f}" for a, b in pairs]
    claim = f"{_on(stations)}, airpace edge: without agents each has at least 90 % of what it has where all have one"
    figures = f"{', '.join(goodputs)} Mbit/s: {', '.join(f'{share:.0%}' for share in shares)}"
    return [Finding(claim, min(shares) >= 0.9, figures)]


def _radio_against_agents(demo: Demo, stations: int) -> list[Finding]:
    """A radio that hears block acks against an agent on every station."""
    arms = _measured(demo, stations, "edge-radio", "edge-agents")
    if not arms:
        return []
    goodputs, pings = [arm["goodput_mbps"] for arm in arms], [arm["ping_ms"]["p95"] for arm in arms]
    claim = (
        f"{_on(stations)}, airpace edge: a block-ack radio gives at least 95 % of the goodput that agents give, "
        "at no more than 1.2 times their p95 ping"
    )
    figures = (
        f"{goodputs[0]:.0f} of {goodputs[1]:.0f} Mbit/s: {goodputs[0] / max(goodputs[1], 1e-3):.0%}; "
        f"{pings[0]:.1f} ms against {pings[1]:.1f} ms: {pings[0] / max(pings[1], 1e-3):.2f} times"
    )
    return [Finding(claim, goodputs[0] >= 0.95 * goodputs[1] and pings[0] <= 1.2 * pings[1], figures)]


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
    return Finding(
        f"{_on(stations)}, tunnel: at least {least:.0%} of the goodput of Cubic alone", share >= least, figures
    )


def _delay(demo: Demo, stations: int) -> Finding | None:
    pair = _pair(demo, stations)
    if not pair or not all(arm["ping_ms"]["count"] for arm in pair):
        return None
    ours, cubic = (arm["ping_ms"]["p95"] for arm in pair)
    # The quantiles cover answered pings only, so they mean nothing if many are unanswered.
    lost = pair[0]["ping_loss"]
    figures = f"{ours:.1f} ms against {cubic:.1f} ms: 1/{cubic / max(ours, 1e-3):.1f}; {lost:.1%} of pings unanswered"
    factor = 10 if stations == 1 else 25
    claim = (
        f"{_on(stations)}, tunnel: at most 1/{factor} of Cubic's p95 ping under load, at most 1 % of pings unanswered"
    )
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
    return Finding(
        f"{_on(stations)}, tunnel: level within 10 % of its target", abs(arm["level"] / target - 1) <= 0.1, figures
    )


def _closed_against_modified(demo: Demo, stations: int) -> list[Finding]:
    """Compares a closed access point behind airpace with a modified one."""
    ours, modified = demo.arm(stations, "airpace-cubic"), demo.arm(stations, "fqmac-airtime-cubic")
    if not ours or not modified or not all(arm["ping_ms"]["count"] for arm in (ours, modified)):
        return []
    what = (
        f"{_on(stations)}: behind the tunnel a closed AP has at least half of the goodput of one with FQ-MAC + airtime"
    )
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
