//! Key pairs and preshared keys of the tunnel.

use crate::failure::bad_input;
use crate::output;
use airpace_live::keys::{self, KeyPair};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// The end of the command's help: examples of `command`, with `file` for the private key.
#[must_use]
pub fn examples(command: &str, file: &str) -> String {
    format!(
        "Examples:
  {command} --out {file}          writes the private key, prints the public one
  {command} --public-of {file}    prints the public key again
  {command} --json                   prints both, writes nothing
  {command} --preshared --out shared.key
                                     writes a secret for both ends (preshared_key_file); copy it
                                     to the other end, readable by its owner alone"
    )
}

/// Make a key pair: the private key stays on this machine, the public key goes into the other
/// side's configuration.
#[derive(Args)]
pub struct Keygen {
    /// New file for the private key, which only its owner may read; an existing file is left alone.
    #[arg(long, value_name = "FILE", conflicts_with = "public_of")]
    out: Option<PathBuf>,
    /// Print the public key that belongs to the private key in this file.
    #[arg(long, value_name = "FILE")]
    public_of: Option<PathBuf>,
    /// Make a preshared key instead: a secret that both ends have besides their key pairs.
    #[arg(long, conflicts_with = "public_of")]
    preshared: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What is printed: the private key only if it is not in a file.
#[derive(Serialize)]
struct Keys {
    #[serde(skip_serializing_if = "Option::is_none")]
    private_key: Option<String>,
    public_key: String,
}

/// What is printed of a preshared key: nothing if it is in a file.
#[derive(Serialize)]
struct Shared {
    #[serde(skip_serializing_if = "Option::is_none")]
    preshared_key: Option<String>,
}

/// Generates a key pair, or reads one, and prints its public part; or generates a preshared key.
///
/// # Errors
/// The file cannot be read or written, does not hold a key, or others may read it.
pub fn run(args: &Keygen) -> anyhow::Result<ExitCode> {
    if args.preshared {
        return run_preshared(args);
    }
    let pair = match &args.public_of {
        Some(path) => KeyPair::read(path).map_err(bad_input)?,
        None => KeyPair::generate(),
    };
    if let Some(path) = &args.out {
        pair.write_new(path).map_err(bad_input)?;
    }
    let stored = args.out.is_some() || args.public_of.is_some();
    let private_key = (!stored).then(|| pair.private.to_base64());
    let printed = Keys {
        private_key,
        public_key: pair.public.to_base64(),
    };
    if args.json {
        output::json(&printed)?;
    } else if let Some(private) = &printed.private_key {
        output::text(&format!(
            "private_key = \"{private}\"\npublic_key = \"{}\"\n",
            printed.public_key
        ))?;
    } else {
        output::text(&format!("{}\n", printed.public_key))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn run_preshared(args: &Keygen) -> anyhow::Result<ExitCode> {
    let key = keys::generate_preshared();
    if let Some(path) = &args.out {
        keys::write_new_preshared(&key, path).map_err(bad_input)?;
    }
    let preshared_key = args.out.is_none().then(|| key.to_base64());
    if args.json {
        output::json(&Shared { preshared_key })?;
    } else if let Some(key) = preshared_key {
        output::text(&format!("{key}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
