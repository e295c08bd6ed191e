//! Proxy and agent: the loops that join the core to the network.
