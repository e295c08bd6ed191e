//! `airpace keygen`.

use crate::shared::{airpace, assert_refused, folder, json};
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn the_private_key_goes_to_a_file_of_mode_600_and_the_public_key_is_printed() {
    let folder = folder("keygen");
    let path = folder.path().join("proxy.key");
    let line = format!("keygen --out {}", path.display());
    let run = airpace(&line);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.stdout.trim().len(), 44);
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let again = airpace(&format!("keygen --public-of {}", path.display()));
    assert_eq!(again.stdout, run.stdout);
    assert_refused(&line, "cannot create");
}

#[test]
fn without_a_file_both_keys_are_printed() {
    let (first, second) = (json("keygen"), json("keygen"));
    assert_eq!(first["private_key"].as_str().unwrap().len(), 44);
    assert_ne!(first["public_key"], second["public_key"]);
    assert!(airpace("keygen").stdout.starts_with("private_key = \""));
}

#[test]
fn a_file_without_a_key_is_refused() {
    let folder = folder("keyless");
    let path = folder.path().join("not.key");
    std::fs::write(&path, "hello").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_refused(
        &format!("keygen --public-of {}", path.display()),
        "chmod 600",
    );
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_refused(
        &format!("keygen --public-of {}", path.display()),
        "this is not a key",
    );
    assert_refused("keygen --public-of nowhere.key", "cannot read");
    assert_refused("keygen --out a --public-of b", "cannot be used with");
}

#[test]
fn a_preshared_key_goes_to_a_file_of_mode_600_or_is_printed() {
    let folder = folder("preshared");
    let path = folder.path().join("shared.key");
    let line = format!("keygen --preshared --out {}", path.display());
    let run = airpace(&line);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.trim().len(), 44);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_refused(&line, "cannot create");
    let printed = json("keygen --preshared");
    assert_ne!(printed["preshared_key"].as_str().unwrap(), text.trim());
    assert_refused("keygen --preshared --public-of b", "cannot be used with");
}
