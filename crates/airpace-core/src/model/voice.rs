//! How a telephone call over the network is heard: the E-model of ITU-T G.107 (06/2015), narrowband, with its opinion score.
//!
//! R = R₀ - I_s - I_d - I_e,eff + A (§7.1, eq. 7-1) on a scale from 0 to 100, and from R the mean opinion score (Annex B). Formulas
//! bear the numbers of that edition. Fields that are no business of a network have the defaults of its table (§7.7), with which R is
//! 93.2 and the score 4.41.
//!
//! ```
//! use airpace_core::model::voice::{Call, mean_opinion_score};
//!
//! // 004 table 2: a base delay of 5 or 50 ms one way and no loss.
//! let score = |delay_ms| mean_opinion_score(Call::default().with_delay_ms(delay_ms).rating().r());
//! assert_eq!([score(5.0), score(50.0)].map(|mos| (mos * 100.0).round() / 100.0), [4.41, 4.38]);
//! ```

/// Everything that the E-model knows of a connection (G.107 §7.7, table of defaults and permitted ranges).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Call {
    /// How loud the sender is (SLR), dB.
    pub send_loudness_db: f64,
    /// How loud the receiver is (RLR), dB.
    pub receive_loudness_db: f64,
    /// How much of the own voice is heard in the receiver (STMR), dB.
    pub sidetone_db: f64,
    /// How much of the room's noise at the receiver is heard in it (LSTR), dB.
    pub listener_sidetone_db: f64,
    /// How much better the sender takes up voice than the room's noise (Ds), dB.
    pub noise_rejection_db: f64,
    /// How loud the talker's echo is (TELR), dB.
    pub talker_echo_db: f64,
    /// How much is lost on the way round the four-wire loop (WEPL), dB.
    pub echo_path_loss_db: f64,
    /// Mean one-way delay of the echo's path (T), ms.
    pub echo_delay_ms: f64,
    /// Round-trip delay of the four-wire loop (Tr), ms.
    pub round_trip_ms: f64,
    /// Delay from mouth to ear (Ta), ms.
    pub delay_ms: f64,
    /// How sensitive the talk is to delay (sT), 0.4 to 1.
    pub delay_sensitivity: f64,
    /// The least delay that matters (mT), ms.
    pub least_delay_ms: f64,
    /// Units of quantizing distortion (qdu), 1 to 14.
    pub quantizing_units: f64,
    /// What codec and packets do to the voice.
    pub codec: Codec,
    /// Packets lost (Ppl), per cent.
    pub loss_percent: f64,
    /// Mean length of the bursts of losses over that of independent losses (BurstR), from 1.
    pub burst_ratio: f64,
    /// Noise of the circuits (Nc), dBm0p.
    pub circuit_noise_dbm0p: f64,
    /// Noise floor at the receiver (Nfor), dBmp.
    pub noise_floor_dbmp: f64,
    /// Noise of the room at the sender (Ps), dB(A).
    pub send_room_noise_db: f64,
    /// Noise of the room at the receiver (Pr), dB(A).
    pub receive_room_noise_db: f64,
    /// What is forgiven for the sake of access elsewhere impossible (A), 0 to 20.
    pub advantage: f64,
}

/// What a codec does to the voice without and with losses (G.113 Appendix I).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Codec {
    /// Impairment without losses (Ie), 0 to 40.
    pub impairment: f64,
    /// Robustness against losses (Bpl), 1 to 40.
    pub robustness: f64,
}

impl Codec {
    /// G.711 that plays silence for what is lost.
    pub const G711: Self = Self {
        impairment: 0.0,
        robustness: 4.3,
    };
    /// G.711 that conceals losses (its Appendix I).
    pub const G711_CONCEALED: Self = Self {
        impairment: 0.0,
        robustness: 25.1,
    };
    /// The least robustness permitted, which was the default before G.107 took that of G.711: flent, with which 004 was measured, scores
    /// with it.
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

/// The parts of R.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rating {
    /// Signal over noise (R₀).
    pub signal_to_noise: f64,
    /// What impairs the voice while it sounds: loudness, sidetone, quantizing (I_s).
    pub simultaneous: f64,
    /// Talker's echo (I_dte).
    pub talker_echo: f64,
    /// Listener's echo (I_dle).
    pub listener_echo: f64,
    /// Delay as such (I_dd).
    pub delay: f64,
    /// Codec and losses (I_e,eff).
    pub equipment: f64,
    /// What is forgiven (A).
    pub advantage: f64,
}

impl Rating {
    /// The transmission rating (R, eq. 7-1): 93.2 at best, below 0 for a call that nobody bears.
    #[must_use]
    pub fn r(&self) -> f64 {
        let delay = self.talker_echo + self.listener_echo + self.delay;
        self.signal_to_noise - self.simultaneous - delay - self.equipment + self.advantage
    }
}

/// The mean opinion score of a conversation rated `r` (Annex B, eq. B-4), from 1 to 4.5.
///
/// The cubic is slightly below 1 where R is below 6.5; the score is held at 1 there, which is the scale's end.
#[must_use]
pub fn mean_opinion_score(r: f64) -> f64 {
    let r = r.clamp(0.0, 100.0);
    (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0)
}

impl Call {
    /// The call with one-way delay `delay_ms` on which the echoes travel too: T = Ta = Tr / 2. What is negative or no number is zero.
    #[must_use]
    pub fn with_delay_ms(self, delay_ms: f64) -> Self {
        // `max` drops a NaN.
        let delay_ms = delay_ms.max(0.0);
        Self {
            echo_delay_ms: delay_ms,
            round_trip_ms: 2.0 * delay_ms,
            delay_ms,
            ..self
        }
    }

    /// The call with a part `loss` (0 to 1) of its packets lost in bursts `burst_ratio` times as long as independent losses'.
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

    /// Too loud (I_olr, §7.3, eq. 7-9 and 7-10).
    fn loudness_impairment(&self, noise: f64) -> f64 {
        let excess =
            (self.overall_loudness_db() + 0.2 * (64.0 + noise - self.receive_loudness_db)) / 8.0;
        20.0 * ((1.0 + excess.powi(8)).powf(1.0 / 8.0) - excess)
    }

    /// Too much or too little of the own voice (I_st, §7.3, eq. 7-11 and 7-12).
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

    /// Quantizing (I_q, §7.3, eq. 7-13 to 7-17).
    fn quantizing_impairment(&self, signal_to_noise: f64) -> f64 {
        let q = 37.0 - 15.0 * self.quantizing_units.max(1.0).log10();
        let g = 1.07 + 0.258 * q + 0.0602 * q * q;
        let y = (signal_to_noise - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0;
        let z = 46.0 / 30.0 - g / 40.0;
        15.0 * (1.0 + 10f64.powf(y) + 10f64.powf(z)).log10()
    }

    /// The talker's echo (I_dte, §7.4, eq. 7-19 to 7-24): none below 1 ms, where it is sidetone.
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

    /// The listener's echo (I_dle, §7.4, eq. 7-25 and 7-26).
    fn listener_echo_impairment(&self, signal_to_noise: f64) -> f64 {
        let echo = 10.5 * (self.echo_path_loss_db + 7.0) * (self.round_trip_ms + 1.0).powf(-0.25);
        let difference = signal_to_noise - echo;
        difference / 2.0 + (difference * difference / 4.0 + 169.0).sqrt()
    }

    /// Delay as such (I_dd, §7.4, eq. 7-27 and 7-28).
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

    /// Codec and losses (I_e,eff, §7.5, eq. 7-29).
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

/// A level in dB as a power.
fn power(db: f64) -> f64 {
    10f64.powf(db / 10.0)
}

/// (1 + xᵖ)^(1/p): 1 for small x, x for large.
fn knee(x: f64, p: i32) -> f64 {
    (1.0 + x.powi(p)).powf(1.0 / f64::from(p))
}

#[cfg(test)]
mod tests;
