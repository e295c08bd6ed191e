//! The kernel's view of a TCP connection.

use crate::sys;
use nix::errno::Errno;
use std::os::fd::AsFd;
use std::time::Duration;

/// A part of the kernel's `struct tcp_info` (include/uapi/linux/tcp.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Segments retransmitted since the connection was opened (`tcpi_total_retrans`).
    pub total_retransmits: u32,
    /// Segments with payload sent, retransmissions included (`tcpi_data_segs_out`).
    pub data_segments_out: u32,
    /// Smoothed round-trip time (`tcpi_rtt`).
    pub smoothed_rtt: Duration,
    /// Least round-trip time (`tcpi_min_rtt`).
    pub min_rtt: Duration,
    /// Congestion window in segments (`tcpi_snd_cwnd`).
    pub window_segments: u32,
    /// Payload of a full segment in bytes (`tcpi_snd_mss`).
    pub segment_bytes: u32,
}

/// Asks the kernel about the connection `socket`.
///
/// # Errors
/// The kernel's reason, for example if `socket` is not a TCP socket.
pub fn tcp_info(socket: &impl AsFd) -> Result<TcpInfo, Errno> {
    let info = sys::tcp_info(socket.as_fd())?;
    Ok(TcpInfo {
        total_retransmits: info.tcpi_total_retrans,
        data_segments_out: info.tcpi_data_segs_out,
        smoothed_rtt: Duration::from_micros(u64::from(info.tcpi_rtt)),
        min_rtt: Duration::from_micros(u64::from(info.tcpi_min_rtt)),
        window_segments: info.tcpi_snd_cwnd,
        segment_bytes: info.tcpi_snd_mss,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn a_fresh_connection_has_a_window_and_no_retransmissions() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let info = tcp_info(&stream).unwrap();
        assert!(info.window_segments > 0);
        assert_eq!(info.total_retransmits, 0);
    }

    #[test]
    fn a_udp_socket_is_refused() {
        assert!(tcp_info(&UdpSocket::bind("127.0.0.1:0").unwrap()).is_err());
    }
}
