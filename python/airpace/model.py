"""Level, goodput, delay and fairness of cells by the model, without simulating, on NumPy arrays.

>>> from airpace import model
>>> link = model.link(9, nss=2)
>>> cell = model.operating([4000.0, 4000.0], *link)
>>> bool(cell.stable), cell.level.round(1).tolist()
(True, [1.9, 1.9])
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airpace import _native
from airpace._allocate import flat
from airpace.phy import _broadcast, _radio

__all__ = ["Link", "Operating", "jain", "link", "mean_delay_s", "mean_opinion_score", "operating", "round_variation"]


CW_MOST = 32_767
"""Largest contention window of 802.11, slots."""


class Link(NamedTuple):
    """What the model needs of a station; all arrays have one shape."""

    seconds_per_packet: NDArray[np.float64]
    """Airtime of a packet, seconds."""
    overhead_s: NDArray[np.float64]
    """Overhead of a frame, seconds: access, preamble, SIFS, response."""
    level_max: NDArray[np.float64]
    """Most packets in a frame."""


def link(
    mcs: ArrayLike,
    ip_bytes: ArrayLike = 1500,
    *,
    nss: ArrayLike = 1,
    standard: str = "vht",
    width_mhz: int = 80,
    guard_ns: int = 800,
    category: str = "best-effort",
) -> Link:
    """The links at these PHY rates, for packets of `ip_bytes`; arguments as in `airpace.phy`."""
    shape, (mcs, ip_bytes, nss) = _broadcast(mcs, ip_bytes, nss)
    parts = _native.link(_radio(standard, width_mhz, guard_ns, category), nss, mcs, ip_bytes)
    return Link(*(part.reshape(shape) for part in parts))


class Operating(NamedTuple):
    """Where a cell settles."""

    level: NDArray[np.float64]
    """Packets per frame, shape (..., stations)."""
    round_s: NDArray[np.float64]
    """Time of a round, seconds, shape (...); NaN on an idle medium."""
    stable: NDArray[np.bool_]
    """Whether no queue grows without bound, shape (...)."""


def operating(
    rates_pps: ArrayLike,
    seconds_per_packet: ArrayLike,
    overhead_s: ArrayLike,
    level_max: ArrayLike,
    *,
    published: bool = False,
) -> Operating:
    """Levels and round time at send rates in packets/s, shape (..., stations).

    The arguments broadcast against each other; the last axis is the station. `published` chooses the papers' model, in
    which every station is sent a frame in each round even if it has few packets.
    """
    given = np.atleast_1d(rates_pps, seconds_per_packet, overhead_s, level_max)
    rates, *links = np.broadcast_arrays(*given)
    *batch, count = rates.shape
    if all(part.ndim == 1 for part in given[1:]):
        # One set of stations serves all rows.
        links = [np.broadcast_to(part, (count,)) for part in given[1:]]
    level, round_s, stable = _native.operating(published, count, flat(rates), *(flat(part) for part in links))
    return Operating(level.reshape(rates.shape), round_s.reshape(batch), stable.reshape(batch))


def round_variation(
    round_s: ArrayLike, frames: ArrayLike, *, cw_min: int = 15, slot_s: float = 9e-6
) -> NDArray[np.float64]:
    """Coefficient of variation of a round of `frames` frames in which only the back-off varies.

    `cw_min` is the contention window in slots of `slot_s` seconds. The variation of a round of NaN is NaN.
    """
    if not 0 <= cw_min <= CW_MOST:
        raise ValueError(f"cw_min is {cw_min}: it must be from 0 to {CW_MOST}")
    rounds, frames = np.broadcast_arrays(round_s, frames)
    return _native.round_variation(flat(rounds), flat(frames, np.int64), cw_min, slot_s).reshape(rounds.shape)


def mean_delay_s(round_s: ArrayLike, variation: ArrayLike, frame_s: ArrayLike) -> NDArray[np.float64]:
    """Mean one-way delay over the Wi-Fi hop, seconds: half a round, longer by its variation, and the packet's frame.

    The arguments are seconds, a coefficient of variation, and seconds, none below zero; they broadcast, and NaN gives NaN.
    """
    parts = np.broadcast_arrays(round_s, variation, frame_s)
    return _native.mean_delay_s(*(flat(part) for part in parts)).reshape(parts[0].shape)


def jain(shares: ArrayLike) -> NDArray[np.float64]:
    """Jain's index of fairness over the last axis, 1/n to 1; shape (..., n) becomes (...).

    Shares are finite and not negative; a row with NaN gives NaN, and one without shares 1.
    """
    shares = np.atleast_1d(np.asarray(shares, dtype=np.float64))
    if shares.shape[-1] == 0:
        return np.ones(shares.shape[:-1])
    return _native.jain(flat(shares), shares.shape[-1]).reshape(shares.shape[:-1])


def mean_opinion_score(
    delay_ms: ArrayLike, loss: ArrayLike = 0.0, *, burst_ratio: ArrayLike = 1.0
) -> NDArray[np.float64]:
    """Mean opinion score of a G.711 call (ITU-T G.107), 1 to 4.5.

    `delay_ms` is the one-way delay from mouth to ear, at least 0, `loss` the share of packets that are lost (0 to 1), in
    bursts `burst_ratio` times as long as those of independent losses, at least 1. They broadcast, and NaN gives NaN.
    """
    parts = np.broadcast_arrays(delay_ms, loss, burst_ratio)
    return _native.mean_opinion_score(*(flat(part) for part in parts)).reshape(parts[0].shape)
