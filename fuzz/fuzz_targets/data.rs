//! A datagram or inner message that is accepted is written back to the same bytes.
#![no_main]

use airpace_core::wire::data::{
    Inner, Message, cookie_header, first_handshake_header, inner_header, second_handshake_header,
    transport_header,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match Message::parse(bytes) {
        Ok(Message::FirstHandshake { sender, noise }) => {
            assert_eq!([&first_handshake_header(sender)[..], noise].concat(), bytes);
        }
        Ok(Message::SecondHandshake {
            sender,
            receiver,
            noise,
        }) => {
            let header = second_handshake_header(sender, receiver);
            assert_eq!([&header[..], noise].concat(), bytes);
        }
        Ok(Message::Transport {
            receiver,
            counter,
            sealed,
        }) => {
            let header = transport_header(receiver, counter);
            assert_eq!([&header[..], sealed].concat(), bytes);
        }
        Ok(Message::Cookie { receiver, body }) => {
            assert_eq!([&cookie_header(receiver)[..], body].concat(), bytes);
        }
        Err(_) => {}
    }
    if let Ok(inner) = Inner::parse(bytes) {
        let header = inner_header(inner.kind, inner.sent);
        assert_eq!([&header[..], inner.body].concat(), bytes);
    }
});
