use super::*;
use proptest::prelude::*;

const STATION: [u8; 6] = [4, 1, 2, 3, 4, 5];

fn frame(tags: &[u16], ethertype: u16) -> Vec<u8> {
    let mut bytes = [[0xff; 6], STATION].concat();
    for tag in tags {
        bytes.extend(ethertype::VLAN.to_be_bytes());
        bytes.extend(tag.to_be_bytes());
    }
    bytes.extend(ethertype.to_be_bytes());
    bytes.extend([7, 8]);
    bytes
}

#[test]
fn frames_are_read_with_up_to_two_tags() {
    for (tags, vlans) in [
        (&[][..], [0, 0]),
        (&[0xa005], [5, 0]),
        (&[9, 0x6fff], [9, 0xfff]),
    ] {
        let bytes = frame(tags, ethertype::IPV6);
        let read = Ethernet::parse(&bytes).unwrap();
        assert_eq!((read.vlans, usize::from(read.tags)), (vlans, tags.len()));
        assert_eq!(
            (read.ethertype, read.payload),
            (ethertype::IPV6, &[7, 8][..])
        );
        assert_eq!((read.source, read.is_group()), (MacAddr(STATION), true));
        for cut in 0..bytes.len() - 2 {
            assert_eq!(
                Ethernet::parse(&bytes[..cut]),
                Err(EthernetError::Truncated)
            );
        }
    }
    assert_eq!(
        Ethernet::parse(&frame(&[1, 2, 3], 0x800)),
        Err(EthernetError::Tags)
    );
}

fn arp(sender: [u8; 4]) -> Vec<u8> {
    [
        &[0, 1, 8, 0, 6, 4, 0, 1][..],
        &STATION,
        &sender,
        &[0; 6],
        &[10, 0, 0, 1],
    ]
    .concat()
}

#[test]
fn arp_binds_its_sender_unless_it_probes() {
    let binding = arp_binding(&arp([10, 0, 0, 7])).unwrap().unwrap();
    assert_eq!(binding.mac, MacAddr(STATION));
    assert_eq!(binding.address, IpAddr::from([10, 0, 0, 7]));
    assert_eq!(arp_binding(&arp([0; 4])), Ok(None));
    assert_eq!(arp_binding(&[0; 28]), Err(EthernetError::Kind));
    assert_eq!(arp_binding(&[0; 27]), Err(EthernetError::Truncated));
}

fn neighbour(kind: u8, source: [u8; 16], target: [u8; 16], options: &[u8]) -> Vec<u8> {
    let length = (24 + options.len()) as u16;
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([58, 255]);
    packet.extend(source);
    packet.extend([0xff; 16]);
    packet.extend([kind, 0, 0, 0, 0, 0, 0, 0]);
    packet.extend(target);
    packet.extend(options);
    packet
}

#[test]
fn neighbour_discovery_binds_source_or_target() {
    let source_option = [&[1, 1][..], &STATION].concat();
    let target_option = [&[5, 1, 0, 0, 0, 0, 0, 0, 2, 1][..], &STATION].concat();
    let solicitation = neighbour(135, [1; 16], [2; 16], &source_option);
    let advertisement = neighbour(136, [1; 16], [2; 16], &target_option);
    for (packet, octets) in [(solicitation, [1; 16]), (advertisement, [2; 16])] {
        let binding = neighbour_binding(&packet).unwrap().unwrap();
        assert_eq!(binding.address, IpAddr::from(octets));
        assert_eq!(binding.mac, MacAddr(STATION));
    }
    // Duplicate address detection has no source.
    assert_eq!(
        neighbour_binding(&neighbour(135, [0; 16], [2; 16], &[])),
        Ok(None)
    );
    let endless = neighbour(135, [1; 16], [2; 16], &[9, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(neighbour_binding(&endless), Err(EthernetError::Length));
}

fn dhcp(options: &[u8]) -> Vec<u8> {
    let mut message = vec![0; 240];
    message[..3].copy_from_slice(&[2, 1, 6]);
    message[16..20].copy_from_slice(&[10, 0, 0, 9]);
    message[28..34].copy_from_slice(&STATION);
    message[236..].copy_from_slice(&[0x63, 0x82, 0x53, 0x63]);
    message.extend(options);
    message
}

#[test]
fn dhcp_tells_addresses_and_the_name_of_a_client() {
    let message = dhcp(&[
        0, 53, 1, 5, 12, 5, b'p', b'h', b'o', b'n', b'e', 50, 4, 10, 0, 0, 8, 255, 1,
    ]);
    let read = Dhcp::parse(&message).unwrap();
    assert_eq!((read.client, read.kind), (MacAddr(STATION), Dhcp::ACK));
    assert_eq!(read.assigned, Some(Ipv4Addr::new(10, 0, 0, 9)));
    assert_eq!(read.requested, Some(Ipv4Addr::new(10, 0, 0, 8)));
    assert_eq!(read.host_name, Some(&b"phone"[..]));
    assert_eq!(Dhcp::parse(&dhcp(&[255])), Err(EthernetError::Kind));
    assert_eq!(
        Dhcp::parse(&dhcp(&[12, 9, 1])),
        Err(EthernetError::Truncated)
    );
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Ethernet::parse(&bytes);
        let _ = arp_binding(&bytes);
        let _ = Dhcp::parse(&bytes);
        let _ = Dhcp::parse(&dhcp(&bytes));
        let _ = neighbour_binding(&bytes);
        let _ = neighbour_binding(&neighbour(136, [1; 16], [2; 16], &bytes));
    }
}
