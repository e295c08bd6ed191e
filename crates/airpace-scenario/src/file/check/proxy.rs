//! Proxies: keys that only law waterfill has, keys that exclude each other, keys that need another.

use super::{Checked, check_single_node};
use crate::file::{Proxy, Reports, Scenario};
use airpace_config::choice::Extended;
use airpace_config::document::refuse;
use airpace_core::control::Law;

pub(super) fn check(scenario: &Scenario, proxy: &Proxy, at: &str) -> Checked {
    if let Some(node) = &proxy.at {
        check_single_node(scenario, node, &format!("{at}.at"))?;
    }
    check_goal(proxy, at)?;
    if proxy.interactive_budget.is_some() && proxy.interactive.is_none() {
        return refuse(
            format!("{at}.interactive_budget"),
            "`interactive_budget` needs `interactive`: add interactive = \"video\" or \"voice\"",
        );
    }
    let radio_keys = [
        ("air_loss", proxy.air_loss.is_some()),
        ("air_loss_control", proxy.air_loss_control.is_some()),
    ];
    for (key, is_given) in radio_keys {
        if is_given && proxy.reports != Reports::Radio {
            return refuse(
                format!("{at}.{key}"),
                format!("`{key}` needs a radio: add reports = \"radio\""),
            );
        }
    }
    Ok(())
}

/// Refuses a goal that the law would ignore, and two prices of delay.
fn check_goal(proxy: &Proxy, at: &str) -> Checked {
    let is_waterfill = matches!(proxy.law.0, Extended::Base(Law::Waterfill));
    let keys = [
        ("aim", proxy.aim.is_some()),
        ("price", proxy.price.is_some()),
        ("latency", proxy.latency.is_some()),
    ];
    for (key, is_given) in keys {
        if is_given && !is_waterfill {
            return refuse(
                format!("{at}.{key}"),
                format!(
                    "law {} has no `{key}`: leave it out, or leave out `law` for law waterfill",
                    proxy.law
                ),
            );
        }
    }
    // An aim is a price by its name, so one of the two would have no effect.
    if proxy.aim.is_some() && proxy.price.is_some() {
        return refuse(
            format!("{at}.price"),
            "`aim` sets the price already: give one of `aim` and `price`",
        );
    }
    Ok(())
}
