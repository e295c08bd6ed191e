//! Configuration of the in-line box.

use crate::proxy::ProxyConfig;
use airpace_core::wire::ieee80211::MacAddr;
use core::time::Duration;

/// Configuration of an [`Inline`](super::Inline).
#[derive(Clone, PartialEq, Debug)]
pub struct InlineConfig {
    /// Pacing, queues and law of each medium. Its stations are those of [`InlineConfig::media`] as
    /// they are learnt, so [`ProxyConfig::stations`] must be empty.
    pub proxy: ProxyConfig,
    /// The access points, one medium each; at least one.
    pub media: Vec<MediumConfig>,
    /// For each port of the box towards access points the number of its medium.
    pub ports: Vec<usize>,
    /// Stations that the operator has configured.
    pub stations: Vec<KnownStation>,
    /// A station that is silent for this long has left. Default 5 min.
    pub leave_after: Duration,
    /// Most stations of all media together; further ones are not learnt, and their frames pass.
    /// Default 4096.
    pub most_stations: usize,
    /// Most stations among them to which nothing has been sent yet. Beyond that the one that was
    /// heard least recently is forgotten. Default 512.
    pub most_unconfirmed: usize,
}

/// An access point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MediumConfig {
    /// Name in status and telemetry.
    pub name: String,
    /// The stations that belong to it wherever they are heard, for access points that share a port
    /// of the box. Any other station belongs to the medium of the port where it is heard.
    pub stations: Vec<MacAddr>,
    /// Its address on the air, if a radio near it is not to learn that.
    pub bssid: Option<MacAddr>,
}

/// What an operator has configured for a station.
#[derive(Clone, PartialEq, Debug)]
pub struct KnownStation {
    /// Its hardware address.
    pub mac: MacAddr,
    /// Its name. Default: the name that it gives itself by DHCP.
    pub name: Option<String>,
    /// Weight (φ) of its share.
    pub weight: f64,
    /// Whether its frames pass without being queued or paced.
    pub is_exempt: bool,
}

impl Default for InlineConfig {
    fn default() -> Self {
        Self {
            proxy: ProxyConfig::default(),
            media: vec![MediumConfig {
                name: "ap".to_owned(),
                stations: Vec::new(),
                bssid: None,
            }],
            ports: vec![0],
            stations: Vec::new(),
            leave_after: Duration::from_secs(300),
            most_stations: 4096,
            most_unconfirmed: 512,
        }
    }
}
