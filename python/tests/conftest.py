"""A small stored run: two numbers of stations, all arms, series of a few slots."""

import json
import math
import random
from pathlib import Path

import pytest

ARMS = {
    "cubic": (330, 85.0, 60),
    "bbr": (310, 14.0, 40),
    "fqmac-airtime-cubic": (310, 9.0, 30),
    "edge-acks": (332, 3.3, 30),
    "edge-radio": (334, 3.2, 31),
    "edge-agents": (336, 3.1, 32),
    "airpace-cubic": (325, 3.2, 31),
    "airpace-udp": (300, 3.0, 32),
}
MCS = (9, 4, 1)
PHY = (390.0, 234.0, 58.5)
# What equal airtime gains over equal turns at stations of mixed rates.
EQUAL_AIRTIME_GAIN = 1.25


def quantiles(p50: float) -> dict:
    return {"p50": p50, "p95": p50 * 1.4, "p99": p50 * 1.7, "mean": p50, "max": p50 * 2, "count": 900}


def total_goodput(n: int, name: str) -> float:
    has_equal_airtime = name not in ("cubic", "bbr")
    gain = EQUAL_AIRTIME_GAIN if n > 1 and has_equal_airtime else 1.0
    return ARMS[name][0] / math.sqrt(n) * gain


def station(index: int, n: int, goodput: float, ping: float, level: float) -> dict:
    return {
        "station": index, "mcs": MCS[index], "phy_mbps": PHY[index], "goodput_mbps": goodput / n, "ping_ms": quantiles(ping),
        "idle_ping_ms": quantiles(2.4), "loss": 0.0, "ping_loss": 0.0, "level": level, "level_reported": None,
        "round_ms": 1.5 * n, "airtime": 0.9 / n, "uplink_airtime": 0.05 / n, "retransmits": 0,
    }  # fmt: skip


def arm(n: int, name: str) -> dict:
    _, ping, level = ARMS[name]
    goodput, ping = total_goodput(n, name), ping * n
    return {
        "stations": n, "name": name, "goodput_mbps": goodput, "ping_ms": quantiles(ping), "idle_ping_ms": quantiles(2.4),
        "loss": 0.001, "ping_loss": 0.0, "level": level, "level_reported": level if "airpace" in name or "edge" in name else None,
        "round_ms": 1.5 * n, "jain_airtime": 0.99, "jain_airtime_both_ways": 0.99, "lag_p99_ms": 0.3, "trusted": True, "retransmits": 12,
        "per_station": [station(i, n, goodput, ping, level) for i in range(n)],
    }  # fmt: skip


def series(n: int, name: str) -> dict:
    _, ping, level = ARMS[name]
    goodput = total_goodput(n, name)
    draw = random.Random(f"{n} {name}")
    slots = [
        {"at_s": 2 + i / 10, "goodput_mbps": goodput / n * draw.uniform(0.9, 1.1), "frames": 60 if i else 0,
         "level": level if i else None, "airtime": 0.9 / n, "ap_queue": None, "allocated_mbps": None}
        for i in range(40)
    ]  # fmt: skip
    pings = [[2 + i / 50, None if i % 97 == 96 else ping * draw.lognormvariate(0, 0.2)] for i in range(200)]
    stations = [{"station": i, "slots": slots, "pings": pings} for i in range(n)]
    return {
        "format": 1, "stations": n, "name": name, "load_from_s": 2.0, "steady_from_s": 3.0, "load_to_s": 6.0,
        "per_station": stations,
    }  # fmt: skip


def summary() -> dict:
    environment = {
        "airpace_version": "0.1.0", "git_revision": "abc123", "kernel": "6.18", "cpus": 2, "started_unix_s": 1_790_000_000,
    }  # fmt: skip
    settings = {
        "seed": 1, "width_mhz": 80, "nss": 1, "wired_delay_ms": 1.0, "ap_buffer_packets": 2500, "target_level": 32.0,
        "slot_ms": 100.0, "ping_interval_ms": 10.0, "idle_s": 2.0, "load_s": 14.0, "ramp_s": 4.0,
    }  # fmt: skip
    return {"format": 1, "environment": environment, "settings": settings,
            "arms": [arm(n, name) for n in (1, 3) for name in ARMS]}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as `airpace demo` leaves it."""
    (tmp_path / "summary.json").write_text(json.dumps(summary()))
    for n in (1, 3):
        for name in ARMS:
            (tmp_path / f"series-{n}-{name}.json").write_text(json.dumps(series(n, name)))
    return tmp_path
