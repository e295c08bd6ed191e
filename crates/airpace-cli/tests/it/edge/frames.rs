//! Ethernet frames of all kinds, byte by byte.

/// An IPv4 packet in an Ethernet frame behind VLAN tags. `fragment` is the field with flags and
/// offset.
pub(super) fn ipv4(
    to: [u8; 6],
    from: [u8; 6],
    tags: &[[u8; 4]],
    protocol: u8,
    fragment: u16,
    addresses: [[u8; 4]; 2],
    payload: &[u8],
) -> Vec<u8> {
    let mut frame = ethernet(to, from, tags, 0x0800);
    let mut header = vec![0x45, 0xb8];
    header.extend((20 + payload.len() as u16).to_be_bytes());
    header.extend([0x12, 0x34]);
    header.extend(fragment.to_be_bytes());
    header.extend([64, protocol, 0, 0]);
    header.extend(addresses.concat());
    // A kernel with bridge netfilter drops headers with a wrong checksum.
    let checksum = !internet_sum(&header);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    frame.extend(header);
    frame.extend(payload);
    frame
}

/// A UDP datagram in an IPv4 packet, without a checksum.
pub(super) fn udp(
    to: [u8; 6],
    from: [u8; 6],
    tags: &[[u8; 4]],
    ports: (u16, u16),
    payload: &[u8],
) -> Vec<u8> {
    let datagram = datagram(ports, payload);
    let addresses = [[192, 0, 2, 1], [192, 0, 2, 2]];
    ipv4(to, from, tags, 17, 0x4000, addresses, &datagram)
}

/// An IPv6 packet in an Ethernet frame.
pub(super) fn ipv6(
    to: [u8; 6],
    from: [u8; 6],
    next_header: u8,
    destination: [u8; 16],
    payload: &[u8],
) -> Vec<u8> {
    let mut frame = ethernet(to, from, &[], 0x86dd);
    frame.extend([0x60, 0, 0, 0]);
    frame.extend((payload.len() as u16).to_be_bytes());
    frame.extend([next_header, 255]);
    let mut source = [0; 16];
    source[..2].copy_from_slice(&[0xfe, 0x80]);
    source[15] = 1;
    frame.extend(source);
    frame.extend(destination);
    frame.extend(payload);
    frame
}

/// A frame of another protocol.
pub(super) fn other(to: [u8; 6], from: [u8; 6], ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = ethernet(to, from, &[], ether_type);
    frame.extend(payload);
    frame
}

/// An ARP request of `from`, which has `address`.
pub(super) fn arp_request(from: [u8; 6], address: [u8; 4]) -> Vec<u8> {
    let mut payload = vec![0, 1, 8, 0, 6, 4, 0, 1];
    payload.extend(from);
    payload.extend(address);
    payload.extend([0; 6]);
    payload.extend([192, 0, 2, 99]);
    other([0xff; 6], from, 0x0806, &payload)
}

/// The DHCP request of a client that gives itself a name, with options of ordinary length before
/// it.
pub(super) fn dhcp_request(client: [u8; 6], name: &str) -> Vec<u8> {
    let mut message = vec![1, 1, 6, 0, 1, 2, 3, 4];
    message.resize(28, 0);
    message.extend(client);
    message.resize(236, 0);
    message.extend([0x63, 0x82, 0x53, 0x63, 53, 1, 3, 55, 60]);
    message.extend([1; 60]);
    message.extend([12, name.len() as u8]);
    message.extend(name.bytes());
    message.push(255);
    let datagram = datagram((68, 67), &message);
    let addresses = [[0; 4], [255; 4]];
    ipv4([0xff; 6], client, &[], 17, 0, addresses, &datagram)
}

pub(super) fn datagram((from, to): (u16, u16), payload: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::new();
    datagram.extend(from.to_be_bytes());
    datagram.extend(to.to_be_bytes());
    datagram.extend((8 + payload.len() as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    datagram
}

/// Bytes that are not all the same.
pub(super) fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7) as u8).collect()
}

fn ethernet(to: [u8; 6], from: [u8; 6], tags: &[[u8; 4]], ether_type: u16) -> Vec<u8> {
    let mut frame = [to, from].concat();
    for tag in tags {
        frame.extend(tag);
    }
    frame.extend(ether_type.to_be_bytes());
    frame
}

/// Sums sixteen bits at a time, with the carries (RFC 1071).
fn internet_sum(bytes: &[u8]) -> u16 {
    let mut sum = 0_u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
