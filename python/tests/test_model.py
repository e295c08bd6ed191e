"""Model, allocation and PHY on arrays; and the examples of all docstrings."""

import doctest
import importlib

import numpy as np
import pytest

import airpace
from airpace import model, phy


@pytest.mark.parametrize("name", ["airpace", "airpace._allocate", "airpace.model", "airpace.phy"])
def test_the_examples_of_the_docstrings_are_right(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_allocations_are_those_of_the_program_example():
    # examples/allocate.rs
    link = model.link([9, 9, 4, 1], nss=[2, 1, 1, 1])
    rates = airpace.allocate(link.seconds_per_packet, link.overhead_s, 32.0, delay_s=[np.nan, 3e-3])
    assert rates.rate_pps.shape == (2, 4)
    mbps = rates.rate_pps * 8e-6 * 1500
    np.testing.assert_allclose(mbps, [[82.1, 82.1, 42.6, 14.2], [128.0, 70.5, 31.7, 10.6]], atol=0.05)
    np.testing.assert_allclose(rates.round_s, [4.68e-3, 3e-3], atol=5e-6)
    with pytest.raises(ValueError, match=r"a delay target of 0.5 ms cannot be held"):
        airpace.allocate(link.seconds_per_packet, link.overhead_s, 32.0, delay_s=0.5e-3)
    with pytest.raises(ValueError, match="station 2: level limit is 0"):
        airpace.allocate(link.seconds_per_packet, link.overhead_s, [32.0, 0.0, 1.0, 1.0])


def test_the_model_is_that_of_the_program_example():
    # examples/model.rs
    link = model.link(9, nss=2)
    offered = np.array([200.0, 400.0, 500.0, 600.0, 700.0])
    rates = np.repeat(offered[:, None] * 1e6 / (8 * 1500) / 5, 5, axis=1)
    cell = model.operating(rates, *link)
    assert cell.stable.tolist() == [True, True, True, True, False]
    np.testing.assert_allclose(cell.level[:, 0], [4.6, 14.4, 25.1, 49.1, 64.0], atol=0.05)
    variation = model.round_variation(cell.round_s, 5)
    delay = model.mean_delay_s(cell.round_s, variation, phy.frame_s(9, 1, nss=2) + 0 * cell.round_s)
    assert delay.shape == (5,)
    assert (np.diff(delay) > 0).all()
    published = model.operating(rates, *link, published=True)
    assert published.level.shape == (5, 5)
    assert np.isnan(model.operating(np.zeros(2), *link).round_s)


def test_arguments_broadcast():
    assert phy.data_rate_mbps(np.arange(10)[:, None], nss=[1, 2]).shape == (10, 2)
    assert phy.frame_s(5, [1, 2, 4]).shape == (3,)
    assert phy.exchange_s(5, 2) > phy.frame_s(5, 2)
    assert phy.most_mpdus(9, nss=2).tolist() == 64
    errors = phy.mpdu_error(9, np.linspace(10, 40, 7))
    assert (np.diff(errors) <= 0).all()
    assert errors[0] > 0.9 > 1e-3 > errors[-1]
    assert model.jain([[1.0, 1.0], [1.0, 0.0]]).tolist() == [1.0, 0.5]
    scores = model.mean_opinion_score([20.0, 400.0], [[0.0], [0.1]])
    assert scores.shape == (2, 2)
    assert scores[0, 0] == scores.max() > 4.3


def test_what_the_standard_does_not_have_is_refused():
    with pytest.raises(ValueError, match="no MCS -1"):
        phy.data_rate_mbps(-1)
    with pytest.raises(ValueError, match="`be` is not a standard"):
        phy.data_rate_mbps(1, standard="be")
    with pytest.raises(ValueError, match="5 MHz"):
        phy.data_rate_mbps(1, width_mhz=5)
    with pytest.raises(ValueError, match="0 MPDUs"):
        phy.frame_s(1, 0)
    with pytest.raises(TypeError):
        phy.frame_s(1.5)
    with pytest.raises(TypeError, match=r"width_mhz is 80\.0"):
        phy.frame_s(1, width_mhz=80.0)
    with pytest.raises(ValueError, match="18446744073709551615 is out of range"):
        phy.data_rate_mbps(np.array([2**64 - 1], dtype=np.uint64))
    with pytest.raises(ValueError, match=r"a frame of 65 packets of 1500 bytes.* at most 64"):
        phy.frame_s(9, 65)
    assert phy.frame_s(np.int8(9), 64, width_mhz=np.int64(80)) < 5.5e-3


def test_empty_arrays_give_empty_arrays():
    empty = np.empty((3, 0))
    assert phy.data_rate_mbps([]).shape == (0,)
    assert phy.frame_s(9, []).shape == phy.exchange_s([]).shape == phy.mpdu_error(9, []).shape == (0,)
    assert phy.most_mpdus(empty).shape == (3, 0)
    assert model.link([]).overhead_s.shape == (0,)
    assert model.round_variation([], 5).shape == model.round_variation(1e-3, []).shape == (0,)
    assert model.mean_delay_s([], 0.0, 0.0).shape == model.mean_opinion_score([]).shape == (0,)
    assert model.jain([]).tolist() == 1.0
    assert model.jain(empty).tolist() == [1.0, 1.0, 1.0]
    link = model.link([9, 4])
    assert model.operating(np.empty((0, 2)), *link).level.shape == (0, 2)
    assert airpace.allocate(*link, delay_s=[]).rate_pps.shape == (0, 2)
    for nobody in (lambda: model.operating([], [], [], []), lambda: airpace.allocate([], [], [])):
        with pytest.raises(ValueError, match="no stations"):
            nobody()


def test_nan_gives_nan_and_what_cannot_be_is_refused():
    nan = np.nan
    assert np.isnan(phy.mpdu_error(9, [30.0, nan])).tolist() == [False, True]
    assert np.isnan(model.jain([[1.0, nan], [1.0, 1.0]])).tolist() == [True, False]
    assert np.isnan(model.mean_opinion_score([20.0, nan], 0.0)).tolist() == [False, True]
    assert np.isnan(model.mean_opinion_score(20.0, nan))
    assert np.isnan(model.mean_opinion_score(20.0, burst_ratio=nan))
    assert np.isnan(model.mean_delay_s(nan, 0.1, 1e-4))
    assert np.isnan(model.round_variation(nan, 5))
    for refused, said in [
        (lambda: model.jain([-1.0, 1.0]), "a share is -1"),
        (lambda: model.jain([np.inf, 1.0]), "a share is inf"),
        (lambda: model.mean_opinion_score(-1.0), "the delay in ms is -1"),
        (lambda: model.mean_opinion_score(20.0, 2.0), "the loss is 2"),
        (lambda: model.mean_opinion_score(20.0, 0.1, burst_ratio=0.5), "the burst ratio is 0.5"),
        (lambda: model.mean_delay_s(-1.0, 0.1, 1e-4), "the time of a round in s is -1"),
        (lambda: model.mean_delay_s(1.0, -0.1, 1e-4), "the variation of a round is -0.1"),
        (lambda: model.round_variation(0.0, 5), "the time of a round in s is 0"),
        (lambda: model.round_variation(1e-3, -5), "a round of -5 frames"),
        (lambda: model.round_variation(1e-3, 5, cw_min=-1), "cw_min is -1"),
        (lambda: model.operating([nan, 1.0], *model.link([9, 4])), "a rate of NaN"),
    ]:
        with pytest.raises(ValueError, match=said):
            refused()


def test_each_row_may_have_stations_of_its_own():
    rows = [[9, 4], [7, 2], [5, 1]]
    cells = model.operating([9000.0, 2000.0], *model.link(rows))
    assert cells.level.shape == (3, 2)
    for row, mcs in enumerate(rows):
        alone = model.operating([9000.0, 2000.0], *model.link(mcs))
        np.testing.assert_array_equal(cells.level[row], alone.level)
        assert cells.round_s[row] == alone.round_s
