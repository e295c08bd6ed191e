//! Queueing disciplines.

use super::{LinkError, Netlink, Request, refused};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};

impl Netlink {
    /// Takes the queueing discipline of an interface away, so that packets go to the device at once
    /// and a sender learns when the device does not take one. TCP then sends it again later, as one
    /// that has never been sent, with a smaller window; with a discipline in between, nobody would
    /// tell TCP, and it would have to find out by a loss.
    ///
    /// # Errors
    /// When the interface does not exist, or without CAP_NET_ADMIN.
    pub fn remove_queueing(&mut self, name: &str) -> Result<(), LinkError> {
        let index = self.index(name)?;
        let operation = || format!("remove the queueing discipline of the interface {name}");
        // The kernel numbers interfaces from 1 up to the largest positive 32-bit number.
        let index = i32::try_from(index)
            .map_err(|_| refused(operation(), std::io::ErrorKind::InvalidData.into()))?;
        let mut message = TcMessage::with_index(index);
        message.header.parent = TcHandle::ROOT;
        message
            .attributes
            .push(TcAttribute::Kind("noqueue".to_owned()));
        let request = Request::NewQueueDiscipline(message);
        self.command(request, NLM_F_CREATE | NLM_F_REPLACE)
            .map_err(|source| refused(operation(), source))
    }
}
