//! Runs the commands of `docs/deploy.md` as they stand there, each section in network namespaces of
//! its own, and checks that the network works after each.
//!
//! A comment before each block of commands names the machine on which it is run, says that it runs
//! until it is stopped, or gives the reason why it is not run.

use super::guide::{self, Action, Section};
use super::lab::Lab;

/// The sections, in their order; all others have no commands that can be run.
const SECTIONS: [&str; 3] = ["In the cable", "On the router", "Through a tunnel"];

fn section(title: &str) -> Section {
    let sections = guide::sections();
    let found = sections.into_iter().find(|section| section.title == title);
    found.unwrap_or_else(|| panic!("docs/deploy.md has no section {title:?}"))
}

/// Runs the blocks of a section. `lab` has the machines that it names.
fn run(section: &Section, lab: &mut Lab) {
    let mut heading = "";
    for block in &section.blocks {
        if block.heading != heading {
            // What a part of the guide has started is ended before the next part.
            lab.stop_all();
            heading = &block.heading;
        }
        match &block.action {
            Action::NotRun => {}
            Action::Run(machine) => lab.run(machine, block),
            Action::UntilStopped(machine) => {
                lab.start(machine, block);
                lab.expect_answers(block);
            }
        }
    }
}

#[test]
fn every_block_of_commands_says_where_it_is_run_or_why_not() {
    let sections = guide::sections();
    for title in SECTIONS {
        let section = section(title);
        let has_commands = |block: &guide::Block| block.action != Action::NotRun;
        assert!(section.blocks.iter().any(has_commands), "{title}");
    }
    for section in sections {
        if SECTIONS.contains(&section.title.as_str()) {
            continue;
        }
        for block in section.blocks {
            assert_eq!(
                block.action,
                Action::NotRun,
                "{}: no test runs this",
                block.text
            );
        }
    }
}

#[test]
fn the_box_in_the_cable_works_as_the_guide_says() {
    let Some(mut lab) = Lab::in_the_cable("deploy") else {
        return;
    };
    run(&section("In the cable"), &mut lab);
    lab.stop_all();
    let printed = lab.printed_by("airpace edge status");
    assert!(printed.contains("02:00:00:00:01:02"), "{printed}");
    // A row ends after ten seconds, or with the box.
    let rows = lab.text_of("box", "/run/airpace-edge.jsonl");
    let has_row = rows.contains("02:00:00:00:01:02") && rows.contains("\"sensor\"");
    assert!(has_row, "{rows}");
    let links = lab.links("box");
    assert!(!links.contains("airpace-br"), "nothing is left: {links}");
}

#[test]
fn the_router_paces_its_own_stations_as_the_guide_says() {
    let Some(mut lab) = Lab::on_the_router() else {
        return;
    };
    run(&section("On the router"), &mut lab);
    lab.stop_all();
    let links = lab.links("router");
    assert!(!links.contains("airpace-br"), "nothing is left: {links}");
}

#[test]
fn the_tunnel_carries_a_station_as_the_guide_says() {
    let Some(mut lab) = Lab::through_a_tunnel() else {
        return;
    };
    run(&section("Through a tunnel"), &mut lab);
    // The station's own address would show that the packets had not gone through the tunnel.
    lab.expect_source([10, 99, 0, 2].into());
    lab.stop_all();
}
