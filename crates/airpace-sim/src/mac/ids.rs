//! The numbers by which the parts of the MAC refer to one another.

use crate::radio::RadioId;
use airpace_core::phy::AccessCategory;
use core::ops::{Index, IndexMut};

/// The four access categories, lowest priority first.
pub(super) const CATEGORIES: [AccessCategory; 4] = [
    AccessCategory::Background,
    AccessCategory::BestEffort,
    AccessCategory::Video,
    AccessCategory::Voice,
];

/// One of the four channel access functions (EDCAFs, 10.23.2.1) of a radio.
///
/// They are ordered by radio, then by priority: of those of one radio that win the channel
/// together, the last transmits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct AccessFunctionId {
    pub(super) radio: RadioId,
    pub(super) category: AccessCategory,
}

/// Whoever contends for the channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum ContenderId {
    /// An access function of one of the radios.
    Radio(AccessFunctionId),
    /// A transmitter of another network, by the number that it got when it came.
    Neighbour(u32),
    /// A radio, for its management frames. They stand behind all others, because they go before
    /// the data of their radio.
    Management(RadioId),
}

/// Whoever transmits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Transmitter {
    /// One of the radios.
    Radio(RadioId),
    /// A transmitter of another network; every radio hears it.
    Neighbour,
}

/// Defines an index into one of the MAC's tables.
macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub(super) struct $name(u32);

        impl $name {
            /// The entry at `index`. The tables have fewer than 2³² entries: there are fewer than
            /// 2¹⁶ radios.
            pub(super) const fn from_index(index: usize) -> Self {
                Self(index as u32)
            }

            /// The index into the table.
            pub(super) const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index! {
    /// A directed link between two radios.
    LinkId
}
index! {
    /// A link's place in the transmit path of one access category of its sender.
    LaneId
}
index! {
    /// A group of radios that hear the same; see [`super::view::View`].
    ViewId
}

impl LaneId {
    /// The number by which the queues of [`airpace_core`] know the lane.
    pub(super) const fn number(self) -> u32 {
        self.0
    }

    /// The lane with this number.
    pub(super) const fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// One `T` for each access category.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByCategory<T>([T; 4]);

impl<T> ByCategory<T> {
    /// The values that `value` returns for each category, lowest priority first.
    pub(super) fn from_fn(value: impl FnMut(AccessCategory) -> T) -> Self {
        Self(CATEGORIES.map(value))
    }

    /// The values, that of the lowest priority first.
    pub(super) fn iter(&self) -> core::slice::Iter<'_, T> {
        self.0.iter()
    }
}

impl<T> Index<AccessCategory> for ByCategory<T> {
    type Output = T;

    fn index(&self, category: AccessCategory) -> &T {
        &self.0[category as usize]
    }
}

impl<T> IndexMut<AccessCategory> for ByCategory<T> {
    fn index_mut(&mut self, category: AccessCategory) -> &mut T {
        &mut self.0[category as usize]
    }
}
