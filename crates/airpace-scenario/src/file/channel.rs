//! The channel: one collision domain and what holds on it.

use airpace_config::choice;
use airpace_config::choice::Choice;
use airpace_config::quantity::{Decibels, Frequency, Length, Size, Span};
use airpace_config::section;
use airpace_sim::channel::FadingKind;

choice! {
    /// Generation of the PHY.
    Standard:
    /// 802.11ac.
    Vht = "vht",
    /// 802.11n.
    Ht = "ht",
    /// 802.11ax, single user.
    He = "he",
    /// 802.11a/g: 6 to 54 Mbit/s.
    Ofdm = "ofdm",
    /// 802.11b: 1, 2, 5.5 and 11 Mbit/s.
    Dsss = "dsss",
}

choice! {
    /// The conventions by which the durations of frames are computed.
    Timing:
    /// Those of the standard.
    Standard = "standard",
    /// Those of ns-3 3.44, for comparisons with it.
    Ns3 = "ns3",
}

choice! {
    /// What precedes frames that stations of DSSS alone cannot read.
    Protection:
    /// Nothing.
    None = "none",
    /// A CTS of the sender to itself, at the slowest basic rate: mac80211's protection in a network at
    /// 2.4 GHz with a station that has no OFDM rates.
    CtsToSelf = "cts-to-self",
}

choice! {
    /// The defaults of an access point's own channel access.
    AccessPointEdca:
    /// Those of its stations.
    Stations = "stations",
    /// Those of `dot11QAPEDCATable`, as in hostapd: best effort has a largest contention window of 63,
    /// video and voice wait for one slot.
    Own = "own",
}

choice! {
    /// What decides whether an MPDU is decoded.
    ErrorModel:
    /// The signal-to-noise ratio that follows from positions and powers, by rate and length. A
    /// node's `loss` overrides it.
    Snr = "snr",
    /// The `loss` of the nodes alone. All nodes hear each other wherever they stand.
    None = "none",
}

choice! {
    /// What becomes of frames that overlap.
    Reception:
    /// Each MPDU is lost by the ratio of its signal to noise and interference while it is on the
    /// air. A receiver keeps to the frame that it has begun to receive.
    Sinr = "sinr",
    /// Frames that overlap at a receiver are lost as a whole if the other is at least as strong as
    /// the noise, or, by `carrier_sense_range`, in range.
    Collide = "collide",
}

section! {
    /// One channel, whose airtime all nodes on it share.
    Channel as "[channel]" {
        /// Name by which nodes refer to it if there are several channels.
        name: String = default("channel"),
        /// Generation of the PHY; nodes may name another.
        standard: Standard = default("vht"),
        /// Band, which decides SIFS and slot time: 2.4 GHz or 5 GHz.
        band: Frequency = default("5 GHz", "2.4 GHz", "6 GHz"),
        /// Channel width: 20, 40, 80 or 160 MHz.
        width: Frequency = default("80 MHz"),
        /// Guard interval: 400 or 800 ns; HE 800, 1600 or 3200 ns.
        guard_interval: Span = default("800 ns"),
        /// The conventions by which the durations of frames are computed.
        timing: Timing = default("standard"),
        /// Whether access points send beacons.
        beacons: bool = default("true"),
        /// Time between beacons.
        beacon_interval: Span = default("102.4 ms", "1 ms", "60 s"),
        /// Most MPDUs in one A-MPDU; the standard's own limits hold as well.
        max_mpdus: u16 = default("64", "1", "1024"),
        /// Longest PPDU; ath9k stops at 4 ms.
        max_duration: Span = default("5484 us", "100 us", "5484 us"),
        /// Frames longer than this are preceded by RTS and CTS.
        rts_threshold: Option<Size> = optional("none", "0 B", "1 GB"),
        /// What precedes frames that stations of DSSS alone cannot read.
        protection: Protection = default("none"),
        /// Longest A-MSDU within each MPDU.
        amsdu: Option<Size> = optional("no A-MSDUs", "100 B", "11398 B"),
        /// Transmissions of an MPDU before it is dropped.
        retry_limit: u8 = default("7", "1", "255"),
        /// Whether receivers hold packets behind a missing one until it arrives or is given up.
        in_order: bool = default("true"),
        /// Channel access of the four access categories, where it differs from the standard's.
        edca: EdcaSet = nested,
        /// The defaults of `edca` for access points and for relays towards their clients.
        access_point_edca: AccessPointEdca = default("stations"),
        /// What decides whether an MPDU is decoded.
        error_model: ErrorModel = default("snr"),
        /// What becomes of frames that overlap. Without the key it is "sinr" with `error_model =
        /// "snr"`, if any node has a `position`, `within` or a `distance` other than the usual one,
        /// and there are several access points or nodes out of each other's range.
        reception: Option<Reception> = optional("\"sinr\" among neighbours, else \"collide\""),
        /// Whether a receiver leaves a frame for one that begins within the next 16 µs and is more
        /// than 5 dB stronger; only with `reception = "sinr"`.
        capture: bool = default("false"),
        /// Whether a sender that gets no block ack asks for it before it sends anything else,
        /// instead of sending the frame again.
        block_ack_requests: Option<bool> = optional("with `timing = \"ns3\"`"),
        /// Whether the MPDUs of an A-MPDU are sent again without limit, as in ns-3, so that
        /// `retry_limit` counts only frames of a single MPDU and RTS without an answer.
        endless_retries: bool = default("false"),
        /// Attenuation by distance.
        path_loss: PathLoss = nested,
        /// Noise figure of the receivers, above thermal noise.
        noise_figure: Decibels = default("7 dB", "-20 dB", "60 dB"),
        /// Fading on top of the path loss.
        fading: Fading = nested,
        /// Slow changes of the gain on top of the fading.
        shadowing: Shadowing = nested,
        /// Distance up to which a transmission is sensed and its header decoded.
        carrier_sense_range: Option<Length> = optional("by received power, from -82 dBm", "0 m", "1000 km"),
        /// Distance up to which a transmission disturbs the reception of another, if
        /// `carrier_sense_range` is given.
        interference_range: Option<Length> = optional("`carrier_sense_range`", "0 m", "1000 km"),
        /// Number of saturated transmitters of other networks, which all nodes hear.
        neighbours: u16 = default("0", "0", "1000"),
        /// Airtime of each frame of a neighbour, its acknowledgement included.
        neighbour_airtime: Span = default("2 ms", "20 us", "10 ms"),
    }
}

section! {
    /// Channel access by access category, where it differs from the standard's.
    EdcaSet as "edca" {
        /// Background.
        background: Edca = nested,
        /// Best effort.
        best_effort: Edca = nested,
        /// Video.
        video: Edca = nested,
        /// Voice.
        voice: Edca = nested,
    }
}

section! {
    /// Channel access of one access category.
    Edca as "edca category" {
        /// Smallest contention window: one less than a power of two.
        cw_min: Option<u16> = optional("the standard's", "0", "32767"),
        /// Largest contention window: one less than a power of two.
        cw_max: Option<u16> = optional("the standard's", "0", "32767"),
        /// Slots of idle time after SIFS before the back-off counts down.
        aifsn: Option<u8> = optional("the standard's", "1", "15"),
        /// TXOP limit: how long a transmitter may keep the channel. 0 s allows one frame.
        txop: Option<Span> = optional("the standard's", "0 s", "20 ms"),
    }
}

section! {
    /// Log-distance path loss: `reference` + 10 · `exponent` · log10(distance / 1 m).
    PathLoss as "path_loss" {
        /// Exponent of the distance; 2 is free space.
        exponent: f64 = default("3", "0", "10"),
        /// Attenuation at 1 m.
        reference: Option<Decibels> = optional("free space: 46.6777 dB at 5 GHz, 40.05 dB at 2.4 GHz", "0 dB", "200 dB"),
    }
}

section! {
    /// Fading, the same on both directions of a link.
    Fading as "fading" {
        /// How the gain is distributed.
        law: Choice<FadingKind> = default("none"),
        /// Time for which a link's gain keeps its value (block fading).
        coherence: Span = default("20 ms", "10 us", "1000 s"),
        /// Power of the line of sight over that of all other paths, for law = "rician".
        k_factor: f64 = default("4", "0", "10000"),
        /// Shape m, for law = "nakagami".
        shape: f64 = default("1", "0.5", "10000"),
    }
}

section! {
    /// Shadowing by what stands or moves in the way, the same on both directions of a link: a
    /// log-normal gain.
    Shadowing as "shadowing" {
        /// Standard deviation of the gain; 0 dB is no shadowing.
        deviation: Decibels = default("0 dB", "0 dB", "30 dB"),
        /// Time for which a link's gain keeps its value.
        coherence: Span = default("10 s", "10 us", "100000 s"),
    }
}

impl EdcaSet {
    /// The parameters of `category`.
    #[must_use]
    pub const fn of(&self, category: super::Category) -> &Edca {
        match category {
            super::Category::Background => &self.background,
            super::Category::BestEffort => &self.best_effort,
            super::Category::Video => &self.video,
            super::Category::Voice => &self.voice,
        }
    }
}
