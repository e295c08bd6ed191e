"""The proportional fair allocation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airpace import _native


class Allocated(NamedTuple):
    """What stations are given; the last axis of the arrays of stations is the station."""

    level: NDArray[np.float64]
    """Packets per frame, shape (..., stations)."""
    rate_pps: NDArray[np.float64]
    """Packets per second, shape (..., stations)."""
    round_s: NDArray[np.float64]
    """Time of a round, seconds, shape (...)."""
    utility: NDArray[np.float64]
    """Sum of weight times logarithm of the rate, shape (...)."""


def allocate(
    seconds_per_packet: ArrayLike,
    overhead_s: ArrayLike,
    level_limit: ArrayLike,
    *,
    weight: ArrayLike = 1.0,
    delay_s: ArrayLike | None = None,
    price: ArrayLike = 0.0,
) -> Allocated:
    """The proportional fair rates of stations that share the air, in closed form.

    Parameters
    ----------
    seconds_per_packet, overhead_s, level_limit, weight
        Airtime of a packet in seconds, overhead of a frame in seconds, most packets in a frame, and weight of the
        station's share. They broadcast against each other; the last axis is the station, shape (..., stations).
        `airpace.model.link` computes the first three from PHY rates.
    delay_s, price
        Longest round in seconds (`None` or NaN: no limit), and price of delay from 0 to 1000; shape (...).

    Raises
    ------
    ValueError
        A value is out of range, or a delay cannot be held.

    >>> import airpace
    >>> shares = airpace.allocate([3e-5, 6e-5], 2e-4, 32.0)
    >>> (shares.rate_pps * [3e-5, 6e-5]).round(2).tolist()
    [0.35, 0.5]
    """
    stations = np.broadcast_arrays(*np.atleast_1d(seconds_per_packet, overhead_s, level_limit, weight))
    *batch, count = stations[0].shape
    terms = [np.nan if delay_s is None else delay_s, price]
    shape = np.broadcast_shapes(tuple(batch), *(np.shape(term) for term in terms))
    packet, overhead, limit, weights = (flat(np.broadcast_to(values, (*shape, count))) for values in stations)
    delays, prices = (flat(np.broadcast_to(np.asarray(term, dtype=np.float64), shape)) for term in terms)
    level, rate, round_s, utility = _native.allocate((packet, overhead, limit, weights), count, delays, prices)
    return Allocated(
        level.reshape(*shape, count), rate.reshape(*shape, count), round_s.reshape(shape), utility.reshape(shape)
    )


def flat(values: ArrayLike, kind: type = np.float64) -> NDArray[Any]:
    """The values one after the other, as the native module takes them; refused if they are not of this kind."""
    array = np.asarray(values)
    if array.size == 0:
        # NumPy takes an empty list for one of floats.
        return np.empty(0, dtype=kind)
    if array.dtype.kind == "u":
        if kind is np.int64 and array.max() > np.iinfo(np.int64).max:
            raise ValueError(f"{array.max()} is out of range")
        return np.ascontiguousarray(array.astype(kind)).ravel()
    return np.ascontiguousarray(array.astype(kind, casting="same_kind")).ravel()
