//! Changes to a running cell, which other threads ask for.

use crate::trace::{Move, StationMove};
use airpace_core::phy::TxRate;
use airpace_units::StationId;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};

/// A change to a running cell.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// The station sleeps and hears every so many beacons.
    Sleep(StationId, u16),
    Wake(StationId),
    Leave(StationId),
    Join(StationId),
    /// The station goes to the access point with this index.
    Roam(StationId, usize),
    /// Both directions of the station have this rate from now on.
    SetRate(StationId, TxRate),
    /// MPDUs to and from the station are lost with this probability.
    SetLoss(StationId, f64),
}

impl From<StationMove> for Change {
    fn from(StationMove { station, what, .. }: StationMove) -> Self {
        match what {
            Move::Sleep { listen_interval } => Self::Sleep(station, listen_interval),
            Move::Wake => Self::Wake(station),
            Move::Leave => Self::Leave(station),
            Move::Join => Self::Join(station),
            Move::Roam { access_point } => Self::Roam(station, access_point),
        }
    }
}

impl Change {
    /// Returns the station that it is about.
    pub(crate) const fn station(self) -> StationId {
        match self {
            Self::Sleep(station, _)
            | Self::Wake(station)
            | Self::Leave(station)
            | Self::Join(station)
            | Self::Roam(station, _)
            | Self::SetRate(station, _)
            | Self::SetLoss(station, _) => station,
        }
    }
}

/// Changes that wait for the emulator's thread. As a file, it is readable while there are any.
#[derive(Debug)]
pub(crate) struct Changes {
    waiting: Mutex<VecDeque<Change>>,
    ready: EventFd,
}

impl Changes {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        Ok(Self {
            waiting: Mutex::new(VecDeque::new()),
            ready: EventFd::from_value_and_flags(0, flags)?,
        })
    }

    /// Asks for a change.
    pub(crate) fn push(&self, change: Change) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push_back(change);
        // Only a counter of 2^64 - 1 would refuse.
        let _ = self.ready.write(1);
    }

    /// Takes all changes that wait.
    pub(crate) fn take(&self) -> Vec<Change> {
        // Read first: a change that comes in between makes it readable again.
        let _ = self.ready.read();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.drain(..).collect()
    }
}

impl AsFd for Changes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}
