//! Tests that need more than one module of the core.

mod captures;
mod errata;
