//! The tunnel's real cryptography against altered and invented messages: nothing but the genuine
//! message is accepted, and after a forged answer the genuine one still is.
#![no_main]

use airpace_edge::tunnel::{
    CHECK_BYTES, COOKIE_BYTES, COOKIE_NONCE_BYTES, Crypto, HandshakeCheck as _,
    INITIATION_NOISE_BYTES, PresharedKey, RESPONSE_NOISE_BYTES, SEALED_COOKIE_BYTES,
    TransportKey as _,
};
use airpace_live::fuzzing::noise;
use libfuzzer_sys::fuzz_target;

const PRESHARED: PresharedKey = PresharedKey([7; 32]);

/// A completed handshake, with every message of it.
struct Genuine<C: Crypto> {
    agent: C,
    proxy: C,
    initiator: C::Initiator,
    initiation: [u8; INITIATION_NOISE_BYTES],
    response: [u8; RESPONSE_NOISE_BYTES],
    /// Opens what the proxy seals.
    key: C::Key,
    sealed: Vec<u8>,
    /// Checks of messages to the proxy.
    to_proxy: C::Check,
    check: [u8; CHECK_BYTES],
    cookie: [u8; SEALED_COOKIE_BYTES],
}

const COOKIE: [u8; COOKIE_BYTES] = [3; COOKIE_BYTES];
const NONCE: [u8; COOKIE_NONCE_BYTES] = [4; COOKIE_NONCE_BYTES];
/// Counter of the sealed message.
const COUNTER: u64 = 5;
const PLAIN: &[u8; 48] = b"a packet that is to stay a secret between two en";

fn genuine<C: Crypto>(mut agent: C, mut proxy: C) -> Genuine<C> {
    let mut initiation = [0; INITIATION_NOISE_BYTES];
    let mut initiator = agent.initiate(&proxy.public_key(), &PRESHARED, &[1; 8], &mut initiation);
    let opened = proxy
        .open_initiation(agent.suite(), &initiation)
        .expect("it is genuine");
    let mut response = [0; RESPONSE_NOISE_BYTES];
    let keys = proxy
        .respond(opened.responder, &PRESHARED, &mut response)
        .expect("the keys agree");
    let mut sealed = PLAIN.to_vec();
    let tag = keys.send.seal(COUNTER, &mut sealed);
    sealed.extend_from_slice(&tag);
    // A second initiation, whose answer is only found by altering.
    let mut second = [0; INITIATION_NOISE_BYTES];
    let key = agent
        .finish(&mut initiator, &response)
        .expect("it is genuine")
        .receive;
    let initiator = agent.initiate(&proxy.public_key(), &PRESHARED, &[2; 8], &mut second);
    let opened = proxy
        .open_initiation(agent.suite(), &second)
        .expect("it is genuine");
    proxy
        .respond(opened.responder, &PRESHARED, &mut response)
        .expect("the keys agree");
    let to_proxy = agent.check_for(&proxy.public_key());
    let check = to_proxy.compute(agent.suite(), &second);
    let cookie = to_proxy.seal_cookie(&check, &NONCE, &COOKIE);
    Genuine {
        agent,
        proxy,
        initiator,
        initiation: second,
        response,
        key,
        sealed,
        to_proxy,
        check,
        cookie,
    }
}

/// A genuine message with the bytes of the input over it, from a place on that the input chooses.
fn altered<const N: usize>(genuine: &[u8; N], input: &[u8]) -> [u8; N] {
    let mut message = *genuine;
    if let Some((&place, changes)) = input.split_first() {
        let begin = usize::from(place) % N;
        for (byte, change) in message[begin..].iter_mut().zip(changes) {
            *byte ^= change;
        }
    }
    message
}

fn run<C: Crypto>(state: &mut Genuine<C>, choice: u8, input: &[u8]) {
    match choice {
        // Opening an initiation takes two key agreements, so it is done seldom.
        0 => {
            let message = altered(&state.initiation, input);
            let opened = state.proxy.open_initiation(state.agent.suite(), &message);
            assert_eq!(opened.is_some(), message == state.initiation);
        }
        1 | 2 => {
            let message = altered(&state.response, input);
            if message != state.response {
                assert!(state.agent.finish(&mut state.initiator, &message).is_none());
            }
        }
        3..=80 => {
            let message = altered(&state.cookie, input);
            let opened = state.to_proxy.open_cookie(&state.check, &NONCE, &message);
            assert_eq!(opened, (message == state.cookie).then_some(COOKIE));
        }
        81..=128 => {
            let mut message = [0; 64];
            for (byte, given) in message.iter_mut().zip(input) {
                *byte = *given;
            }
            let mac = altered(&state.check, input);
            // 128 bits cannot be guessed.
            assert!(state.to_proxy.verify(&message, &mac).is_none());
        }
        _ => {
            let sealed: &[u8; 64] = state.sealed.first_chunk().expect("its length is fixed");
            let message = altered(sealed, input);
            let length = 64 - usize::from(choice % 4 == 3) * usize::from(choice >> 4);
            let counter = COUNTER + u64::from(choice % 4 == 2);
            let is_genuine = message == *sealed && length == 64 && counter == COUNTER;
            let mut bytes = message[..length].to_vec();
            let opened = state.key.open(counter, &mut bytes);
            assert_eq!(opened.as_deref(), is_genuine.then_some(&PLAIN[..]));
        }
    }
}

fuzz_target!(|input: &[u8]| {
    // Keys are made once: they would cost more than all that follows.
    thread_local! {
        static RUN: std::cell::RefCell<Box<dyn FnMut(u8, &[u8])>> = {
            let mut state = genuine(noise([1; 32]), noise([2; 32]));
            std::cell::RefCell::new(Box::new(move |choice, input| run(&mut state, choice, input)))
        };
    }
    if let Some((&choice, rest)) = input.split_first() {
        RUN.with_borrow_mut(|run| run(choice, rest));
    }
});
