//! The parameters of queues from a configuration file.

use airpace_api::config::QueueConfig;
use airpace_config::quantity::QueueLimit;
use airpace_core::queue::{CoDelConfig, FqCoDelConfig, L4sConfig};

/// A limit in bytes also limits the number of packets, as if each had at least this many bytes.
/// Even a short packet occupies a buffer of 2 KiB, so memory stays within four times the limit.
const LEAST_BYTES: u64 = 512;

/// The parameters of the low-latency queue, if there is one. Where the queues may not mark, nothing
/// would tell its senders to slow down.
pub(crate) fn l4s(wanted: bool, queue: &QueueConfig) -> Option<L4sConfig> {
    (wanted && queue.ecn).then(L4sConfig::default)
}

/// The parameters of an FQ-CoDel queue. `usual` has the target where none is configured.
pub(crate) fn fq_codel(config: &QueueConfig, usual: CoDelConfig) -> FqCoDelConfig {
    let memory = config.memory.0.0;
    let (packet_limit, byte_limit) = match config.limit {
        QueueLimit::Packets(packets) => (packets, memory),
        QueueLimit::Bytes(bytes) => {
            let bytes = bytes.0.min(memory);
            (
                u32::try_from((bytes / LEAST_BYTES).max(1)).unwrap_or(u32::MAX),
                bytes,
            )
        }
    };
    // Validated to be at most 65536.
    let quantum = u32::try_from(config.quantum.0.0).unwrap_or(1514);
    let codel = CoDelConfig {
        target: config.target.map_or(usual.target, |target| target.0),
        interval: config.interval.0,
        ecn: config.ecn,
        ..usual
    };
    FqCoDelConfig {
        queues: config.flows,
        quantum,
        packet_limit,
        byte_limit,
        codel,
        ..FqCoDelConfig::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_queue_before_a_pacer_is_the_same_live_and_simulated() {
        for simulated in [CoDelConfig::paced(), CoDelConfig::in_line()] {
            assert_eq!(
                fq_codel(&QueueConfig::default(), simulated).codel,
                simulated
            );
        }
    }

    #[test]
    fn a_configured_target_counts() {
        let config = QueueConfig {
            target: Some("7 ms".parse().expect("a span")),
            ..QueueConfig::default()
        };
        let codel = fq_codel(&config, CoDelConfig::in_line()).codel;
        assert_eq!(codel.target, Duration::from_millis(7));
    }
}
