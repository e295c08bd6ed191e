"""Situations for the web page: a slow station, a bottleneck in the backhaul, a lost sensor.

``python python/tests/page_fixtures.py`` writes them to ``crates/airpace-web/fixtures``, as the page gets
them from ``/api/status`` and ``/api/history``.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "crates/airpace-web/fixtures"
NOW = 1_790_000_000
STEP_S = 5
POINTS = 240
#: Points since the trouble began.
TROUBLE = 90

Station = dict[str, Any]


def station(index: int, name: str, **figures: Any) -> Station:
    """A station that is well, with the given fields in place of its own."""
    mac = f"3c:22:fb:01:02:{index:02x}"
    well = {
        "mac": mac,
        "name": name,
        "addresses": [f"192.168.1.{20 + index}"],
        "weight": 1.0,
        "exempt": False,
        "mode": "controlled",
        "rate_mbps": 52.0,
        "sent_mbps": 50.0,
        "goodput_mbps": 50.0,
        "uplink_mbps": 1.2,
        "level": 14.2,
        "wait_p50_ms": 3.1,
        "wait_p95_ms": 6.4,
        "sensor": "block-ack",
        "confidence": 0.95,
        "held_packets": 40,
        "backlog_packets": 6,
        "corrected_reports": 0,
        "surplus_reports": 0,
        "silent_s": 0.0,
        "share": 0.22,
        "limited_by": "fair-share",
        "reason": (
            "paced to its fair share of the air: it gets 50 Mbit/s of the 52 Mbit/s it may have; the air is shared"
            " with 3 other stations"
        ),
        "lost_sensor": None,
        "radio_unused": None,
        "mean_sent_mbps": 50.4,
        "mean_goodput_mbps": 50.1,
        "phy_mbps": 433.3,
        "phy_assumed": False,
        "sojourn_p50_ms": 1.2,
        "sojourn_p95_ms": 4.0,
        "wifi_delay_ms": 4.3,
        "backhaul_rtt_ms": 14.0,
        "backhaul_delay_ms": 0.8,
        "backhaul_limit_mbps": None,
    }
    told = well | figures
    # The rates of the fixtures stand still.
    return told | {"mean_rate_mbps": told["rate_mbps"]}


def idle(index: int, name: str) -> Station:
    return station(
        index,
        name,
        sent_mbps=0.01,
        goodput_mbps=0.01,
        mean_sent_mbps=0.01,
        mean_goodput_mbps=0.01,
        share=0.001,
        level=1.0,
        backlog_packets=0,
        held_packets=0,
        limited_by="idle",
        reason="hardly anything is being sent to it: 10 kbit/s of the 52 Mbit/s it may have",
    )


def event(number: int, before_s: float, kind: str, text: str, **who: str) -> dict[str, Any]:
    return {"number": number, "unix_s": NOW - before_s, "kind": kind, "text": text, **who}


def status(stations: list[Station], events: list[dict[str, Any]], **figures: Any) -> dict[str, Any]:
    box = {
        "version": "0.1.0",
        "pid": 812,
        "uptime_s": 86_400.0 * 3,
        "wan": "eth0",
        "datapath": "XDP in the driver",
        "fail_open": True,
        "passing": None,
        "dry_run": False,
        "sent": 41_235_112,
        "dropped": 3_120,
        "refused": 0,
        "passed_stale": 0,
        "passed_large": 0,
        "observations_lost": 0,
        "crowded_out": 0,
        "reports_refused": 0,
        "rows_left_out": 0,
        "rows_lost": 0,
        "unix_s": NOW,
        "aim": "balanced",
        "events": [event(1, 86_400 * 3, "began", "airpace edge has begun"), *events],
    }
    active = sum(one["limited_by"] != "idle" for one in stations)
    ap = {
        "name": "hall",
        "ports": ["eth1"],
        "aimed_round_ms": 5.2,
        "price": 1.0,
        "air_of_others": 0.06,
        "radio_trouble": None,
        "active_stations": active,
        "capped_elsewhere": 0,
        "least_latency_ms": None,
        "stations": stations,
    }
    return {**box, "aps": [ap | figures]}


def history(box: dict[str, Any], before: dict[str, tuple[float, float]]) -> dict[str, Any]:
    """The last minutes, which end with the figures of ``box``.

    ``before`` has delay in ms and goodput in Mbit/s of the stations whose figures were others before the
    trouble.
    """
    stations = []
    for phase, one in enumerate(box["aps"][0]["stations"]):
        end = (one["wifi_delay_ms"], one["mean_goodput_mbps"] or one["mean_sent_mbps"])
        begin = before.get(one["name"], end)
        columns: list[list[float | None]] = [[], []]
        for at in range(POINTS):
            share = min(1.0, max(0.0, (at - (POINTS - TROUBLE)) / 6))
            for column, first, last in zip(columns, begin, end, strict=True):
                wave = math.sin(at * 1.7 + 3 * phase) + math.sin(at * 0.31 + phase)
                value = first + share * (last - first)
                column.append(round(value * (1 + 0.05 * wave), 1))
        stations.append(
            {
                "mac": one["mac"],
                "delay_ms": columns[0],
                "goodput_mbps": columns[1],
                "share": [one["share"]] * POINTS,
            }
        )
    times = [NOW - STEP_S * (POINTS - at) for at in range(POINTS)]
    return {"step_s": STEP_S, "unix_s": times, "stations": stations}


def slow_station() -> dict[str, Any]:
    slow = station(
        4,
        "garden-camera",
        rate_mbps=3.4,
        sent_mbps=3.3,
        goodput_mbps=3.2,
        mean_sent_mbps=3.3,
        mean_goodput_mbps=3.2,
        level=2.1,
        share=0.44,
        wait_p50_ms=8.0,
        wait_p95_ms=14.0,
        sojourn_p50_ms=11.0,
        sojourn_p95_ms=35.0,
        wifi_delay_ms=19.0,
        phy_mbps=6.5,
        limited_by="slow-station",
        reason=(
            "slow on the air: its PHY rate is 6.5 Mbit/s, that of the fastest station 433 Mbit/s; it gets 3.3 Mbit/s"
            " of the 3.4 Mbit/s it may have, and takes 44 % of the air for that"
        ),
    )
    stations = [
        station(1, "anna-laptop"),
        station(2, "tv", mean_goodput_mbps=24.8, mean_sent_mbps=25.0, rate_mbps=51.0, share=0.12, wifi_delay_ms=3.0,
                limited_by="sender",
                reason="the sender has no more to send: 25 Mbit/s of the 51 Mbit/s that the station may have"),
        station(3, "phone", mean_goodput_mbps=38.0, mean_sent_mbps=38.2, rate_mbps=40.0, wifi_delay_ms=5.1,
                reason="paced to its fair share of the air: it gets 38 Mbit/s of the 40 Mbit/s it may have; the air is"
                " shared with 3 other stations"),
        slow,
        idle(5, "printer"),
    ]
    events = [event(2, 5400, "station-joined", "has joined", station=slow["mac"], name="garden-camera", ap="hall")]
    box = status(stations, events)
    before = {"garden-camera": (5.0, 11.0), "anna-laptop": (4.0, 88.0), "phone": (4.6, 70.0)}
    return {"status": box, "history": history(box, before)}


def backhaul() -> dict[str, Any]:
    def behind(index: int, name: str, mbps: float) -> Station:
        return station(
            index,
            name,
            mean_goodput_mbps=mbps,
            mean_sent_mbps=mbps,
            sent_mbps=mbps,
            goodput_mbps=mbps,
            rate_mbps=130.0,
            share=mbps / 400,
            backhaul_rtt_ms=164.0,
            backhaul_delay_ms=150.0,
            backlog_packets=0,
            sojourn_p50_ms=0.1,
            wait_p50_ms=1.4,
            wifi_delay_ms=1.5,
            limited_by="backhaul",
            reason=(
                "the bottleneck is on the wired side, before the box: a round trip to the server takes 164 ms, 150 ms of"
                f" which is spent in a queue, and only {mbps:.0f} Mbit/s arrive of the 130 Mbit/s it may have"
            ),
        )

    stations = [behind(1, "anna-laptop", 19.0), behind(2, "tv", 14.0), behind(3, "phone", 16.0), idle(5, "printer")]
    box = status(stations, [event(2, 7200, "reloaded", "configuration reloaded")])
    before = {"anna-laptop": (4.0, 88.0), "tv": (3.5, 25.0), "phone": (4.2, 70.0)}
    return {"status": box, "history": history(box, before)}


def sensor_lost() -> dict[str, Any]:
    def blind(index: int, name: str, mbps: float) -> Station:
        return station(
            index,
            name,
            mean_goodput_mbps=None,
            goodput_mbps=None,
            mean_sent_mbps=mbps,
            sent_mbps=mbps,
            rate_mbps=mbps * 1.02,
            level=None,
            sensor="none",
            confidence=0.0,
            lost_sensor="block-ack",
            phy_assumed=True,
            wait_p50_ms=None,
            wait_p95_ms=None,
            sojourn_p50_ms=24.0,
            sojourn_p95_ms=60.0,
            wifi_delay_ms=24.0,
            limited_by="sensor-lost",
            reason=(
                "sensor lost: the radio air0 near the access point has not heard its frames for 452 s (is it on the access"
                " point's channel? iw dev air0 info); meanwhile its rate is an estimate: it gets"
                f" {mbps:.0f} Mbit/s of the {mbps * 1.02:.0f} Mbit/s it may have"
            ),
        )

    stations = [blind(1, "anna-laptop", 31.0), blind(3, "phone", 28.0), idle(2, "tv"), idle(5, "printer")]
    events = [
        event(
            number,
            452 - number,
            "sensor-lost",
            "has lost its block-ack sensor: no sensor observes it now",
            station=one["mac"],
            name=one["name"],
            ap="hall",
        )
        for number, one in enumerate(stations[:2], start=2)
    ]
    box = status(stations, events, air_of_others=None)
    before = {"anna-laptop": (4.0, 62.0), "phone": (4.2, 55.0)}
    return {"status": box, "history": history(box, before)}


FIXTURES = {"slow-station": slow_station, "backhaul": backhaul, "sensor-lost": sensor_lost}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, make in FIXTURES.items():
        text = json.dumps(make(), separators=(",", ":"), ensure_ascii=False)
        # A line for each station and event keeps differences readable.
        text = text.replace(',{"mac"', ',\n{"mac"').replace(',{"number"', ',\n{"number"')
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
