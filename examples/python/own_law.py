"""A rate law of one's own, which gives the figures of the built-in law `linear` (paper 000, Algorithm 1).

Run it with `python examples/python/own_law.py`, after `pip install .`.
"""

import airpace

CELL = {
    "warm_up": "1 s",
    "duration": "4 s",
    "node": [{"kind": "ap"}, {"kind": "station", "count": 3, "rate": "mcs 9"}],
    "flow": [{"kind": "tcp"}, {"kind": "ping", "interval": "20 ms"}],
    "proxy": [{"law": "linear", "level": 24}],
}


class Linear:
    """Moves each station's rate against the error of its level, x ← x − K (level − target)."""

    def __init__(self, target=24.0, gain_mbps=1.0, payload=1470):
        self.target, self.gain_mbps, self.payload = target, gain_mbps, payload
        self.mbps = {}

    def on_slot(self, now, reports):
        for report in reports:
            self.mbps.setdefault(report.station, 1.0)
        gain = self.gain_mbps / max(1, len(self.mbps))
        for report in reports:
            level = 1.0 if report.level is None else report.level
            moved = self.mbps[report.station] - gain * (level - self.target)
            self.mbps[report.station] = min(max(moved, 0.05), 10_000.0)
        return [self.allocation(station) for station in sorted(self.mbps)]

    def allocation(self, station):
        rate_pps = self.mbps[station] * 1e6 / (8.0 * self.payload)
        return airpace.Allocation(station, rate_pps, packet_bytes=self.payload + 28, level=self.target)

    def remove(self, station):
        self.mbps.pop(station, None)


def main():
    print("law       TCP Mbit/s  ping p95 ms")
    for name, law in [("built-in", None), ("own", Linear)]:
        flows = airpace.simulate(CELL, law=law).flows
        ping = [kind == "ping" for kind in flows["kind"]].index(True)
        print(f"{name:8}  {sum(flows['goodput_mbps']):10.1f}  {flows['rtt_p95_ms'][ping]:11.2f}")


if __name__ == "__main__":
    main()
