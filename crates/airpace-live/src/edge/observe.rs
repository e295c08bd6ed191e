//! What the programs have seen pass: who is where, what comes from the stations.

use super::headers;
use super::run::{BATCH, RunningEdge};
use airpace_core::wire::ieee80211::MacAddr;
use airpace_net::inline::ObservationKind;
use airpace_units::Time;

impl RunningEdge {
    /// Passes the programs' observations to the state machine.
    pub(super) fn observe(&mut self) {
        let Self {
            inline,
            setup,
            keys,
            ports,
            hosts,
            ..
        } = self;
        setup.path.observe(BATCH, |seen| {
            let at = Time::from_nanos(seen.at_ns);
            if seen.kind == ObservationKind::Moved {
                if let Some(&source) = seen.bytes.get(6..).and_then(|rest| rest.first_chunk()) {
                    inline.on_wired(at, MacAddr(source));
                }
                return;
            }
            // A frame from the wired port is not from a station.
            let port = ports.iter().position(|&index| index == seen.interface);
            if let Some(port) = port
                && let Some((mac, what)) = headers::uplink(&seen, keys)
            {
                inline.on_uplink(at, port, mac, what);
            }
            // The sender is known now, if it is a station. The addresses of others are not shown, and
            // an attacker could announce any number of them.
            if let Some(binding) = headers::binding(seen.kind, seen.bytes)
                && inline.knows(binding.mac)
            {
                hosts.learn(binding);
            }
            if port.is_some()
                && seen.kind == ObservationKind::Dhcp
                && let Some((mac, name)) = headers::dhcp_name(seen.bytes)
            {
                inline.on_name(mac, &name);
            }
        });
    }

    /// Counts what the stations have sent in the slot that ends.
    pub(super) fn count_uplink(&mut self) -> anyhow::Result<()> {
        let stations: Vec<MacAddr> = self.inline.addresses().collect();
        for mac in stations {
            let Some(used) = self.setup.uplink(mac.0)? else {
                continue;
            };
            if let Some(delta) = self.uplink.read(mac, used) {
                let last = Time::from_nanos(used.last_ns);
                self.inline
                    .on_uplink_use(mac, delta.frames, delta.bytes, last);
            }
        }
        Ok(())
    }
}
