//! The state machines' configuration from the tables that all proxies' files have.

use crate::queues;
use airpace_api::config::{ControlConfig, LawChoice, QueueConfig};
use airpace_config::quantity::Rate;
use airpace_core::control::{Goal, LawConfig};
use airpace_core::pace::PaceConfig;
use airpace_core::queue::{CoDelConfig, FqCoDelConfig};
use airpace_edge::proxy::{Pacing, ProxyConfig, StartRate};
use airpace_units::BitRate;

/// A proxy without stations. The tables have been validated.
/// A queue whose target is not configured has that of `codel`.
pub(crate) fn proxy_config(
    control: &ControlConfig,
    queue: &QueueConfig,
    codel: CoDelConfig,
    l4s: bool,
) -> ProxyConfig {
    ProxyConfig {
        pacing: pacing(control),
        slot: control.slot.0,
        start: StartRate::Fixed(control.initial_rate.0),
        // Validated to be at most 9000 bytes.
        packet_bytes: u32::try_from(control.packet.0.0).unwrap_or(1500),
        level: control.level_limit.unwrap_or(Goal::DEFAULT_LEVEL),
        delay_target: control.delay_target.map(|target| target.0),
        pace: PaceConfig {
            burst: control.burst.0,
            frame_overhead: control.initial_overhead.0,
            ..PaceConfig::default()
        },
        frame_overhead: control.initial_overhead.0,
        queue: FqCoDelConfig {
            // What acknowledgements permit takes the station's airtime as its other packets do.
            charge_acknowledged: true,
            ..queues::fq_codel(queue, codel)
        },
        l4s: queues::l4s(l4s, queue),
        ..ProxyConfig::default()
    }
}

/// What sets the rates.
fn pacing(control: &ControlConfig) -> Pacing {
    let name = match control.law {
        LawChoice::Measured(law) => law,
        // Validated: law `fixed` has its rate. Without one, packets would pass unpaced.
        LawChoice::Fixed => {
            let Rate(rate) = control.fixed_rate.unwrap_or(Rate(BitRate::from_bps(0)));
            return Pacing::Fixed(rate);
        }
        LawChoice::None => return Pacing::Unpaced,
    };
    let mut law = LawConfig::named(name, control.goal());
    if let LawConfig::Waterfill(waterfill) = &mut law {
        waterfill.packet_bytes = control.packet.0.0 as f64;
        waterfill.frame_overhead = control.initial_overhead.0;
    }
    Pacing::Law(law)
}
