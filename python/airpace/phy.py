"""What frames take on the air and what noise does to them, for 802.11n, ac and ax, on NumPy arrays.

`nss` (streams), `mcs`, `mpdus` (packets of a frame) and `ip_bytes` (bytes of a packet, IP header included, at most 2296)
broadcast against each other, and results have their shape. `standard` (`ht`, `vht` or `he`), `width_mhz` and `guard_ns`
are the same for all. Combinations that the standard does not have raise `ValueError`.

>>> from airpace import phy
>>> phy.data_rate_mbps([0, 4, 9], nss=2).tolist()
[58.5, 351.0, 780.0]
"""

from __future__ import annotations

import operator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airpace import _native
from airpace._allocate import flat

__all__ = ["data_rate_mbps", "exchange_s", "frame_s", "most_mpdus", "mpdu_error"]


def _radio(standard: str, width_mhz: int, guard_ns: int, category: str = "best-effort") -> tuple[str, int, int, str]:
    """What is the same for a whole array, as the native module takes it."""
    try:
        return standard, operator.index(width_mhz), operator.index(guard_ns), category
    except TypeError:
        text = f"width_mhz is {width_mhz!r} and guard_ns {guard_ns!r}: give one whole number for each"
        raise TypeError(text) from None


def _broadcast(*values: ArrayLike) -> tuple[tuple[int, ...], list[NDArray[np.int64]]]:
    """The common shape, and the whole numbers of each argument in it."""
    arrays = np.broadcast_arrays(*values)
    return arrays[0].shape, [flat(array, np.int64) for array in arrays]


def data_rate_mbps(
    mcs: ArrayLike, *, nss: ArrayLike = 1, standard: str = "vht", width_mhz: int = 80, guard_ns: int = 800
) -> NDArray[np.float64]:
    """Data rate in Mbit/s."""
    shape, (mcs, nss) = _broadcast(mcs, nss)
    return _native.data_rate_mbps(_radio(standard, width_mhz, guard_ns), nss, mcs).reshape(shape)


def frame_s(
    mcs: ArrayLike,
    mpdus: ArrayLike = 1,
    ip_bytes: ArrayLike = 1500,
    *,
    nss: ArrayLike = 1,
    standard: str = "vht",
    width_mhz: int = 80,
    guard_ns: int = 800,
) -> NDArray[np.float64]:
    """Seconds that a frame takes on the air, preamble included. It has at most `most_mpdus` packets."""
    shape, (mcs, mpdus, ip_bytes, nss) = _broadcast(mcs, mpdus, ip_bytes, nss)
    radio = _radio(standard, width_mhz, guard_ns)
    return _native.frame_s(radio, nss, mcs, mpdus, ip_bytes).reshape(shape)


def exchange_s(
    mcs: ArrayLike,
    mpdus: ArrayLike = 1,
    ip_bytes: ArrayLike = 1500,
    *,
    nss: ArrayLike = 1,
    standard: str = "vht",
    width_mhz: int = 80,
    guard_ns: int = 800,
    category: str = "best-effort",
) -> NDArray[np.float64]:
    """Mean seconds from one frame to the next of a sender that is alone: access, frame, SIFS and response.

    `category` is `background`, `best-effort`, `video` or `voice`.
    """
    shape, (mcs, mpdus, ip_bytes, nss) = _broadcast(mcs, mpdus, ip_bytes, nss)
    radio = _radio(standard, width_mhz, guard_ns, category)
    return _native.exchange_s(radio, nss, mcs, mpdus, ip_bytes).reshape(shape)


def most_mpdus(
    mcs: ArrayLike,
    ip_bytes: ArrayLike = 1500,
    *,
    nss: ArrayLike = 1,
    standard: str = "vht",
    width_mhz: int = 80,
    guard_ns: int = 800,
) -> NDArray[np.int64]:
    """Most packets in a frame, by the standard's limits of window, bytes and time; 0 if not even one fits."""
    shape, (mcs, ip_bytes, nss) = _broadcast(mcs, ip_bytes, nss)
    radio = _radio(standard, width_mhz, guard_ns)
    return _native.most_mpdus(radio, nss, mcs, ip_bytes).reshape(shape)


def mpdu_error(
    mcs: ArrayLike,
    snr_db: ArrayLike,
    ip_bytes: ArrayLike = 1500,
    *,
    nss: ArrayLike = 1,
    standard: str = "vht",
    width_mhz: int = 80,
    guard_ns: int = 800,
    ldpc: bool = False,
) -> NDArray[np.float64]:
    """Probability (0 to 1) that a packet is lost when the signal is `snr_db` above the noise of the channel; NaN gives NaN.

    `ldpc` chooses low-density parity check codes instead of the convolutional one.
    """
    snr, *whole = np.broadcast_arrays(snr_db, mcs, ip_bytes, nss)
    mcs, ip_bytes, nss = (flat(array, np.int64) for array in whole)
    radio = _radio(standard, width_mhz, guard_ns)
    return _native.mpdu_error(radio, nss, mcs, flat(snr), ip_bytes, ldpc).reshape(snr.shape)
