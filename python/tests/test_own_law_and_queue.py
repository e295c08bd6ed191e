"""Rate laws and queues that are written in Python."""

import runpy
from collections import deque
from pathlib import Path

import numpy as np
import pytest

import airpace

EXAMPLE = runpy.run_path(str(Path(__file__).parents[2] / "examples/python/own_law.py"))
CELL = EXAMPLE["CELL"]


def figures(result):
    """Every figure of the stations and flows."""
    tables = [result.stations, result.flows]
    return np.concatenate([
        np.asarray(table[name], dtype=float)
        for table in tables for name in table.columns if not isinstance(table[name], list)
    ])  # fmt: skip


@pytest.fixture(scope="module")
def built_in():
    return airpace.simulate(CELL)


def test_a_law_of_30_lines_gives_the_figures_of_the_built_in_law(built_in):
    own = airpace.simulate(CELL, law=EXAMPLE["Linear"])
    np.testing.assert_allclose(figures(own), figures(built_in), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(own.decisions["rate_pps"], built_in.decisions["rate_pps"], rtol=1e-9)
    other = airpace.simulate(CELL, law=lambda: EXAMPLE["Linear"](target=8.0))
    assert not np.allclose(figures(other), figures(built_in), rtol=1e-3, equal_nan=True)


def test_the_example_prints_the_same_figures_for_both(capsys):
    EXAMPLE["main"]()
    _, built_in, own = capsys.readouterr().out.splitlines()
    assert built_in.split()[1:] == own.split()[1:]


def test_a_law_is_told_of_backlogs_and_news_if_it_asks():
    class Fixed:
        takes_news = True

        def __init__(self):
            told.append(self)
            self.changes = []

        def on_slot(self, now, reports):
            self.now = now
            return [airpace.Allocation(report.station, 2_000.0, level=8.0) for report in reports]

        def on_backlog(self, now, changes):
            self.changes += changes
            return

    told = []
    airpace.simulate(CELL, law=Fixed, duration="500 ms")
    assert any(law.changes for law in told)
    assert told[-1].now == pytest.approx(1.5, abs=0.2)


@pytest.mark.parametrize(
    ("on_slot", "error", "said"),
    [
        (lambda self, now, reports: 1 / 0, ZeroDivisionError, "division"),
        (lambda self, now, reports: [3], TypeError, "Allocation"),
        (lambda self, now, reports: None, TypeError, "NoneType"),
        (lambda self, now, reports: [airpace.Allocation(0, float("nan"))], ValueError, "rate_pps of station 0 is NaN"),
    ],
)
def test_an_exception_in_a_law_ends_the_run(on_slot, error, said):
    law = type("Wrong", (), {"on_slot": on_slot})
    with pytest.raises(error, match=said):
        airpace.simulate(CELL, law=law, duration="100000 s")


def test_what_is_no_law_is_refused():
    with pytest.raises(TypeError, match="no method on_slot"):
        airpace.simulate(CELL, law=dict)
    with pytest.raises(TypeError, match="law is 'linear'"):
        airpace.simulate(CELL, law="linear")
    without = {key: value for key, value in CELL.items() if key != "proxy"}
    with pytest.raises(ValueError, match=r"no \[\[proxy\]\]"):
        airpace.simulate(without, law=EXAMPLE["Linear"])


class DropOldest:
    """First in, first out; of more than 100 packets the oldest is dropped."""

    def __init__(self, site):
        self.site = site
        self.packets = deque()

    def enqueue(self, now, packet, store):
        self.packets.append(packet)
        if len(self.packets) > 100:
            store.discard(self.packets.popleft())

    def dequeue(self, now, store):
        return self.packets.popleft() if self.packets else None


UNPACED = {
    "warm_up": "200 ms",
    "duration": "800 ms",
    "node": [{"kind": "ap"}, {"kind": "station", "rate": "mcs 0"}],
    "flow": [{"kind": "udp-cbr", "rate": "50 Mbit/s"}],
}


def test_a_queue_of_ones_own_bounds_the_delay():
    sites = []

    def queue(site):
        sites.append((site.sender, site.receiver, site.category))
        return DropOldest(site)

    long = airpace.simulate(UNPACED).stations
    short = airpace.simulate(UNPACED, queue=queue).stations
    assert sites == [("ap", "station", "best-effort")]
    assert short["delay_p95_ms"][0] < 0.5 * long["delay_p95_ms"][0]
    assert short["dropped"][0] > 100
    assert short["goodput_mbps"][0] == pytest.approx(long["goodput_mbps"][0], rel=0.05)


def test_a_queue_marks_or_drops():
    class Marks(DropOldest):
        def dequeue(self, now, store):
            if not self.packets:
                return None
            packet = self.packets.popleft()
            if now - packet.came_s > 5e-3:
                store.mark_or_discard(packet)
            return packet

    udp = airpace.simulate(UNPACED, queue=Marks).stations
    assert udp["dropped"][0] > 100
    tcp = {**UNPACED, "flow": [{"kind": "tcp", "ecn": True}]}
    marked = airpace.simulate(tcp, queue=Marks).stations
    assert marked["dropped"][0] == 0
    assert marked["delay_p95_ms"][0] < airpace.simulate(tcp).stations["delay_p95_ms"][0]


def test_errors_of_queues_end_the_run():
    class Repeats(DropOldest):
        def dequeue(self, now, store):
            return self.packets[0] if self.packets else None

    with pytest.raises(ValueError, match="does not hold this packet"):
        airpace.simulate(UNPACED, queue=Repeats, duration="1000 s")
    first = []

    class Confuses(DropOldest):
        def enqueue(self, now, packet, store):
            super().enqueue(now, packet, store)
            first.append(packet)

        def dequeue(self, now, store):
            packet = super().dequeue(now, store)
            return first[0] if packet and self.site.receiver == "station-2" else packet

    two = {**UNPACED, "node": [{"kind": "ap"}, {"kind": "station", "count": 2}]}
    with pytest.raises(ValueError, match="is another queue's"):
        airpace.simulate(two, queue=Confuses)
    with pytest.raises(TypeError, match="no method enqueue"):
        airpace.simulate(UNPACED, queue=lambda site: site)
    with pytest.raises(ZeroDivisionError):
        airpace.simulate(UNPACED, queue=lambda site: 1 / 0)
