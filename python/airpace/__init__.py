"""Wi-Fi cells in virtual time: runs, tables, models, sweeps, and rate laws and queues of your own.

>>> import airpace
>>> result = airpace.simulate({
...     "duration": "1 s",
...     "node": [{"kind": "ap"}, {"kind": "station", "count": 2, "rate": "mcs 9"}],
...     "flow": [{"kind": "udp-cbr", "rate": "20 Mbit/s"}],
... }, seed=7)
>>> [round(rate) for rate in result.stations["goodput_mbps"]]
[20, 20]

`simulate` runs a scenario, `sweep` runs it over a grid of settings on as many machines as there are, `allocate` and the
modules `model` and `phy` compute on NumPy arrays without simulating, and `plot` draws. The modules `demo_report`, `frontier_report` and
`reproduce_report` draw what the program `airpace` stores.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airpace import model, phy, plot
    from airpace._allocate import Allocated, allocate
    from airpace._native import Allocation, Packet, QueueSite, ScenarioError, SlotReport, Store
    from airpace._run import Result, Table, simulate
    from airpace._sweep import Sweep, read_sweep, sweep

__all__ = [
    "Allocated", "Allocation", "Packet", "QueueSite", "Result", "ScenarioError", "SlotReport", "Store", "Sweep", "Table",
    "allocate", "model", "phy", "plot", "read_sweep", "simulate", "sweep",
]  # fmt: skip

_HOMES = {
    "Allocated": "_allocate", "allocate": "_allocate",
    "Result": "_run", "Table": "_run", "simulate": "_run",
    "Sweep": "_sweep", "read_sweep": "_sweep", "sweep": "_sweep",
}  # fmt: skip
"""Where each name stands, unless in the native module. Names are loaded when they are used, so that the reports work
without the native module."""


# Type checkers do not see it: they would take every name for one that is there.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'airpace' has no attribute {name!r}")
        if name in ("model", "phy", "plot"):
            return importlib.import_module(f"airpace.{name}")
        return getattr(importlib.import_module(f"airpace.{_HOMES.get(name, '_native')}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
