//! `redact`, `forget` and `expire`: what was removed for good is in no byte of the store, all else
//! is as it was, and nothing in between can be seen.

mod back;
mod crash;
mod forgotten;
mod import;
mod places;
mod search;
mod writers;

pub(crate) use search::found_in;

use sapwood::ops::{Patterns, RedactOptions, RedactOutcome, RedactWhat, redact};
use sapwood::store::Operation;
use sapwood::store::local::LocalStore;

/// Redacts a literal from a store.
pub(crate) fn redact_literal(store: &LocalStore, literal: &str) -> sapwood::Result<RedactOutcome> {
    let options = RedactOptions {
        what: RedactWhat::Patterns(Patterns::parse(literal.as_bytes())?),
        replacement: "[gone]".to_owned(),
        dry_run: false,
    };
    let (actor, command) = ("tester".to_owned(), "redact --pattern-file".to_owned());
    redact(store, options, &Operation { time: 9, actor, command }, &|_, _| {})
}
