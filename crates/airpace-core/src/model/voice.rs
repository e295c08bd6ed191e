//! The quality of a telephone call over the network: the E-model of ITU-T G.107 (06/2015),
//! narrowband, with its opinion score.
//!
//! R = R₀ - I_s - I_d - I_e,eff + A (§7.1, eq. 7-1) on a scale from 0 to 100; the mean opinion
//! score follows from R (Annex B). Formula numbers are those of that edition. Fields that do not
//! depend on the network have the defaults of its table (§7.7), with which R is 93.2 and the score
//! 4.41.
//!
//! ```
//! use airpace_core::model::voice::{Call, mean_opinion_score};
//!
//! // 004 table 2: a base delay of 5 or 50 ms one way and no loss.
//! let score = |delay_ms| mean_opinion_score(Call::default().with_delay_ms(delay_ms).rating().r());
//! assert_eq!([score(5.0), score(50.0)].map(|mos| (mos * 100.0).round() / 100.0), [4.41, 4.38]);
//! ```

/// The inputs of the E-model for a connection (G.107 §7.7, table of defaults and permitted ranges).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Call {
    /// Send loudness rating (SLR), dB.
    pub send_loudness_db: f64,
    /// Receive loudness rating (RLR), dB.
    pub receive_loudness_db: f64,
    /// Sidetone masking rating (STMR), dB.
    pub sidetone_db: f64,
    /// Listener sidetone rating (LSTR), dB.
    pub listener_sidetone_db: f64,
    /// D-value of the telephone at the send side (Ds), dB.
    pub noise_rejection_db: f64,
    /// Talker echo loudness rating (TELR), dB.
    pub talker_echo_db: f64,
    /// Weighted echo path loss of the four-wire loop (WEPL), dB.
    pub echo_path_loss_db: f64,
    /// Mean one-way delay of the echo path (T), ms.
    pub echo_delay_ms: f64,
    /// Round-trip delay of the four-wire loop (Tr), ms.
    pub round_trip_ms: f64,
    /// Absolute delay from mouth to ear in echo-free connections (Ta), ms.
    pub delay_ms: f64,
    /// Delay sensitivity (sT), 0.4 to 1.
    pub delay_sensitivity: f64,
    /// Minimum perceivable delay (mT), ms.
    pub least_delay_ms: f64,
    /// Number of quantization distortion units (qdu), 1 to 14.
    pub quantizing_units: f64,
    /// Impairment and robustness of the codec.
    pub codec: Codec,
    /// Random packet-loss probability (Ppl), per cent.
    pub loss_percent: f64,
    /// Burst ratio (BurstR): the mean length of loss bursts over that of independent losses, 1 or
    /// more.
    pub burst_ratio: f64,
    /// Electric circuit noise (Nc), dBm0p.
    pub circuit_noise_dbm0p: f64,
    /// Noise floor at the receive side (Nfor), dBmp.
    pub noise_floor_dbmp: f64,
    /// Room noise at the send side (Ps), dB(A).
    pub send_room_noise_db: f64,
    /// Room noise at the receive side (Pr), dB(A).
    pub receive_room_noise_db: f64,
    /// Advantage factor (A), 0 to 20: how much users tolerate for the advantage of access.
    pub advantage: f64,
}

/// A codec's impairment without losses and its robustness against them (G.113 Appendix I).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Codec {
    /// Equipment impairment factor (Ie), 0 to 40.
    pub impairment: f64,
    /// Packet-loss robustness factor (Bpl), 1 to 40.
    pub robustness: f64,
}

impl Codec {
    /// G.711 that plays silence for lost packets.
    pub const G711: Self = Self {
        impairment: 0.0,
        robustness: 4.3,
    };
    /// G.711 with packet-loss concealment (its Appendix I).
    pub const G711_CONCEALED: Self = Self {
        impairment: 0.0,
        robustness: 25.1,
    };
    /// The smallest permitted robustness, which was the default before G.107 adopted that of G.711.
    /// flent, which measured 004, scores with it.
    pub const LEAST_ROBUST: Self = Self {
        impairment: 0.0,
        robustness: 1.0,
    };
}

impl Default for Call {
    fn default() -> Self {
        Self {
            send_loudness_db: 8.0,
            receive_loudness_db: 2.0,
            sidetone_db: 15.0,
            listener_sidetone_db: 18.0,
            noise_rejection_db: 3.0,
            talker_echo_db: 65.0,
            echo_path_loss_db: 110.0,
            echo_delay_ms: 0.0,
            round_trip_ms: 0.0,
            delay_ms: 0.0,
            delay_sensitivity: 1.0,
            least_delay_ms: 100.0,
            quantizing_units: 1.0,
            codec: Codec::G711,
            loss_percent: 0.0,
            burst_ratio: 1.0,
            circuit_noise_dbm0p: -70.0,
            noise_floor_dbmp: -64.0,
            send_room_noise_db: 35.0,
            receive_room_noise_db: 35.0,
            advantage: 0.0,
        }
    }
}

/// The terms of R.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rating {
    /// Basic signal-to-noise ratio (R₀).
    pub signal_to_noise: f64,
    /// Simultaneous impairment: loudness, sidetone, quantization (I_s).
    pub simultaneous: f64,
    /// Talker echo (I_dte).
    pub talker_echo: f64,
    /// Listener echo (I_dle).
    pub listener_echo: f64,
    /// Absolute delay (I_dd).
    pub delay: f64,
    /// Codec and packet loss, the effective equipment impairment (I_e,eff).
    pub equipment: f64,
    /// Advantage factor (A).
    pub advantage: f64,
}

impl Rating {
    /// The transmission rating factor (R, eq. 7-1): 93.2 at best, and negative for an unusable
    /// call.
    #[must_use]
    pub fn r(&self) -> f64 {
        let delay = self.talker_echo + self.listener_echo + self.delay;
        self.signal_to_noise - self.simultaneous - delay - self.equipment + self.advantage
    }
}

/// The mean opinion score of a conversation with rating `r` (Annex B, eq. B-4), from 1 to 4.5.
///
/// The cubic is slightly below 1 where R is below 6.5; there the score is 1, the end of the scale.
#[must_use]
pub fn mean_opinion_score(r: f64) -> f64 {
    let r = r.clamp(0.0, 100.0);
    (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0)
}

impl Call {
    /// The call with a one-way delay of `delay_ms`, which the echoes have too: T = Ta = Tr / 2. A
    /// negative delay or NaN counts as zero.
    #[must_use]
    pub fn with_delay_ms(self, delay_ms: f64) -> Self {
        // `max` returns the other operand if one is NaN.
        let delay_ms = delay_ms.max(0.0);
        Self {
            echo_delay_ms: delay_ms,
            round_trip_ms: 2.0 * delay_ms,
            delay_ms,
            ..self
        }
    }

    /// The call with a share `loss` (0 to 1) of its packets lost, in bursts `burst_ratio` times as
    /// long as those of independent losses.
    #[must_use]
    pub fn with_loss(self, loss: f64, burst_ratio: f64) -> Self {
        let loss = if loss.is_nan() {
            0.0
        } else {
            loss.clamp(0.0, 1.0)
        };
        Self {
            loss_percent: loss * 100.0,
            burst_ratio: burst_ratio.max(1.0),
            ..self
        }
    }

    /// The call with another codec.
    #[must_use]
    pub const fn with_codec(self, codec: Codec) -> Self {
        Self { codec, ..self }
    }

    /// Rates the call (§7.1).
    #[must_use]
    pub fn rating(&self) -> Rating {
        let noise = self.noise_dbm0p();
        let signal_to_noise = 15.0 - 1.5 * (self.send_loudness_db + noise);
        let sidetone = self.sidetone_impairment();
        Rating {
            signal_to_noise,
            simultaneous: self.loudness_impairment(noise)
                + sidetone
                + self.quantizing_impairment(signal_to_noise),
            talker_echo: self.talker_echo_impairment(noise, sidetone),
            listener_echo: self.listener_echo_impairment(signal_to_noise),
            delay: self.delay_impairment(),
            equipment: self.equipment_impairment(),
            advantage: self.advantage,
        }
    }

    /// The mean opinion score of the call.
    #[must_use]
    pub fn mean_opinion_score(&self) -> f64 {
        mean_opinion_score(self.rating().r())
    }

    /// The mean opinion score that flent gave the call until July 2018 (commit `faa60f5` of its
    /// repository), and so that of paper 004's Table 2: as [`Call::mean_opinion_score`], but with
    /// (…)¹/6 in place of (…)^(1/6) in the second term of eq. 7-27. Any delay above 100 ms then costs
    /// 62.5 or more of R: 300 ms get a score of 1.04 instead of 3.72.
    #[must_use]
    pub fn flent_score(&self) -> f64 {
        let delay = if self.delay_ms <= self.least_delay_ms {
            0.0
        } else {
            let x = (self.delay_ms / self.least_delay_ms).log2();
            let second = 3.0 * (1.0 + (x / 3.0).powi(6)) / 6.0;
            25.0 * ((1.0 + x.powi(6)).powf(1.0 / 6.0) - second + 2.0)
        };
        mean_opinion_score(
            Rating {
                delay,
                ..self.rating()
            }
            .r(),
        )
    }

    fn overall_loudness_db(&self) -> f64 {
        self.send_loudness_db + self.receive_loudness_db
    }

    /// Sum of all noises (No, §7.2, eq. 7-3 to 7-7).
    fn noise_dbm0p(&self) -> f64 {
        let send =
            self.send_room_noise_db - self.send_loudness_db - self.noise_rejection_db - 100.0
                + 0.004
                    * (self.send_room_noise_db
                        - self.overall_loudness_db()
                        - self.noise_rejection_db
                        - 14.0)
                        .powi(2);
        let heard = self.receive_room_noise_db
            + 10.0 * (1.0 + power(10.0 - self.listener_sidetone_db)).log10();
        let receive = self.receive_loudness_db - 121.0 + heard + 0.008 * (heard - 35.0).powi(2);
        let floor = self.noise_floor_dbmp + self.receive_loudness_db;
        10.0 * [self.circuit_noise_dbm0p, send, receive, floor]
            .map(power)
            .iter()
            .sum::<f64>()
            .log10()
    }

    /// Excessive loudness (I_olr, §7.3, eq. 7-9 and 7-10).
    fn loudness_impairment(&self, noise: f64) -> f64 {
        let excess =
            (self.overall_loudness_db() + 0.2 * (64.0 + noise - self.receive_loudness_db)) / 8.0;
        20.0 * ((1.0 + excess.powi(8)).powf(1.0 / 8.0) - excess)
    }

    /// Non-optimum sidetone (I_st, §7.3, eq. 7-11 and 7-12).
    fn sidetone_impairment(&self) -> f64 {
        let heard = -10.0
            * (power(-self.sidetone_db)
                + (-self.echo_delay_ms / 4.0).exp() * power(-self.talker_echo_db))
            .log10();
        12.0 * knee((heard - 13.0) / 6.0, 8)
            - 28.0 * knee((heard + 1.0) / 19.4, 35)
            - 13.0 * knee((heard - 3.0) / 33.0, 13)
            + 29.0
    }

    /// Quantization distortion (I_q, §7.3, eq. 7-13 to 7-17).
    fn quantizing_impairment(&self, signal_to_noise: f64) -> f64 {
        let q = 37.0 - 15.0 * self.quantizing_units.max(1.0).log10();
        let g = 1.07 + 0.258 * q + 0.0602 * q * q;
        let y = (signal_to_noise - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0;
        let z = 46.0 / 30.0 - g / 40.0;
        15.0 * (1.0 + 10f64.powf(y) + 10f64.powf(z)).log10()
    }

    /// Talker echo (I_dte, §7.4, eq. 7-19 to 7-24); zero below 1 ms, where it is sidetone.
    fn talker_echo_impairment(&self, noise: f64, sidetone: f64) -> f64 {
        let t = self.echo_delay_ms;
        let echo = if t < 1.0 {
            0.0
        } else {
            let masked = if self.sidetone_db < 9.0 {
                sidetone / 2.0
            } else {
                0.0
            };
            let echo_db = self.talker_echo_db
                - 40.0 * ((1.0 + t / 10.0) / (1.0 + t / 150.0)).log10()
                + 6.0 * (-0.3 * t * t).exp()
                + masked;
            let difference =
                -1.5 * (noise - self.receive_loudness_db) - (80.0 + 2.5 * (echo_db - 14.0));
            (difference / 2.0 + (difference * difference / 4.0 + 100.0).sqrt() - 1.0)
                * (1.0 - (-t).exp())
        };
        if self.sidetone_db > 20.0 {
            echo.hypot(sidetone)
        } else {
            echo
        }
    }

    /// Listener echo (I_dle, §7.4, eq. 7-25 and 7-26).
    fn listener_echo_impairment(&self, signal_to_noise: f64) -> f64 {
        let echo = 10.5 * (self.echo_path_loss_db + 7.0) * (self.round_trip_ms + 1.0).powf(-0.25);
        let difference = signal_to_noise - echo;
        difference / 2.0 + (difference * difference / 4.0 + 169.0).sqrt()
    }

    /// Absolute delay (I_dd, §7.4, eq. 7-27 and 7-28).
    fn delay_impairment(&self) -> f64 {
        if self.delay_ms <= self.least_delay_ms {
            return 0.0;
        }
        let x = (self.delay_ms / self.least_delay_ms).log2();
        let power = 6.0 * self.delay_sensitivity;
        25.0 * ((1.0 + x.powf(power)).powf(1.0 / power)
            - 3.0 * (1.0 + (x / 3.0).powf(power)).powf(1.0 / power)
            + 2.0)
    }

    /// Codec and packet loss (I_e,eff, §7.5, eq. 7-29).
    fn equipment_impairment(&self) -> f64 {
        let Codec {
            impairment,
            robustness,
        } = self.codec;
        impairment
            + (95.0 - impairment) * self.loss_percent
                / (self.loss_percent / self.burst_ratio + robustness)
    }
}

/// Converts a level in dB to a power ratio.
fn power(db: f64) -> f64 {
    10f64.powf(db / 10.0)
}

/// (1 + xᵖ)^(1/p): 1 for small x, x for large.
fn knee(x: f64, p: i32) -> f64 {
    (1.0 + x.powi(p)).powf(1.0 / f64::from(p))
}

#[cfg(test)]
mod tests;
