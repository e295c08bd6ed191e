//! Routing rules: which table a packet's route is looked up in (`ip-rule(8)`).

use super::{LinkError, Netlink, refused};
use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::RouteNetlinkMessage as Request;
use netlink_packet_route::route::RouteHeader;
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleHeader, RuleMessage};
use std::net::IpAddr;

/// A rule that has routes looked up in a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    family: AddressFamily,
    /// Rules of lower numbers come first. Linux looks up its main table at 32766.
    priority: u32,
    table: u32,
    /// The rule is for packets to this network alone.
    to: Option<IpNet>,
    /// Routes of the table to networks with a prefix of this length or a shorter one do not count.
    ignored_prefix: Option<u32>,
}

impl Rule {
    /// A rule for packets to `host`: looks up the main table.
    #[must_use]
    pub fn main_table_for(host: IpAddr, priority: u32) -> Self {
        Self {
            to: Some(host.into()),
            ..Self::in_main_table(host.is_ipv4(), priority)
        }
    }

    /// A rule for all packets of one IP version: looks up the main table, but ignores its default
    /// routes.
    #[must_use]
    pub fn main_table_without_default(is_ipv4: bool, priority: u32) -> Self {
        Self {
            ignored_prefix: Some(0),
            ..Self::in_main_table(is_ipv4, priority)
        }
    }

    /// A rule for all packets of one IP version: looks up `table`.
    #[must_use]
    pub fn in_table(is_ipv4: bool, table: u32, priority: u32) -> Self {
        Self {
            table,
            ..Self::in_main_table(is_ipv4, priority)
        }
    }

    fn in_main_table(is_ipv4: bool, priority: u32) -> Self {
        Self {
            family: if is_ipv4 {
                AddressFamily::Inet
            } else {
                AddressFamily::Inet6
            },
            priority,
            table: RouteHeader::RT_TABLE_MAIN.into(),
            to: None,
            ignored_prefix: None,
        }
    }

    fn message(&self) -> RuleMessage {
        let mut message = RuleMessage::default();
        message.header = RuleHeader {
            family: self.family,
            dst_len: self.to.map_or(0, |to| to.prefix_len()),
            table: u8::try_from(self.table).unwrap_or(RouteHeader::RT_TABLE_UNSPEC),
            action: RuleAction::ToTable,
            ..RuleHeader::default()
        };
        message.attributes = vec![
            RuleAttribute::Priority(self.priority),
            RuleAttribute::Table(self.table),
        ];
        if let Some(to) = self.to {
            message
                .attributes
                .push(RuleAttribute::Destination(to.addr()));
        }
        if let Some(prefix) = self.ignored_prefix {
            message
                .attributes
                .push(RuleAttribute::SuppressPrefixLen(prefix));
        }
        message
    }
}

impl Netlink {
    /// Adds a routing rule.
    ///
    /// # Errors
    /// When it exists already, or without CAP_NET_ADMIN.
    pub fn add_rule(&mut self, rule: &Rule) -> Result<(), LinkError> {
        let request = Request::NewRule(rule.message());
        self.command(request, NLM_F_CREATE | NLM_F_EXCL)
            .map_err(|source| refused(format!("add the routing rule {}", rule.priority), source))
    }

    /// Removes a routing rule.
    ///
    /// # Errors
    /// When it does not exist.
    pub fn delete_rule(&mut self, rule: &Rule) -> Result<(), LinkError> {
        self.command(Request::DelRule(rule.message()), 0)
            .map_err(|source| refused(format!("remove the routing rule {}", rule.priority), source))
    }
}
