//! Where the proxy is: at a fixed address, or at that of a name, which may change.

use super::monitor::any_address;
use crate::runtime::Stop;
use airpace_api::endpoint::Endpoint;
use airpace_net::clock::Clock;
use airpace_net::poll::{Interest, Poller};
use airpace_net::udp::{UdpOptions, UdpSocket};
use airpace_units::Time;
use anyhow::Context as _;
use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::net::ToSocketAddrs as _;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

/// Time between two questions for the addresses of a name.
const ASK_EVERY: Duration = Duration::from_secs(10);
/// Time between two looks at whether an answer has come, before there is anything else to do.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Handshakes without an answer after which the name is looked up again.
const UNANSWERED: u32 = 3;

/// The address of the proxy, or of the in-line box.
pub(super) struct Lookup {
    endpoint: Endpoint,
    current: SocketAddr,
    /// Addresses of IPv6 are of no use to a socket of IPv4.
    ipv4_only: bool,
    question: Option<Question>,
    next_question: Time,
}

/// A question for the addresses of a name, which another thread waits for: it may take many seconds.
struct Question {
    answer: Receiver<Vec<SocketAddr>>,
}

impl Question {
    /// Asks. `None` if no thread can be started.
    fn ask(endpoint: &Endpoint) -> Option<Self> {
        let Endpoint::Name { host, port } = endpoint.clone() else {
            return None;
        };
        let (sender, answer) = channel();
        let ask = move || {
            // A name without an address has an empty list, and whoever asked may have given up.
            let addresses = (host.as_str(), port).to_socket_addrs();
            let _ = sender.send(addresses.map(Iterator::collect).unwrap_or_default());
        };
        // The thread ends with the question, or with the process. It shares the network namespace.
        std::thread::Builder::new()
            .name("lookup".to_owned())
            .spawn(ask)
            .ok()?;
        Some(Self { answer })
    }
}

impl Lookup {
    /// Finds the first address, for which a name is looked up until it has one; `None` if `stop`
    /// becomes readable before.
    pub(super) fn first(
        endpoint: &Endpoint,
        clock: Clock,
        stop: Stop<'_>,
    ) -> anyhow::Result<Option<Self>> {
        let found = |current| Self {
            endpoint: endpoint.clone(),
            current,
            ipv4_only: false,
            question: None,
            next_question: Time::ZERO,
        };
        if let Some(address) = endpoint.address() {
            return Ok(Some(found(address)));
        }
        let mut poller = Poller::new()?;
        poller.add(stop, 0, Interest::Read)?;
        loop {
            let question = Question::ask(endpoint);
            let ask_again = clock.now() + ASK_EVERY;
            while clock.now() < ask_again {
                let answer = question.as_ref().map(|question| question.answer.try_recv());
                if let Some(Ok(addresses)) = answer {
                    if let Some(&address) = addresses.first() {
                        tracing::info!(event = "name-found", name = %endpoint, %address, "found");
                        return Ok(Some(found(address)));
                    }
                    tracing::warn!(event = "name-not-found", name = %endpoint, "the name has no address: it is looked up again every 10 s");
                }
                poller.wait(&clock, Some(clock.now() + LOOK_EVERY))?;
                if poller.ready().next().is_some() {
                    return Ok(None);
                }
            }
        }
    }

    /// The present address.
    pub(super) const fn address(&self) -> SocketAddr {
        self.current
    }

    /// A socket to the present address, or to any address that the name may have.
    pub(super) fn open_socket(&mut self, options: UdpOptions) -> anyhow::Result<UdpSocket> {
        const FAILED: &str = "opening the tunnel's socket";
        if self.endpoint.address().is_some() {
            return UdpSocket::bind(any_address(self.current), options).context(FAILED);
        }
        // A socket of IPv6 sends IPv4, too; where the kernel has no IPv6 there is only the other kind.
        let any = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
        if let Ok(socket) = UdpSocket::bind(any, options) {
            return Ok(socket);
        }
        self.ipv4_only = true;
        UdpSocket::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)), options).context(FAILED)
    }

    /// Looks a name up again if handshakes remain unanswered. Returns the address to try next, if it
    /// is another one.
    pub(super) fn poll(&mut self, now: Time, unanswered: u32) -> Option<SocketAddr> {
        if let Some(question) = &self.question {
            match question.answer.try_recv() {
                Ok(addresses) => {
                    self.question = None;
                    return self.choose(&addresses);
                }
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => self.question = None,
            }
        }
        if unanswered >= UNANSWERED && now >= self.next_question {
            self.next_question = now + ASK_EVERY;
            self.question = Question::ask(&self.endpoint);
        }
        None
    }

    /// The address after the present one, which does not answer: a name may have several.
    fn choose(&mut self, addresses: &[SocketAddr]) -> Option<SocketAddr> {
        let usable: Vec<SocketAddr> = addresses
            .iter()
            .filter(|address| address.is_ipv4() || !self.ipv4_only)
            .copied()
            .collect();
        let present = usable.iter().position(|&address| address == self.current);
        let next = present.map_or(0, |place| (place + 1) % usable.len());
        let next = *usable.get(next)?;
        if next == self.current {
            return None;
        }
        self.current = next;
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;

    fn address(text: &str) -> SocketAddr {
        text.parse().expect(text)
    }

    fn lookup() -> Lookup {
        Lookup {
            endpoint: "localhost:7".parse().expect("valid"),
            current: address("192.0.2.1:7"),
            ipv4_only: false,
            question: None,
            next_question: Time::ZERO,
        }
    }

    #[test]
    fn the_addresses_of_a_name_are_tried_in_turn() {
        let all = ["192.0.2.1:7", "192.0.2.2:7", "[2001:db8::1]:7"].map(address);
        let mut lookup = lookup();
        assert_eq!(lookup.choose(&all), Some(all[1]));
        assert_eq!(lookup.choose(&all), Some(all[2]));
        assert_eq!(lookup.choose(&all), Some(all[0]));
        assert_eq!(lookup.choose(&all[..1]), None);
        assert_eq!(lookup.choose(&[]), None);
        assert_eq!(
            lookup.choose(&all[1..2]),
            Some(all[1]),
            "the old one is gone"
        );
        lookup.ipv4_only = true;
        assert_eq!(lookup.choose(&all), Some(all[0]));
        assert_eq!(lookup.address(), all[0]);
    }

    #[test]
    fn a_name_is_looked_up_again_when_handshakes_remain_unanswered() {
        let mut lookup = lookup();
        assert_eq!(lookup.poll(Time::ZERO, UNANSWERED - 1), None);
        assert!(lookup.question.is_none());
        assert_eq!(lookup.poll(Time::ZERO, UNANSWERED), None);
        assert!(lookup.question.is_some());
        let question = lookup.question.take().expect("asked");
        let addresses = question.answer.recv_timeout(Duration::from_secs(20));
        let found = lookup.choose(&addresses.expect("answered"));
        assert!(found.expect("localhost has an address").ip().is_loopback());
    }

    #[test]
    fn the_wait_for_a_name_without_an_address_can_be_stopped() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        drop(ours);
        let endpoint = "name.invalid:7".parse().expect("valid");
        let found = Lookup::first(&endpoint, Clock::start(), theirs.as_fd());
        assert!(found.expect("no error").is_none());
    }
}
