//! Receivers whose drivers hand packets over some time after they came, because the hardware holds
//! its interrupts back.

use super::event::{Alarm, Class};
use super::{NodeId, Parcel, World};
use crate::mac::{MacConfig, Mitigation, RadioId};
use airpace_units::Time;

/// What a radio has received and not handed over yet.
#[derive(Debug)]
pub(super) struct Intake {
    node: NodeId,
    rules: Mitigation,
    /// When the first and the last frame came since the last interrupt.
    span: Option<(Time, Time)>,
    /// The packets, each with the node that sent it over the air.
    held: Vec<(NodeId, Box<Parcel>)>,
    alarm: Alarm,
}

/// By radio of a channel, the index of its intake, if it has one.
pub(super) type IntakeOfRadio = Vec<Option<u32>>;

/// Adds the intakes of a channel's radios, which belong to `nodes`, to those of the network.
pub(super) fn intakes(
    mac: &MacConfig,
    nodes: &[NodeId],
    intakes: &mut Vec<Intake>,
) -> IntakeOfRadio {
    let mut of_radio = Vec::new();
    for (radio, &node) in mac.radios.iter().zip(nodes) {
        let rules = radio.path.driver.mitigation;
        // There are far fewer than 2^32 radios.
        of_radio.push(rules.map(|_| intakes.len() as u32));
        intakes.extend(rules.map(|rules| Intake::new(node, rules)));
    }
    of_radio
}

impl Intake {
    fn new(node: NodeId, rules: Mitigation) -> Self {
        Self {
            node,
            rules,
            span: None,
            held: Vec::new(),
            alarm: Alarm::default(),
        }
    }

    /// Packets that are held.
    pub(super) const fn held(&self) -> usize {
        self.held.len()
    }

    /// When the interrupt comes; `None` if nothing was received since the last.
    fn due(&self) -> Option<Time> {
        let (first, last) = self.span?;
        let Mitigation {
            after_first,
            after_last,
        } = self.rules;
        Some(
            first
                .saturating_add(after_first)
                .min(last.saturating_add(after_last)),
        )
    }

    /// Something was received at `at`.
    fn receive(&mut self, at: Time) {
        let first = self.span.map_or(at, |(first, _)| first);
        self.span = Some((first, at));
    }
}

impl World {
    /// The intake of a radio that does not hand over at once.
    #[inline]
    pub(super) fn intake_of(&self, channel: usize, radio: RadioId) -> Option<usize> {
        let of_radio = &self.channels[channel].intake_of_radio;
        of_radio.get(radio.index())?.map(|index| index as usize)
    }

    /// A frame of which something was decoded has ended now.
    #[inline(never)]
    pub(super) fn take_in_frame(&mut self, index: usize) {
        self.intakes[index].receive(self.now);
        self.await_interrupt(index);
    }

    /// A packet that `from` has sent over the air is handed over with the next interrupt.
    #[inline(never)]
    pub(super) fn take_in(&mut self, index: usize, from: NodeId, parcel: Box<Parcel>) {
        let intake = &mut self.intakes[index];
        intake.held.push((from, parcel));
        if intake.span.is_none() {
            // It came before and waited for one before it, which is given up now.
            self.take_in_frame(index);
        }
    }

    fn await_interrupt(&mut self, index: usize) {
        let intake = &mut self.intakes[index];
        let due = intake.due();
        // The index was a `u32` before.
        intake
            .alarm
            .set(&mut self.agenda, due, Class::Intake, index as u32);
    }

    /// The hardware of a receiver interrupts, if it is time: all that it has received is handed
    /// over.
    pub(super) fn interrupt(&mut self, index: usize) {
        let now = self.now;
        let intake = &mut self.intakes[index];
        if !intake.alarm.ring(now) {
            return;
        }
        if intake.due().is_none_or(|due| due > now) {
            return self.await_interrupt(index);
        }
        intake.span = None;
        let node = intake.node;
        let mut held = core::mem::take(&mut intake.held);
        for (from, parcel) in held.drain(..) {
            self.receive_from_air(from, node, parcel);
        }
        // Its memory is used again.
        self.intakes[index].held = held;
    }
}
