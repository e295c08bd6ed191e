//! Differentiated services and ECN between a packet and the outer header of a tunnel (RFC 2983, RFC
//! 6040).
//!
//! On the way in, [`outer_class`] gives the outer header the packet's code point, so that the
//! networks in between treat it as they would treat the packet, and the packet's ECN field, so that
//! their queues may mark it. On the way out, [`take_ecn`] puts marks of the outer header on the
//! packet. The packet keeps its own code point: that of the outer header is the business of the
//! networks in between (the pipe model, RFC 2983 §3.1).
//!
//! ```
//! use airpace_core::wire::encap;
//!
//! // 10.0.0.1 to 10.0.0.7, expedited forwarding, ECT(0).
//! let mut packet = [
//!     0x45, 46 << 2 | 2, 0, 20, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 7,
//! ];
//! assert_eq!(encap::outer_class(&packet, true), 46 << 2 | 2);
//! assert_eq!(encap::outer_class(&packet, false), 2);
//! // A queue on the way has marked the outer header.
//! encap::take_ecn(&mut packet, 46 << 2 | 3)?;
//! assert_eq!(packet[1], 46 << 2 | 3);
//! # Ok::<(), encap::MarkedNotCapable>(())
//! ```

use super::ip;
use crate::phy::AccessCategory;
use thiserror::Error;

/// Mask of the ECN field in the traffic class.
const ECN: u8 = 0x03;
/// ECN field of a transport that is not ECN-capable (RFC 3168 §5).
const NOT_ECT: u8 = 0;
/// ECN-capable transport, ECT(1): with L4S, a scalable sender (RFC 9331 §4.1).
const ECT_1: u8 = 1;
/// Congestion experienced.
const CE: u8 = 3;
/// The least code point of the class selectors CS6 and CS7 and those between and above them.
const NETWORK_CONTROL: u8 = 48;

/// The packet must be dropped: a queue has marked it although its transport would not understand
/// the mark (RFC 6040 §4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the outer header is marked, but the packet's transport is not ECN-capable")]
pub struct MarkedNotCapable;

/// The traffic class of the outer header of a packet: its code point if `copy_dscp`, and its ECN
/// field (RFC 6040 §4.1, normal mode). Zero if the bytes are not an IP packet.
///
/// Code points from CS6 upwards are not copied: they are for routers' control traffic, and access
/// points give them their highest priority (RFC 8325 §8.2).
#[must_use]
pub fn outer_class(packet: &[u8], copy_dscp: bool) -> u8 {
    let class = ip::traffic_class(packet).unwrap_or(0);
    if copy_dscp && class >> 2 < NETWORK_CONTROL {
        class
    } else {
        class & ECN
    }
}

/// A traffic class whose code point asks for an access category, with the ECN field of `class`;
/// `class` itself without a category.
///
/// Video has the code point AF41 and voice EF (RFC 8325 §4.3). Access points that take the three
/// upper bits of the code point for the user priority send EF as video too; both pass best effort.
#[must_use]
pub const fn with_priority(class: u8, category: Option<AccessCategory>) -> u8 {
    let dscp: u8 = match category {
        None => return class,
        Some(AccessCategory::Voice) => 46,
        Some(AccessCategory::Video) => 34,
        Some(AccessCategory::BestEffort) => 0,
        // CS1.
        Some(AccessCategory::Background) => 8,
    };
    dscp << 2 | class & ECN
}

/// Takes what the networks in between have written into the ECN field of the outer header, of
/// traffic class `outer`, over to the packet (RFC 6040 §4.2, figure 4). Bytes that are not an IP
/// packet are left alone.
///
/// # Errors
/// If the packet must be dropped.
pub fn take_ecn(packet: &mut [u8], outer: u8) -> Result<(), MarkedNotCapable> {
    let outer = outer & ECN;
    // Without ECN outside, and mostly with it, the packet stays as it is.
    if outer == NOT_ECT {
        return Ok(());
    }
    let Some(class) = ip::traffic_class(packet) else {
        return Ok(());
    };
    match (class & ECN, outer) {
        (NOT_ECT, CE) => return Err(MarkedNotCapable),
        // An outer field that cannot come from this packet is ignored.
        (NOT_ECT, _) | (CE, _) => {}
        (_, CE) => {
            ip::mark_ce(packet);
        }
        // A queue may turn ECT(0) into ECT(1) as a milder mark (RFC 6040 §4.2, RFC 6660).
        (_, ECT_1) => ip::set_ecn(packet, ECT_1),
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ip::IpInfo;
    use proptest::prelude::*;

    const ECT_0: u8 = 2;

    fn ipv4(class: u8) -> Vec<u8> {
        let mut packet = vec![0x45, class, 0, 20, 1, 2, 0x40, 0, 64, 17, 0, 0];
        packet.extend_from_slice(&[10, 0, 0, 1, 192, 168, 7, 9]);
        let checksum = !sum(&packet);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        packet
    }

    fn ipv6(class: u8) -> Vec<u8> {
        let mut packet = vec![
            0x60 | class >> 4,
            class << 4 | 0x0a,
            0xbc,
            0xde,
            0,
            0,
            17,
            64,
        ];
        packet.resize(40, 0xfd);
        packet
    }

    /// The ones'-complement sum of the words of a header: all ones if its checksum is right.
    fn sum(header: &[u8]) -> u16 {
        header.chunks(2).fold(0_u16, |sum, pair| {
            let (sum, carry) = sum.overflowing_add(u16::from_be_bytes([pair[0], pair[1]]));
            sum + u16::from(carry)
        })
    }

    #[test]
    fn the_outer_header_has_the_code_point_and_ecn_field_of_the_packet() {
        for class in 0..=255_u8 {
            let (v4, v6) = (ipv4(class), ipv6(class));
            let copied = if class >> 2 >= 48 { class & 3 } else { class };
            assert_eq!(outer_class(&v4, true), copied);
            assert_eq!(outer_class(&v6, true), copied);
            assert_eq!(outer_class(&v4, false), class & 3);
            assert_eq!(outer_class(&v6, false), class & 3);
        }
        assert_eq!(outer_class(&[], true), 0);
        assert_eq!(outer_class(&[0x15, 0xff, 0, 0], true), 0);
    }

    #[test]
    fn a_category_replaces_the_code_point_and_leaves_the_ecn_field() {
        let categories = [
            AccessCategory::Background,
            AccessCategory::BestEffort,
            AccessCategory::Video,
            AccessCategory::Voice,
        ];
        for category in categories {
            let class = with_priority(26 << 2 | ECT_0, Some(category));
            let info = IpInfo::parse(&ipv4(class)).expect("valid");
            assert_eq!((info.category(), info.ecn), (category, ECT_0));
        }
        assert_eq!(with_priority(26 << 2 | CE, None), 26 << 2 | CE);
    }

    /// Figure 4 of RFC 6040: rows are the packet's field, columns the outer header's, in the order
    /// Not-ECT, ECT(0), ECT(1), CE. `None` drops the packet.
    const DECAPSULATED: [[Option<u8>; 4]; 4] = [
        [Some(NOT_ECT), Some(NOT_ECT), Some(NOT_ECT), None],
        [Some(ECT_0), Some(ECT_0), Some(ECT_1), Some(CE)],
        [Some(ECT_1), Some(ECT_1), Some(ECT_1), Some(CE)],
        [Some(CE), Some(CE), Some(CE), Some(CE)],
    ];

    #[test]
    fn decapsulation_follows_the_table_of_the_rfc() {
        let fields = [NOT_ECT, ECT_0, ECT_1, CE];
        for (row, inner) in fields.into_iter().enumerate() {
            for (column, outer) in fields.into_iter().enumerate() {
                for mut packet in [ipv4(26 << 2 | inner), ipv6(26 << 2 | inner)] {
                    let before = packet.clone();
                    // The outer code point has no influence.
                    let taken = take_ecn(&mut packet, 46 << 2 | outer);
                    let Some(expected) = DECAPSULATED[row][column] else {
                        assert_eq!(taken, Err(MarkedNotCapable));
                        assert_eq!(packet, before);
                        continue;
                    };
                    assert_eq!(taken, Ok(()));
                    let info = IpInfo::parse(&packet).expect("valid");
                    assert_eq!((info.dscp, info.ecn), (26, expected), "{inner} in {outer}");
                    if info.version == 4 {
                        assert_eq!(sum(&packet), 0xffff, "the checksum");
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn only_the_ecn_field_and_the_checksum_change(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..60),
            outer in any::<u8>(),
        ) {
            let before = bytes.clone();
            let _ = take_ecn(&mut bytes, outer);
            prop_assert_eq!(bytes.len(), before.len());
            for (at, (new, old)) in bytes.iter().zip(&before).enumerate() {
                let may_change = match before[0] >> 4 {
                    4 => at == 1 || at == 10 || at == 11,
                    6 => at == 1,
                    _ => false,
                };
                prop_assert!(may_change || new == old, "byte {}", at);
            }
        }
    }
}
