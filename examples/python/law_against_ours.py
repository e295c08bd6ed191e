"""A law of one's own against the published one and ours, in cells of the frontier.

`python examples/python/law_against_ours.py [figure.png]`, after `pip install .`, in the repository, which has the cells.
"""

import sys
from pathlib import Path

import airpace

CELLS = Path(__file__).parents[2] / "scenarios/frontier"
NAMES = ["one", "three", "ten"]
FLOWS = [{"kind": "tcp"}, {"kind": "ping", "interval": "20 ms"}]


class Careful:
    """More when frames are short, less when they are long: x ← 1.05 x below the target level, x ← 0.9 x above it."""

    def __init__(self, target=24.0, payload=1470):
        self.target, self.payload, self.pps = target, payload, {}

    def on_slot(self, now, reports):
        for report in reports:
            level = 1.0 if report.level is None else report.level
            factor = 1.05 if level < self.target else 0.9
            self.pps[report.station] = max(100.0, factor * self.pps.get(report.station, 1000.0))
        return [
            airpace.Allocation(station, pps, packet_bytes=self.payload + 28, level=self.target)
            for station, pps in sorted(self.pps.items())
        ]

    def remove(self, station):
        self.pps.pop(station, None)


LAWS = {
    "careful": {"law": Careful, "proxy": [{"law": "linear"}]},
    "linear": {"proxy": [{"law": "linear", "level": 24}]},
    "waterfill": {"proxy": [{}]},
}


def main(arguments, **overrides):
    runs = {
        law: {cell: airpace.simulate(CELLS / f"{cell}.toml", flow=FLOWS, **settings, **overrides) for cell in NAMES}
        for law, settings in LAWS.items()
    }
    print("law        cell        Mbit/s  worst ping p95 ms")
    for law, cells in runs.items():
        for cell, result in cells.items():
            flows = result.flows
            ping_ms = max(rtt for kind, rtt in zip(flows["kind"], flows["rtt_p95_ms"]) if kind == "ping")
            print(f"{law:9}  {cell:10}  {sum(flows['goodput_mbps']):6.1f}  {ping_ms:17.1f}")
    if arguments:
        airpace.plot.laws(runs).savefig(arguments[0], dpi=100)


if __name__ == "__main__":
    main(sys.argv[1:])
