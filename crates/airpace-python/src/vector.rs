//! Model, allocation and PHY over NumPy arrays. The package `airpace` broadcasts arguments and shapes
//! results; here all arrays are flat.

use airpace_core::alloc::{Problem, Station, waterfill};
use airpace_core::model::voice::Call;
use airpace_core::model::{self, Downlink, Link};
use airpace_core::phy::error::{Coding, ErrorModel};
use airpace_core::phy::{
    AccessCategory, AmpduLimits, Breakdown, GuardInterval, Standard, Timing, TxRate, Width,
    max_mpdus, mpdu_bytes, psdu_bytes,
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::time::Duration;

/// An argument: a flat array.
type In<'py, T> = PyReadonlyArray1<'py, T>;
/// A result: a flat array.
type Out<'py, T = f64> = Bound<'py, PyArray1<T>>;

fn refuse<T>(text: impl Into<String>) -> PyResult<T> {
    Err(PyValueError::new_err(text.into()))
}

fn refused(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The parts of a PHY rate that are the same for a whole array.
#[derive(FromPyObject)]
pub(crate) struct Radio(String, u32, u32, String);

/// The same, understood.
struct Phy {
    standard: Standard,
    width: Width,
    guard: GuardInterval,
    category: AccessCategory,
}

impl Radio {
    fn read(&self) -> PyResult<Phy> {
        let Self(standard, width_mhz, guard_ns, category) = self;
        let standard = match standard.as_str() {
            "ht" => Standard::Ht,
            "vht" => Standard::Vht,
            "he" => Standard::He,
            other => return refuse(format!("`{other}` is not a standard: use ht, vht or he")),
        };
        let Some(width) = Width::from_mhz(*width_mhz) else {
            return refuse(format!(
                "there is no width of {width_mhz} MHz: use 20, 40, 80 or 160"
            ));
        };
        let Some(guard) = GuardInterval::from_nanos(*guard_ns) else {
            let text =
                format!("there is no guard interval of {guard_ns} ns: use 400, 800, 1600 or 3200");
            return refuse(text);
        };
        let category = match category.as_str() {
            "background" => AccessCategory::Background,
            "best-effort" => AccessCategory::BestEffort,
            "video" => AccessCategory::Video,
            "voice" => AccessCategory::Voice,
            other => {
                let text = format!(
                    "`{other}` is not an access category: use background, best-effort, video or voice"
                );
                return refuse(text);
            }
        };
        Ok(Phy {
            standard,
            width,
            guard,
            category,
        })
    }
}

impl Phy {
    fn rate(&self, nss: i64, mcs: i64) -> PyResult<TxRate> {
        let (Ok(nss), Ok(mcs)) = (u8::try_from(nss), u8::try_from(mcs)) else {
            return refuse(format!("there is no MCS {mcs} with {nss} streams"));
        };
        TxRate::new(self.standard, self.width, nss, mcs, self.guard).map_err(refused)
    }
}

/// A value that is NaN, which gives a result of NaN, or within these bounds.
fn within(what: &str, value: f64, least: f64, most: f64) -> PyResult<f64> {
    if value.is_nan() || (least..=most).contains(&value) {
        return Ok(value);
    }
    refuse(format!(
        "{what} is {value}: it must be from {least} to {most}"
    ))
}

/// Bytes of an IP packet.
fn packet_bytes(value: i64) -> PyResult<u32> {
    match u32::try_from(value) {
        Ok(bytes @ 20..=2_296) => Ok(bytes),
        _ => refuse(format!(
            "an IP packet of {value} bytes: it must have 20 to 2296"
        )),
    }
}

/// Number of MPDUs in a frame.
fn frame_mpdus(value: i64) -> PyResult<u32> {
    match u32::try_from(value) {
        Ok(mpdus @ 1..=1024) => Ok(mpdus),
        _ => refuse(format!("a frame of {value} MPDUs: it must have 1 to 1024")),
    }
}

/// Data rate of each MCS, Mbit/s.
#[pyfunction]
pub(crate) fn data_rate_mbps<'py>(
    py: Python<'py>,
    radio: Radio,
    nss: In<'py, i64>,
    mcs: In<'py, i64>,
) -> PyResult<Out<'py>> {
    let phy = radio.read()?;
    let mut rates = Vec::new();
    for (&nss, &mcs) in nss.as_slice()?.iter().zip(mcs.as_slice()?) {
        rates.push(phy.rate(nss, mcs)?.rate().as_bps_f64() / 1e6);
    }
    Ok(PyArray1::from_vec(py, rates))
}

/// Seconds that frames of `mpdus` IP packets of `ip_bytes` take on the air, preamble included.
#[pyfunction]
pub(crate) fn frame_s<'py>(
    py: Python<'py>,
    radio: Radio,
    nss: In<'py, i64>,
    mcs: In<'py, i64>,
    mpdus: In<'py, i64>,
    ip_bytes: In<'py, i64>,
) -> PyResult<Out<'py>> {
    let phy = radio.read()?;
    let limits = AmpduLimits::of(phy.standard);
    spans(py, &phy, [&nss, &mcs, &mpdus, &ip_bytes], |frame| {
        let mpdu = mpdu_bytes(frame.ip_bytes);
        let most = max_mpdus(frame.rate, mpdu, limits, Timing::Standard);
        if frame.mpdus > most {
            return refuse(format!(
                "a frame of {} packets of {} bytes: at {} it has at most {most}",
                frame.mpdus, frame.ip_bytes, frame.rate
            ));
        }
        let psdu = psdu_bytes(phy.standard, frame.mpdus, mpdu);
        Ok(frame.rate.ppdu_duration(psdu, Timing::Standard))
    })
}

/// Seconds that exchanges take: access, frame, SIFS and response, for a sender alone on the air.
#[pyfunction]
pub(crate) fn exchange_s<'py>(
    py: Python<'py>,
    radio: Radio,
    nss: In<'py, i64>,
    mcs: In<'py, i64>,
    mpdus: In<'py, i64>,
    ip_bytes: In<'py, i64>,
) -> PyResult<Out<'py>> {
    let phy = radio.read()?;
    spans(py, &phy, [&nss, &mcs, &mpdus, &ip_bytes], |frame| {
        // IPv4 and UDP headers are 28 bytes.
        let payload = frame.ip_bytes.saturating_sub(28);
        let (rate, mpdus) = (frame.rate, frame.mpdus);
        let exchange = Breakdown::new(rate, mpdus, payload, phy.category, Timing::Standard);
        Ok(exchange.map_err(refused)?.cycle)
    })
}

/// A frame of equal packets.
struct Frame {
    rate: TxRate,
    mpdus: u32,
    ip_bytes: u32,
}

/// Seconds for each frame of these streams, MCS, MPDUs and bytes per packet.
fn spans<'py>(
    py: Python<'py>,
    phy: &Phy,
    [nss, mcs, mpdus, ip_bytes]: [&In<'py, i64>; 4],
    span: impl Fn(&Frame) -> PyResult<Duration>,
) -> PyResult<Out<'py>> {
    let (nss, mcs, mpdus) = (nss.as_slice()?, mcs.as_slice()?, mpdus.as_slice()?);
    let mut spans = Vec::new();
    for (idx, &ip_bytes) in ip_bytes.as_slice()?.iter().enumerate() {
        let frame = Frame {
            rate: phy.rate(nss[idx], mcs[idx])?,
            mpdus: frame_mpdus(mpdus[idx])?,
            ip_bytes: packet_bytes(ip_bytes)?,
        };
        spans.push(span(&frame)?.as_secs_f64());
    }
    Ok(PyArray1::from_vec(py, spans))
}

/// Most IP packets of `ip_bytes` that a frame can have.
#[pyfunction]
pub(crate) fn most_mpdus<'py>(
    py: Python<'py>,
    radio: Radio,
    nss: In<'py, i64>,
    mcs: In<'py, i64>,
    ip_bytes: In<'py, i64>,
) -> PyResult<Out<'py, i64>> {
    let phy = radio.read()?;
    let (nss, mcs) = (nss.as_slice()?, mcs.as_slice()?);
    let limits = AmpduLimits::of(phy.standard);
    let mut counts = Vec::new();
    for (idx, &ip_bytes) in ip_bytes.as_slice()?.iter().enumerate() {
        let rate = phy.rate(nss[idx], mcs[idx])?;
        let mpdu = mpdu_bytes(packet_bytes(ip_bytes)?);
        counts.push(i64::from(max_mpdus(rate, mpdu, limits, Timing::Standard)));
    }
    Ok(PyArray1::from_vec(py, counts))
}

/// Probability that an IP packet of `ip_bytes` is lost at `snr_db`.
#[pyfunction]
pub(crate) fn mpdu_error<'py>(
    py: Python<'py>,
    radio: Radio,
    nss: In<'py, i64>,
    mcs: In<'py, i64>,
    snr_db: In<'py, f64>,
    ip_bytes: In<'py, i64>,
    ldpc: bool,
) -> PyResult<Out<'py>> {
    let phy = radio.read()?;
    let model = ErrorModel::new(if ldpc {
        Coding::Ldpc
    } else {
        Coding::Convolutional
    });
    let (nss, mcs, snr_db) = (nss.as_slice()?, mcs.as_slice()?, snr_db.as_slice()?);
    let mut losses = Vec::new();
    for (idx, &ip_bytes) in ip_bytes.as_slice()?.iter().enumerate() {
        let rate = phy.rate(nss[idx], mcs[idx])?;
        let mpdu = mpdu_bytes(packet_bytes(ip_bytes)?);
        losses.push(match snr_db[idx] {
            snr_db if snr_db.is_nan() => f64::NAN,
            snr_db => model.mpdu_error(rate, snr_db, mpdu),
        });
    }
    Ok(PyArray1::from_vec(py, losses))
}

/// Seconds per packet, overhead of a frame in seconds, and most packets in a frame.
#[pyfunction]
pub(crate) fn link<'py>(
    py: Python<'py>,
    radio: Radio,
    nss: In<'py, i64>,
    mcs: In<'py, i64>,
    ip_bytes: In<'py, i64>,
) -> PyResult<(Out<'py>, Out<'py>, Out<'py>)> {
    let phy = radio.read()?;
    let (nss, mcs) = (nss.as_slice()?, mcs.as_slice()?);
    let (mut packet, mut overhead, mut level) = (Vec::new(), Vec::new(), Vec::new());
    for (idx, &ip_bytes) in ip_bytes.as_slice()?.iter().enumerate() {
        let rate = phy.rate(nss[idx], mcs[idx])?;
        let link = Link::of_phy(
            rate,
            packet_bytes(ip_bytes)?,
            phy.category,
            Timing::Standard,
        );
        packet.push(link.seconds_per_packet);
        overhead.push(link.overhead_s);
        level.push(link.level_max);
    }
    let vec = |values| PyArray1::from_vec(py, values);
    Ok((vec(packet), vec(overhead), vec(level)))
}

/// Levels, round time in seconds (NaN on an idle medium) and stability of each row of `rates_pps`,
/// which has `count` columns, one per station. The stations are the same for all rows, or each row
/// has its own.
#[pyfunction]
pub(crate) fn operating<'py>(
    py: Python<'py>,
    published: bool,
    count: usize,
    rates_pps: In<'py, f64>,
    seconds_per_packet: In<'py, f64>,
    overhead_s: In<'py, f64>,
    level_max: In<'py, f64>,
) -> PyResult<(Out<'py>, Out<'py>, Out<'py, bool>)> {
    let rates_pps = rates_pps.as_slice()?;
    if let Some(rate) = rates_pps.iter().find(|rate| !(0.0..=1e12).contains(*rate)) {
        return refuse(format!(
            "a rate of {rate} packets/s: it must be from 0 to 1e12"
        ));
    }
    let (packet, overhead) = (seconds_per_packet.as_slice()?, overhead_s.as_slice()?);
    let level_max = level_max.as_slice()?;
    let cell = |row: usize| {
        let of_row = row * count..(row + 1) * count;
        let links = of_row.map(|idx| Link::new(packet[idx], overhead[idx], level_max[idx]));
        Downlink::new(links.collect()).map_err(refused)
    };
    let is_shared = packet.len() == count;
    // The stations are checked even if there is no row.
    let mut downlink = if is_shared { Some(cell(0)?) } else { None };
    let (mut levels, mut rounds, mut stable) = (Vec::new(), Vec::new(), Vec::new());
    for (row, rates) in rates_pps.chunks_exact(count.max(1)).enumerate() {
        let downlink = match &mut downlink {
            Some(shared) if is_shared => shared,
            own => own.insert(cell(row)?),
        };
        let operating = if published {
            downlink.published(rates)
        } else {
            downlink.refined(rates)
        };
        levels.extend(operating.level);
        rounds.push(operating.round_s.unwrap_or(f64::NAN));
        stable.push(downlink.is_stable(rates));
    }
    let vec = |values| PyArray1::from_vec(py, values);
    Ok((vec(levels), vec(rounds), PyArray1::from_vec(py, stable)))
}

/// Longest time of a round or a frame that anybody may ask for, seconds.
const LONGEST_S: f64 = 1e6;

/// Mean one-way delay over the Wi-Fi hop, seconds.
#[pyfunction]
pub(crate) fn mean_delay_s<'py>(
    py: Python<'py>,
    round_s: In<'py, f64>,
    variation: In<'py, f64>,
    frame_s: In<'py, f64>,
) -> PyResult<Out<'py>> {
    let (variation, frame_s) = (variation.as_slice()?, frame_s.as_slice()?);
    let mut delays = Vec::new();
    for (idx, &round) in round_s.as_slice()?.iter().enumerate() {
        let round = within("the time of a round in s", round, 0.0, LONGEST_S)?;
        let variation = within("the variation of a round", variation[idx], 0.0, 1e6)?;
        let frame = within("the time of a frame in s", frame_s[idx], 0.0, LONGEST_S)?;
        delays.push(model::mean_delay_s(round, variation, frame));
    }
    Ok(PyArray1::from_vec(py, delays))
}

/// Coefficient of variation of rounds in which only the back-off varies.
#[pyfunction]
pub(crate) fn round_variation<'py>(
    py: Python<'py>,
    round_s: In<'py, f64>,
    frames: In<'py, i64>,
    cw_min: u16,
    slot_s: f64,
) -> PyResult<Out<'py>> {
    let slot_s = within("slot_s", slot_s, 0.0, 1.0)?;
    let rounds = round_s.as_slice()?.iter().zip(frames.as_slice()?);
    let mut variations = Vec::new();
    for (&round, &frames) in rounds {
        let Ok(frames) = usize::try_from(frames) else {
            return refuse(format!("a round of {frames} frames"));
        };
        // A shorter round than a nanosecond has no frames.
        let round = within("the time of a round in s", round, 1e-9, LONGEST_S)?;
        variations.push(model::round_variation(round, frames, cw_min, slot_s));
    }
    Ok(PyArray1::from_vec(py, variations))
}

/// Jain's index of each row of `shares`, which has `columns` columns.
#[pyfunction]
pub(crate) fn jain<'py>(
    py: Python<'py>,
    shares: In<'py, f64>,
    columns: usize,
) -> PyResult<Out<'py>> {
    let mut indices = Vec::new();
    for row in shares.as_slice()?.chunks_exact(columns.max(1)) {
        let mut is_known = true;
        for &share in row {
            is_known &= !within("a share", share, 0.0, 1e100)?.is_nan();
        }
        indices.push(if is_known { model::jain(row) } else { f64::NAN });
    }
    Ok(PyArray1::from_vec(py, indices))
}

/// Mean opinion score of calls with this one-way delay, loss (0 to 1) and burst ratio.
#[pyfunction]
pub(crate) fn mean_opinion_score<'py>(
    py: Python<'py>,
    delay_ms: In<'py, f64>,
    loss: In<'py, f64>,
    burst_ratio: In<'py, f64>,
) -> PyResult<Out<'py>> {
    let (loss, burst_ratio) = (loss.as_slice()?, burst_ratio.as_slice()?);
    let mut scores = Vec::new();
    for (idx, &delay_ms) in delay_ms.as_slice()?.iter().enumerate() {
        let delay_ms = within("the delay in ms", delay_ms, 0.0, f64::INFINITY)?;
        let loss = within("the loss", loss[idx], 0.0, 1.0)?;
        let burst_ratio = within("the burst ratio", burst_ratio[idx], 1.0, f64::INFINITY)?;
        scores.push(
            if [delay_ms, loss, burst_ratio].iter().any(|it| it.is_nan()) {
                f64::NAN
            } else {
                let call = Call::default().with_delay_ms(delay_ms);
                call.with_loss(loss, burst_ratio).mean_opinion_score()
            },
        );
    }
    Ok(PyArray1::from_vec(py, scores))
}

/// The stations of allocation problems, flat: those of the first problem, of the second, ….
#[derive(FromPyObject)]
pub(crate) struct Stations<'py>(In<'py, f64>, In<'py, f64>, In<'py, f64>, In<'py, f64>);

/// Levels, rates in packets/s, round times in seconds and utilities of the proportional fair
/// allocation to `count` stations in each problem. A delay of NaN is no limit.
#[pyfunction]
pub(crate) fn allocate<'py>(
    py: Python<'py>,
    stations: Stations<'py>,
    count: usize,
    delay_s: In<'py, f64>,
    price: In<'py, f64>,
) -> PyResult<(Out<'py>, Out<'py>, Out<'py>, Out<'py>)> {
    let Stations(packet, overhead, limit, weight) = stations;
    let (packet, overhead) = (packet.as_slice()?, overhead.as_slice()?);
    let (limit, weight) = (limit.as_slice()?, weight.as_slice()?);
    let (delay_s, price) = (delay_s.as_slice()?, price.as_slice()?);
    let (mut levels, mut rates) = (Vec::new(), Vec::new());
    let (mut rounds, mut utilities) = (Vec::new(), Vec::new());
    for (problem, (&delay_s, &price)) in delay_s.iter().zip(price).enumerate() {
        let mut members = Vec::new();
        for idx in problem * count..(problem + 1) * count {
            let station = Station::new(packet[idx], overhead[idx], limit[idx]);
            members.push(station.with_weight(weight[idx]));
        }
        let delay_s = Some(delay_s).filter(|delay| !delay.is_nan());
        let posed = Problem::new(members, delay_s).and_then(|it| it.with_price(price));
        let solution = waterfill(&posed.map_err(refused)?).map_err(refused)?;
        levels.extend(solution.level);
        rates.extend(solution.rate_pps);
        rounds.push(solution.round_s);
        utilities.push(solution.utility);
    }
    let vec = |values| PyArray1::from_vec(py, values);
    Ok((vec(levels), vec(rates), vec(rounds), vec(utilities)))
}
