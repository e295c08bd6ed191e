//! The datapath measured: proxy and agent over a link without Wi-Fi, in namespaces of their own.

mod testbed;

pub use testbed::{AGENT, AGENT_OUTSIDE, PROXY, PROXY_OUTSIDE, Running, Testbed};
