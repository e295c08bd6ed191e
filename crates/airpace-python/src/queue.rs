//! Queues of the access point that are written in Python.

use crate::failure::FirstError;
use crate::law::seconds;
use airpace_core::queue::DropReason;
use airpace_scenario::file::NodeKind;
use airpace_scenario::resolve::Resolved;
use airpace_sim::mac::{self, PacketStore, PathConfig, QueuedPacket, TransmitQueue};
use airpace_units::Time;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A packet that a queue was given.
#[pyclass(frozen, module = "airpace._native")]
pub(crate) struct Packet {
    serial: u64,
    /// Length in bytes, IP header included.
    #[pyo3(get)]
    bytes: u32,
    /// Hash of the flow: equal for packets of one flow, and different for nearly all others.
    #[pyo3(get)]
    flow: u64,
    /// When it came, seconds.
    #[pyo3(get)]
    came_s: f64,
}

#[pymethods]
impl Packet {
    fn __repr__(&self) -> String {
        let Self {
            serial,
            bytes,
            flow,
            came_s,
        } = self;
        format!("<packet {serial} of {bytes} B, flow {flow:x}, came at {came_s} s>")
    }
}

/// What a queue is for.
#[pyclass(frozen, get_all, module = "airpace._native")]
pub(crate) struct QueueSite {
    /// Name of the sender.
    sender: String,
    /// Name of the node that its packets are for on the air.
    receiver: String,
    /// Access category: `background`, `best-effort`, `video` or `voice`.
    category: &'static str,
}

/// What a queue may do to its packets. It is done when the queue's method has returned.
#[pyclass(module = "airpace._native")]
#[derive(Default)]
pub(crate) struct Store {
    wishes: Vec<Wish>,
}

/// What is to be done to a packet.
enum Wish {
    Discard {
        serial: u64,
        reason: DropReason,
    },
    Mark {
        serial: u64,
        otherwise_discard: bool,
    },
}

#[pymethods]
impl Store {
    /// Drops a packet. `reason` is `packet-limit`, `byte-limit`, `sojourn` or `fattest-flow`, and
    /// appears in the figures.
    #[pyo3(signature = (packet, reason = "packet-limit"))]
    fn discard(&mut self, packet: &Packet, reason: &str) -> PyResult<()> {
        let reason = match reason {
            "packet-limit" => DropReason::PacketLimit,
            "byte-limit" => DropReason::ByteLimit,
            "sojourn" => DropReason::Sojourn,
            "fattest-flow" => DropReason::FattestFlow,
            _ => {
                let text = format!(
                    "`{reason}` is not a reason: use packet-limit, byte-limit, sojourn or fattest-flow"
                );
                return Err(PyValueError::new_err(text));
            }
        };
        let serial = packet.serial;
        self.wishes.push(Wish::Discard { serial, reason });
        Ok(())
    }

    /// Marks a packet Congestion Experienced, if its transport takes part in ECN.
    fn mark(&mut self, packet: &Packet) {
        self.wishes.push(Wish::Mark {
            serial: packet.serial,
            otherwise_discard: false,
        });
    }

    /// Marks a packet, or drops it if its transport takes no part in ECN. If the packet is the one
    /// that `dequeue` returns and it is dropped, `dequeue` is called again.
    fn mark_or_discard(&mut self, packet: &Packet) {
        self.wishes.push(Wish::Mark {
            serial: packet.serial,
            otherwise_discard: true,
        });
    }
}

/// Puts the queues into every access point of the network.
pub(crate) fn plug_in(network: &mut Resolved, queues: PythonQueues) -> PyResult<()> {
    let queues = Arc::new(queues);
    let mut placed = false;
    for channel in &mut network.world.channels {
        let mut names = Vec::new();
        for node in &channel.nodes {
            names.push(network.nodes[node.0 as usize].name.clone());
        }
        let names = Arc::new(names);
        for (radio, node) in channel.mac.radios.iter_mut().zip(&channel.nodes) {
            if network.nodes[node.0 as usize].kind == NodeKind::Ap {
                let (queues, names) = (Arc::clone(&queues), Arc::clone(&names));
                radio.path =
                    PathConfig::custom(move |site: &mac::QueueSite| -> Box<dyn TransmitQueue> {
                        Box::new(queues.build(site, &names))
                    });
                placed = true;
            }
        }
    }
    if placed {
        return Ok(());
    }
    let text =
        "there is no access point for the queue: add a [[node]] of kind \"ap\" to the scenario";
    Err(PyValueError::new_err(text))
}

/// Builds the queues.
pub(crate) struct PythonQueues {
    factory: Py<PyAny>,
    errors: FirstError,
    /// Serial number of the next packet. All queues share it, so that a packet of another queue is not
    /// taken for one of this.
    next: Arc<AtomicU64>,
}

impl PythonQueues {
    pub(crate) fn new(factory: Py<PyAny>, errors: FirstError) -> Self {
        let next = Arc::default();
        Self {
            factory,
            errors,
            next,
        }
    }

    fn build(&self, site: &mac::QueueSite, names: &[String]) -> PythonQueue {
        let name = |radio: mac::RadioId| names.get(radio.index()).cloned().unwrap_or_default();
        let site = QueueSite {
            sender: name(site.sender),
            receiver: name(site.receiver),
            category: category_name(site.category),
        };
        let queue = Python::attach(|py| {
            let queue = self.factory.call1(py, (site,))?;
            for method in ["enqueue", "dequeue"] {
                if !queue.bind(py).hasattr(method)? {
                    let text = format!(
                        "{} is not a queue: it has no method {method}",
                        queue.bind(py).repr()?
                    );
                    return Err(PyTypeError::new_err(text));
                }
            }
            Ok(queue)
        });
        let queue = queue.map_err(|error| self.errors.keep(error)).ok();
        PythonQueue {
            queue,
            errors: self.errors.clone(),
            held: BTreeMap::new(),
            next: Arc::clone(&self.next),
        }
    }
}

const fn category_name(category: airpace_core::phy::AccessCategory) -> &'static str {
    use airpace_core::phy::AccessCategory as Category;
    match category {
        Category::Background => "background",
        Category::BestEffort => "best-effort",
        Category::Video => "video",
        Category::Voice => "voice",
    }
}

/// A queue in Python, and the packets that it holds. After its first exception it is not called
/// again, and the run ends.
struct PythonQueue {
    queue: Option<Py<PyAny>>,
    errors: FirstError,
    held: BTreeMap<u64, QueuedPacket>,
    next: Arc<AtomicU64>,
}

impl PythonQueue {
    /// Lets the queue act and does what it wishes.
    fn act<T>(
        &mut self,
        store: &mut dyn PacketStore,
        act: impl FnOnce(&Bound<'_, PyAny>, &Bound<'_, Store>) -> PyResult<T>,
    ) -> Option<T> {
        let queue = self.queue.as_ref()?;
        let acted = Python::attach(|py| {
            let wishes = Bound::new(py, Store::default())?;
            let value = act(queue.bind(py), &wishes)?;
            let wishes = std::mem::take(&mut wishes.borrow_mut().wishes);
            Ok((value, wishes))
        });
        let fulfilled = acted.and_then(|(value, wishes)| {
            for wish in wishes {
                self.fulfil(wish, store)?;
            }
            Ok(value)
        });
        fulfilled.map_err(|error| self.fail(error)).ok()
    }

    fn fulfil(&mut self, wish: Wish, store: &mut dyn PacketStore) -> PyResult<()> {
        match wish {
            Wish::Discard { serial, reason } => {
                let packet = self.held.remove(&serial).ok_or_else(not_held)?;
                store.discard(packet, reason);
            }
            Wish::Mark {
                serial,
                otherwise_discard,
            } => {
                let packet = self.held.get(&serial).ok_or_else(not_held)?;
                if !store.mark(packet) && otherwise_discard {
                    self.fulfil(
                        Wish::Discard {
                            serial,
                            reason: DropReason::Sojourn,
                        },
                        store,
                    )?;
                }
            }
        }
        Ok(())
    }

    fn fail(&mut self, error: PyErr) {
        self.errors.keep(error);
        self.queue = None;
    }
}

fn not_held() -> PyErr {
    PyValueError::new_err(
        "the queue does not hold this packet: it was sent or dropped before, or is another queue's",
    )
}

impl TransmitQueue for PythonQueue {
    fn enqueue(&mut self, now: Time, packet: QueuedPacket, store: &mut dyn PacketStore) {
        let serial = self.next.fetch_add(1, Ordering::Relaxed);
        let shown = Packet {
            serial,
            bytes: packet.bytes(),
            flow: packet.flow(),
            came_s: seconds(packet.came()),
        };
        self.held.insert(serial, packet);
        self.act(store, |queue, wishes| {
            queue
                .call_method1("enqueue", (seconds(now), shown, wishes))
                .map(drop)
        });
    }

    fn dequeue(&mut self, now: Time, store: &mut dyn PacketStore) -> Option<QueuedPacket> {
        loop {
            let held = self.held.len();
            let serial = self.act(store, |queue, wishes| {
                let packet = queue.call_method1("dequeue", (seconds(now), wishes))?;
                if packet.is_none() {
                    return Ok(None);
                }
                Ok(Some(packet.cast::<Packet>()?.get().serial))
            })??;
            if let Some(packet) = self.held.remove(&serial) {
                return Some(packet);
            }
            // It was dropped instead of marked; otherwise the queue would return it for ever.
            if self.held.len() == held {
                self.fail(not_held());
                return None;
            }
        }
    }
}
