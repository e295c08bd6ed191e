//! The options of `airpace emulate` about cells that carry Ethernet frames.

use crate::args::per_station;
use crate::failure::bad_input;
use airpace_emu::{AccessPointConfig, AirConfig, EmulatorConfig, EthernetConfig};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The cells' layer, their box, access points and third radios.
#[derive(Args)]
#[command(next_help_heading = "Layer 2")]
pub(super) struct Layer2 {
    /// What the cell carries: IPv4 packets, or Ethernet frames through a box with two ports.
    #[arg(long, value_enum, default_value = "ip")]
    layer: Carried,
    /// Leave the box's ports unconnected, for a bridge of your own; --layer ethernet only.
    #[arg(long)]
    no_bridge: bool,
    /// Name of the box's port towards the wired side; --layer ethernet only.
    #[arg(long, value_name = "NAME", default_value = "lan0")]
    lan_port: String,
    /// Name of the box's port towards the access point; --layer ethernet only.
    #[arg(long, value_name = "NAME", default_value = "ap0")]
    ap_port: String,
    /// Existing network namespace to use as the box, for example /run/netns/box; --layer ethernet
    /// only.
    #[arg(long = "box", value_name = "FILE")]
    box_namespace: Option<PathBuf>,
    /// Number of access points, each with a port (ap0, ap1, ...); stations are associated in turn;
    /// --layer ethernet only.
    #[arg(
        long,
        visible_alias = "cell",
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=8)
    )]
    cells: u16,
    /// Channel of each access point, or one for all; those with the same number share the air. By
    /// default, each has a channel of its own.
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', requires = "cells")]
    channel: Vec<u16>,
    /// Give the box a monitor interface of a third radio near the access point (of several: air0,
    /// air1, ...); --layer ethernet only.
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "air0")]
    air: Option<String>,
    /// Probability that the third radio misses a data frame.
    #[arg(long, value_name = "P", default_value = "1", value_parser = share, allow_negative_numbers = true)]
    air_loss: f64,
    /// Signal-to-noise ratio in dB at which the third radio receives frames to and from stations:
    /// one value for all stations, or one each. Data frames are then missed as their MCS and length
    /// require, instead of with --air-loss; control frames need little.
    #[arg(
        long,
        value_name = "DB",
        value_delimiter = ',',
        requires = "air",
        conflicts_with = "air_loss",
        allow_negative_numbers = true
    )]
    air_snr: Vec<f64>,
    /// Probability that the third radio misses a control frame.
    #[arg(long, value_name = "P", default_value = "0", value_parser = share, allow_negative_numbers = true)]
    air_loss_control: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Carried {
    /// IPv4 packets; TUN devices at both ends.
    Ip,
    /// Ethernet frames; a port for a bridge at one end, TAP devices at the other.
    Ethernet,
}

impl Layer2 {
    /// Returns the number of access points.
    pub(super) fn access_points(&self) -> usize {
        self.cells.into()
    }

    /// Makes the cell carry Ethernet frames, with further access points and third radios, if the
    /// arguments say so.
    pub(super) fn apply(&self, config: EmulatorConfig) -> anyhow::Result<EmulatorConfig> {
        let ethernet = EthernetConfig {
            box_namespace: self.box_namespace.clone(),
            lan_port: self.lan_port.clone(),
            ap_port: self.ap_port.clone(),
            bridged: !self.no_bridge,
        };
        if self.layer == Carried::Ip {
            let is_default = ethernet == EthernetConfig::default();
            if self.air.is_some() || self.cells > 1 || !self.channel.is_empty() || !is_default {
                return Err(bad_input(
                    "--no-bridge, --lan-port, --ap-port, --box, --cells, --channel and --air need --layer ethernet",
                ));
            }
            return Ok(config);
        }
        let stations = config.cell.stations.len();
        let cells = usize::from(self.cells);
        let snr_db = if self.air_snr.is_empty() {
            Vec::new()
        } else {
            per_station("--air-snr", &self.air_snr, stations)?
        };
        let air = |index: u16| {
            self.air.as_ref().map(|interface| AirConfig {
                interface: numbered(interface, index),
                data_loss: self.air_loss,
                control_loss: self.air_loss_control,
                snr_db: snr_db.clone(),
            })
        };
        let mut further_access_points = Vec::new();
        for index in 1..self.cells {
            further_access_points.push(AccessPointConfig {
                port: numbered(&self.ap_port, index),
                air: air(index),
            });
        }
        Ok(EmulatorConfig {
            air: air(0),
            further_access_points,
            channels: self.channels()?,
            home: (0..stations).map(|i| i % cells).collect(),
            ..config.with_ethernet(ethernet)
        })
    }

    /// Returns the channel of each access point; empty if each has a channel of its own.
    fn channels(&self) -> anyhow::Result<Vec<u16>> {
        let cells = usize::from(self.cells);
        match self.channel.as_slice() {
            [single] => Ok(vec![*single; cells]),
            all if all.is_empty() || all.len() == cells => Ok(all.to_vec()),
            all => Err(bad_input(format!(
                "--channel has {} values for {cells} access points: give {cells} values, or one for all",
                all.len()
            ))),
        }
    }
}

/// The name of the interface of access point `index`: that of the first with a higher number at its
/// end.
fn numbered(first: &str, index: u16) -> String {
    let stem = first.trim_end_matches(|c: char| c.is_ascii_digit());
    let number: u16 = first[stem.len()..].parse().unwrap_or_default();
    match index {
        0 => first.to_owned(),
        _ => format!("{stem}{}", number.saturating_add(index)),
    }
}

/// A probability that may also be 1.
fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("give 0 to 1".to_owned()),
    }
}
