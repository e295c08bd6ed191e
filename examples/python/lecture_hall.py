"""A lecture hall: eighty stations with video or calls, and a few that download, without and with airpace.

`python examples/python/lecture_hall.py [figure.png]`, after `pip install .`.
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import airpace

HALL = {
    "warm_up": "4 s",
    "duration": "4 s",
    "node": [
        {"kind": "ap"},
        {"kind": "station", "name": "viewer", "count": 40, "rate": "mcs 7 nss 2"},
        {"kind": "station", "name": "caller", "count": 36, "rate": "mcs 5"},
        {"kind": "station", "name": "loader", "count": 4, "rate": "mcs 9 nss 2"},
    ],
    "flow": [
        {"kind": "burst", "to": "viewer", "rate": "2 Mbit/s", "interval": "40 ms", "spread": 0.3},
        {"kind": "voip", "to": "caller"},
        {"kind": "tcp", "to": "loader"},
    ],
}


def figures(law, **overrides):
    """Per kind of flow: goodput in Mbit/s in all, and each flow's 95th percentile of the delay in ms; the calls' MOS."""
    flows = airpace.simulate(HALL, proxy=[{"law": law}], **overrides).flows
    kind = np.array(flows["kind"])
    goodput = {name: flows["goodput_mbps"][kind == name].sum() for name in ("burst", "voip", "tcp")}
    return goodput, {name: flows["delay_p95_ms"][kind == name] for name in goodput}, flows["mos"][kind == "voip"]


def draw(rows, path):
    axes = Figure(figsize=(5, 3), layout="constrained").subplots()
    for law, (_, delay_ms, _) in rows.items():
        for name, style in [("burst", "-"), ("voip", ":")]:
            axes.ecdf(delay_ms[name], ls=style, label=f"{name}, law {law}")
    axes.set(xlabel="delay, 95th percentile, ms", ylabel="share of the stations")
    axes.legend(fontsize=8)
    axes.figure.savefig(path, dpi=120)


def main(arguments, **overrides):
    rows = {law: figures(law, **overrides) for law in ("none", "waterfill")}
    print("law        video Mbit/s  p95 ms  calls p95 ms  worst MOS  downloads Mbit/s")
    for law, (goodput, delay_ms, mos) in rows.items():
        video, calls = (np.median(delay_ms[name]) for name in ("burst", "voip"))
        print(f"{law:9}  {goodput['burst']:12.1f}  {video:6.1f}  {calls:12.1f}  {mos.min():9.2f}  {goodput['tcp']:16.1f}")
    if arguments:
        draw(rows, arguments[0])


if __name__ == "__main__":
    main(sys.argv[1:])
