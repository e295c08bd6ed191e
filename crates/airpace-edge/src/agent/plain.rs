//! Packets of the station that do not come through a tunnel.

use super::{Agent, UplinkPacket};
use airpace_core::meter::{FrameHints, Received};
use airpace_core::phy::AccessCategory;
use airpace_units::Time;

impl<P: UplinkPacket> Agent<P> {
    /// Takes notice of an IP packet of `bytes` that the station has received at `arrival` beside any
    /// tunnel. Frames are then told apart by gaps between arrivals. Losses and waiting times are not
    /// known: nobody has numbered or stamped the packets.
    pub fn on_packet(&mut self, arrival: Time, bytes: u32, category: AccessCategory) {
        let sequence = self.plain_packets;
        self.plain_packets += 1;
        self.meter.on_packet(&Received {
            arrival,
            frame: FrameHints::default(),
            sequence,
            bytes,
            category,
            delay_ns: None,
        });
        self.look_for_news(arrival);
    }
}
