//! The one dialect of configuration that scenarios, proxies and agents share.
//!
//! Values carry their unit ([`quantity`]); tables are declared once, with types, defaults, ranges and
//! explanations ([`section`](mod@section), [`choice`]); reading, the refusal of unknown keys, writing and the
//! reference ([`schema`]) follow from that declaration. Every refusal points at its line, or at the
//! setting of the command line that it is about ([`document`]). Nothing here touches the machine.
//!
//! ```
//! use airpace_config::quantity::Span;
//! let slot: Span = "100 ms".parse()?;
//! assert_eq!(slot.to_string(), "100 ms");
//! assert!("100".parse::<Span>().is_err());
//! # Ok::<(), airpace_config::quantity::QuantityError>(())
//! ```

pub mod choice;
pub mod document;
pub mod point;
pub mod quantity;
pub mod schema;
pub mod section;
pub mod suggest;
