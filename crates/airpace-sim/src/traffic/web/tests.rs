use super::*;
use proptest::prelude::*;

const PLAIN: BrowserConfig = BrowserConfig::new(Page {
    objects: Vec::new(),
});

fn config(page: Page) -> BrowserConfig {
    BrowserConfig {
        page,
        limit: Some(2),
        ..PLAIN
    }
}

fn browser(config: BrowserConfig) -> Browser {
    Browser::new(config, Stream::new(1, "web", 0))
}

fn drain(browser: &mut Browser) -> Vec<Output> {
    core::iter::from_fn(|| browser.poll()).collect()
}

const MS: Duration = Duration::from_millis(1);

#[test]
fn named_pages_have_the_sizes_of_the_paper() {
    for (page, bytes, requests) in [
        (NamedPage::Small.page(), 56_000, 3),
        (NamedPage::Large.page(), 3_000_000, 110),
    ] {
        assert_eq!(
            (page.bytes(), page.len(), page.is_empty()),
            (bytes, requests, false)
        );
    }
    assert_eq!(
        (NamedPage::default(), "large".parse()),
        (NamedPage::Small, Ok(NamedPage::Large))
    );
    assert_eq!(Page::new(vec![]), Err(PageError::Empty));
    assert_eq!(Page::even(5, 0), Err(PageError::Empty));
    assert_eq!(Page::even(5, 6), Err(PageError::NoBytes));
}

#[test]
fn a_page_starts_with_a_query_then_its_document_then_the_rest_at_once() {
    let mut browser = browser(BrowserConfig {
        connections: 2,
        ..config(Page::new(vec![100, 10, 20, 30]).unwrap())
    });
    let request = |id, object, response| Output::Request {
        connection: ConnectionId(id),
        object,
        bytes: 300,
        response,
    };
    let [t0, t1, t2, t3] = [0, 20, 40, 60].map(Time::from_millis);
    browser.handle(t0, Input::Tick);
    assert_eq!(
        drain(&mut browser),
        [Output::Query {
            bytes: 40,
            answer: 120
        }]
    );
    browser.handle(t1, Input::Answered);
    assert_eq!(drain(&mut browser), [Output::Open(ConnectionId(0))]);
    browser.handle(t2, Input::Connected(ConnectionId(0)));
    assert_eq!(drain(&mut browser), [request(0, 0, 100)]);
    browser.handle(t2, Input::Received(ConnectionId(0), 99));
    assert_eq!(drain(&mut browser), []);
    browser.handle(t2, Input::Received(ConnectionId(0), 1));
    assert_eq!(
        drain(&mut browser),
        [request(0, 1, 10), Output::Open(ConnectionId(1))]
    );
    browser.handle(t2, Input::Connected(ConnectionId(1)));
    browser.handle(t2, Input::Received(ConnectionId(0), 10));
    assert_eq!(drain(&mut browser), [request(1, 2, 20), request(0, 3, 30)]);
    browser.handle(t2, Input::Received(ConnectionId(1), 20));
    browser.handle(t3, Input::Received(ConnectionId(0), 30));
    let load = PageLoad {
        page: 0,
        start: t0,
        end: t3,
    };
    assert_eq!(
        drain(&mut browser),
        [
            Output::Close(ConnectionId(0)),
            Output::Close(ConnectionId(1)),
            Output::Loaded(load)
        ]
    );
    assert_eq!(
        (load.duration(), browser.deadline(), browser.stray()),
        (60 * MS, Some(Time::from_millis(1_060)), 0)
    );
}

#[test]
fn a_query_is_repeated_until_it_is_answered() {
    let mut browser = browser(config(NamedPage::Small.page()));
    for second in [0, 5, 10] {
        assert_eq!(browser.deadline(), Some(Time::from_millis(second * 1_000)));
        browser.handle(Time::from_millis(second * 1_000), Input::Tick);
        assert_eq!(drain(&mut browser).len(), 1);
    }
    browser.handle(Time::from_millis(10_020), Input::Answered);
    browser.handle(Time::from_millis(10_030), Input::Answered);
    assert_eq!(
        (
            drain(&mut browser).len(),
            browser.stray(),
            browser.deadline()
        ),
        (1, 1, None)
    );
    assert_eq!(browser.load_times().count(), 0, "the page is still loading");
}

#[test]
fn the_object_of_a_lost_connection_is_requested_again() {
    let mut browser = browser(config(Page::new(vec![5]).unwrap()));
    browser.handle(Time::ZERO, Input::Tick);
    browser.handle(Time::ZERO, Input::Answered);
    browser.handle(Time::ZERO, Input::Lost(ConnectionId(0)));
    browser.handle(Time::ZERO, Input::Connected(ConnectionId(1)));
    browser.handle(Time::ZERO, Input::Received(ConnectionId(1), 4));
    browser.handle(Time::ZERO, Input::Lost(ConnectionId(1)));
    browser.handle(Time::ZERO, Input::Connected(ConnectionId(2)));
    browser.handle(Time::ZERO, Input::Received(ConnectionId(2), 4));
    assert_eq!(browser.load_times().count(), 0);
    browser.handle(Time::ZERO, Input::Received(ConnectionId(2), 1));
    assert_eq!((browser.load_times().count(), browser.stray()), (1, 0));
}

#[test]
fn no_page_starts_after_the_end() {
    assert!(
        browser(BrowserConfig {
            stop: Some(Time::ZERO),
            ..config(NamedPage::Small.page())
        })
        .is_finished()
    );
    assert!(
        browser(BrowserConfig {
            limit: Some(0),
            ..config(NamedPage::Small.page())
        })
        .is_finished()
    );
}

/// A server and a network that serve the browser in random order, with connections that break.
#[derive(Default)]
struct Network {
    due: Vec<Input>,
    open: Vec<ConnectionId>,
    most_open: usize,
    asked: Vec<usize>,
    loads: Vec<PageLoad>,
}

impl Network {
    fn serve(&mut self, output: Output) {
        match output {
            Output::Query { .. } => self.due.push(Input::Answered),
            Output::Open(id) => {
                self.open.push(id);
                self.due.push(Input::Connected(id));
            }
            Output::Request {
                connection,
                object,
                response,
                ..
            } => {
                assert!(self.open.contains(&connection));
                self.asked.push(object);
                let first = u64::from(response) / 2;
                self.due.extend([
                    Input::Received(connection, first),
                    Input::Received(connection, u64::from(response) - first),
                ]);
            }
            Output::Close(id) => self.close(id),
            Output::Loaded(load) => {
                assert!(
                    self.open.is_empty(),
                    "all connections are closed before the page is complete"
                );
                self.loads.push(load);
            }
        }
        self.most_open = self.most_open.max(self.open.len());
    }

    fn close(&mut self, id: ConnectionId) {
        self.open.retain(|open| *open != id);
        self.due.retain(|input| !matches!(input, Input::Connected(other) | Input::Received(other, _) if *other == id));
    }
}

proptest! {
    #[test]
    fn pages_complete_in_any_order_of_events(
        objects in prop::collection::vec(2..10_000u32, 1..40), connections in 0..7u32, picks in prop::collection::vec((any::<usize>(), 0..20u32), 1..50),
    ) {
        let n_objects = objects.len();
        let page = Page::new(objects).unwrap();
        let mut browser = browser(BrowserConfig { connections, limit: Some(3), ..config(page) });
        let (mut network, mut now, mut lost) = (Network::default(), Time::ZERO, 0);
        for (pick, fate) in picks.into_iter().cycle().take(20_000) {
            while let Some(output) = browser.poll() {
                network.serve(output);
            }
            now += Duration::from_micros(100);
            if network.due.is_empty() {
                let Some(deadline) = browser.deadline() else { break };
                now = now.max(deadline);
                browser.handle(now, Input::Tick);
            } else if fate == 0 && lost < 20 && !network.open.is_empty() {
                lost += 1;
                let id = network.open[pick % network.open.len()];
                network.close(id);
                browser.handle(now, Input::Lost(id));
            } else {
                let due = network.due.remove(pick % network.due.len());
                browser.handle(now, due);
            }
        }
        prop_assert!(browser.is_finished());
        prop_assert_eq!((network.loads.len(), browser.load_times().count(), browser.stray()), (3, 3, 0));
        prop_assert!(network.most_open <= connections.max(1) as usize);
        // Each object is asked for once per page, and again for each connection that was lost.
        prop_assert!(network.asked.len() >= 3 * n_objects && network.asked.len() <= 3 * n_objects + lost);
        prop_assert!(network.loads.windows(2).all(|pair| pair[1].start >= pair[0].end + Duration::from_secs(1)));
    }

    #[test]
    fn any_inputs_keep_the_state_consistent(inputs in prop::collection::vec((0..5u32, 0..10u64, any::<u64>(), any::<u64>()), 1..300)) {
        let mut browser = browser(config(Page::new(vec![1_000; 9]).unwrap()));
        for (kind, id, bytes, now) in inputs {
            let id = ConnectionId(id);
            let input = match kind {
                0 => Input::Tick,
                1 => Input::Answered,
                2 => Input::Connected(id),
                3 => Input::Received(id, bytes % 2_000),
                _ => Input::Lost(id),
            };
            browser.handle(Time::from_nanos(now), input);
            prop_assert!(browser.connections.len() <= 4 && browser.missing <= 9);
            let fetching = browser.connections.iter().filter(|c| matches!(c.state, ConnectionState::Fetching { .. })).count();
            prop_assert!(browser.wanted.len() + fetching <= 9);
            drain(&mut browser);
        }
    }
}
