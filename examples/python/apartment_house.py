"""Three flats, one channel: what pacing one access point does while its neighbours do what they like.

`python examples/python/apartment_house.py [figure.png]`, after `pip install .`.
"""

import sys

from matplotlib.figure import Figure

import airpace

FLATS = ["ground", "first", "second"]
HOUSE = {
    "warm_up": "3 s",
    "duration": "5 s",
    "node": [
        *({"kind": "ap", "name": flat, "position": ["0 m", f"{4 * floor} m"]} for floor, flat in enumerate(FLATS)),
        *({"kind": "station", "name": f"{flat}-{room}", "ap": flat, "rate": "mcs 7", "distance": "4 m"}
          for flat in FLATS for room in ("laptop", "phone")),
    ],
    "flow": [
        *({"kind": "tcp", "name": f"download-{flat}", "from": flat, "to": f"{flat}-laptop"} for flat in FLATS),
        *({"kind": "ping", "name": f"ping-{flat}", "from": flat, "to": f"{flat}-phone", "interval": "20 ms"} for flat in FLATS),
    ],
}  # fmt: skip


def figures(paced, **overrides):
    """Download in Mbit/s and 95th percentile of the ping in ms of each flat; those in `paced` have a proxy."""
    result = airpace.simulate(HOUSE, proxy=[{"at": flat} for flat in paced], **overrides)
    return result.flows["goodput_mbps"][: len(FLATS)], result.flows["rtt_p95_ms"][len(FLATS) :]


def draw(rows, path):
    figure = Figure(figsize=(8, 3), layout="constrained")
    panels = figure.subplots(1, 2)
    for place, (label, values) in enumerate(rows.items()):
        for axes, heights in zip(panels, values):
            axes.bar([flat + 0.27 * (place - 1) for flat in range(len(FLATS))], heights, 0.25, label=label)
    for axes, title in zip(panels, ["download, Mbit/s", "ping, 95th percentile, ms"]):
        axes.set_xticks(range(len(FLATS)), FLATS)
        axes.set_title(title)
    panels[0].legend(fontsize=8)
    figure.savefig(path, dpi=120)


def main(arguments, **overrides):
    cases = {"nobody": [], "the ground floor": FLATS[:1], "everybody": FLATS}
    rows = {who: figures(paced, **overrides) for who, paced in cases.items()}
    print("paced             flat    Mbit/s  ping p95 ms")
    for who, (goodput, rtt_ms) in rows.items():
        for flat, mbps, p95_ms in zip(FLATS, goodput, rtt_ms):
            print(f"{who:16}  {flat:6}  {mbps:6.1f}  {p95_ms:11.1f}")
    if arguments:
        draw(rows, arguments[0])


if __name__ == "__main__":
    main(sys.argv[1:])
