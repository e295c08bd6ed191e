//! What has happened to stations, for an operator.

use airpace_core::report::Sensor;
use airpace_core::wire::ieee80211::MacAddr;
use std::collections::VecDeque;

/// Most news that wait to be taken. A caller that takes none loses the oldest.
const MOST: usize = 256;

/// Something that has happened to a station.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct News {
    /// The station.
    pub mac: MacAddr,
    /// Its name, if one is known.
    pub name: Option<String>,
    /// The access point where it is now, as numbered in
    /// [`InlineConfig::media`](super::InlineConfig::media).
    pub medium: usize,
    /// What has happened.
    pub what: NewsKind,
}

/// A kind of news.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NewsKind {
    /// Something was sent to the station for the first time, so it is not an invented address.
    Joined,
    /// It has been silent for long, or is on the wired side now.
    Left,
    /// It was heard at another access point than before.
    Roamed {
        /// The access point before.
        from: usize,
    },
    /// Another sensor has spoken for it for a second.
    SensorChanged {
        /// The sensor before.
        from: Sensor,
        /// The sensor from now on.
        to: Sensor,
    },
}

/// News that wait to be taken.
#[derive(Clone, Debug, Default)]
pub(super) struct NewsQueue(VecDeque<News>);

impl NewsQueue {
    pub(super) fn push(&mut self, news: News) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(news);
    }

    pub(super) fn pop(&mut self) -> Option<News> {
        self.0.pop_front()
    }
}
