//! A network in virtual time: radio channels, wired links, routes, flows, proxies, and what became of every packet.

mod config;

pub use config::{
    Change, ChannelConfig, Feedback, FlowConfig, NodeId, ProxyConfig, Record, RouteConfig, Traffic, WireConfig,
    WorldConfig,
};
