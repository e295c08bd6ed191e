//! The one dialect of configuration that scenarios, proxies and agents share.
//!
//! A file is TOML in which every value carries its unit ([`quantity`]). Each table is declared
//! once, with the type, default, range and explanation of every key ([`section!`](macro@section),
//! [`choice!`](macro@choice)). Reading, writing, the refusal of unknown keys and the reference for
//! people and programs ([`schema`]) all follow from that declaration.
//!
//! It never guesses. A number without its unit, a key that is not declared and a value out of range
//! are errors, and each error points at its line, or at the setting of the command line that caused
//! it, and proposes a remedy. It also never touches the machine: the caller reads the file and
//! hands over its text.
//!
//! Three types to know:
//! - [`Section`](section::Section), a declared table, which [`document::read`] fills from a text;
//! - [`Setting`](setting::Setting), a value that can stand behind a key;
//! - [`DocumentError`](document::DocumentError), a refusal and the place in the file that it is
//!   about.
//!
//! ```
//! use airpace_config::quantity::Span;
//! use airpace_config::{document, section};
//!
//! section! {
//!     /// The rate control of a proxy.
//!     Control as "[control]" {
//!         /// Length of a slot.
//!         slot: Span = default("100 ms", "10 ms", "10 s"),
//!         /// Name of the access point.
//!         ap: String = required("roof"),
//!     }
//! }
//!
//! let (control, source) = document::read::<Control>("ap = \"hall\"", &["slot=50 ms".parse()?])?;
//! assert_eq!(control.slot.to_string(), "50 ms");
//!
//! // Checks of the caller's own point at the same places.
//! let error = source.refuse("ap", "there is no access point `hall`");
//! assert_eq!(error.one_line("proxy.toml"), "proxy.toml:1:6: there is no access point `hall`");
//!
//! let error = document::read::<Control>("ap = \"hall\"\nslto = \"1 s\"", &[]).unwrap_err();
//! assert_eq!(
//!     error.one_line("proxy.toml"),
//!     "proxy.toml:2:1: [control] has no key `slto`: did you mean `slot`?"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod choice;
pub mod declaration;
pub mod document;
mod network;
pub mod point;
pub mod quantity;
pub mod schema;
pub mod section;
pub mod setting;
pub mod suggest;

// The macros `section!` and `choice!` expand in other crates, which need not depend on serde
// themselves.
#[doc(hidden)]
pub use serde;
