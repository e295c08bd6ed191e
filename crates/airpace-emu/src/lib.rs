//! The emulated access point: the simulator's MAC under a real clock, with TUN devices and a radiotap monitor.
