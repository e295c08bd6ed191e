//! The small program as its users see it.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

/// Runs the program with these arguments and returns its exit code, standard output and standard
/// error.
fn agent(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_airpace-agent"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn it_makes_keys_and_reads_the_same_configuration_as_the_large_program() {
    let (code, key, log) = agent(&["keygen"]);
    assert_eq!(code, Some(0), "{log}");
    let (private, public) = key.trim().split_once('\n').unwrap();
    let public = public.trim_start_matches("public_key = ");
    let text = format!(
        "proxy = \"192.0.2.1:51900\"\nproxy_public_key = {public}\n{private}\n[tun]\naddress = \"10.77.0.2/24\"\n"
    );
    let path = std::env::temp_dir().join(format!("airpace-agent-{}.toml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let args = ["run", "--config", path.to_str().unwrap(), "--print-config"];
    // A file that holds a private key must not be readable by others.
    std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let (code, _, log) = agent(&args);
    assert!(code == Some(2) && log.contains("chmod 600"), "{log}");
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let (code, printed, log) = agent(&args);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(code, Some(0), "{log}");
    assert!(printed.contains("gather_acks = \"5 ms\""), "{printed}");
}

#[test]
fn bad_input_ends_with_2_and_one_line() {
    for arguments in [&["run"][..], &["run", "--config", "nowhere.toml"], &["rn"]] {
        let (code, printed, log) = agent(arguments);
        assert_eq!((code, printed.as_str()), (Some(2), ""), "{arguments:?}");
        assert_eq!(log.lines().count(), 1, "{log}");
    }
}

#[test]
fn help_names_this_program() {
    for command in ["run", "keygen"] {
        let (code, help, _) = agent(&[command, "--help"]);
        assert_eq!(code, Some(0));
        assert!(help.contains(&format!("airpace-agent {command}")), "{help}");
    }
}
