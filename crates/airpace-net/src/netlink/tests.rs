use super::*;

/// A message of `kind` in answer to request `sequence`, with the length in its header.
fn message(kind: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (16 + payload.len() as u32).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend([0; 2]);
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// `NLMSG_ERROR` with an error number, zero for an acknowledgement.
fn error(sequence: u32, number: i32) -> Vec<u8> {
    let mut payload = (-number).to_ne_bytes().to_vec();
    payload.extend([0; 16]);
    message(2, sequence, &payload)
}

#[test]
fn the_answer_is_found_behind_those_to_earlier_requests() {
    let mut datagram = error(4, libc::ENODEV);
    datagram.extend(error(5, 0));
    datagram.extend(error(6, libc::EPERM));
    assert_eq!(answer_in(&datagram, 5).unwrap().unwrap(), None);
    let refusal = answer_in(&datagram, 6).unwrap().unwrap_err();
    assert_eq!(refusal.kind(), io::ErrorKind::PermissionDenied);
    assert!(answer_in(&datagram, 7).is_none());
}

#[test]
fn malformed_answers_are_errors_or_ignored_but_never_a_panic() {
    for n in 0..80 {
        for kind in [0, 2, 3, 4, 16, 20, 24] {
            let _ = answer_in(&message(kind, 5, &vec![0xff; n]), 5);
            let _ = answer_in(&message(kind, 5, &vec![0; n]), 5);
        }
        assert!(answer_in(&vec![0xff; n], 5).is_none());
        assert!(answer_in(&vec![0; n], 5).is_none());
    }
    // The least number has no absolute value.
    let mut payload = i32::MIN.to_ne_bytes().to_vec();
    payload.extend([0; 16]);
    let refusal = answer_in(&message(2, 5, &payload), 5).unwrap();
    assert!(refusal.is_err());
    let mut too_long = error(5, 0);
    too_long[0] += 8;
    assert!(answer_in(&too_long, 5).is_none());
}
