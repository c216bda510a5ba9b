//! Names that people give: what would be read as something else is refused.

use crate::error::{Error, Result};
use crate::id::Id;

/// Checks the name of a new branch or label: no revision that means something else may be one.
pub(crate) fn check_name(what: &'static str, name: &str) -> Result<()> {
    match fault(name) {
        Some(why) => Err(Error::InvalidName { what, name: name.to_owned(), why }),
        None => Ok(()),
    }
}

fn fault(name: &str) -> Option<&'static str> {
    if matches!(name, "HEAD" | "@") {
        return Some("it means the active branch");
    }
    if name.starts_with(['-', '^']) {
        return Some("it begins with '-' or '^'");
    }
    if ["msg:", "turn:", "id:"].iter().any(|prefix| name.starts_with(prefix)) {
        return Some("it begins as a revision does");
    }
    if name.parse::<Id>().is_ok() {
        return Some("it is an object's id");
    }
    let steps = name.rsplit_once('~').map(|(_, steps)| steps);
    if steps.is_some_and(|steps| steps.bytes().all(|digit| digit.is_ascii_digit())) {
        return Some("it ends in steps back, '~' and a number");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_something_else_are_refused() {
        let id = "0a".repeat(32);
        let bad =
            ["HEAD", "@", "-", "--help", "^main", "msg:3", "turn:1", "id:x", "a~2", "a~", &id];
        for name in bad {
            assert!(check_name("branch", name).is_err(), "{name}");
        }
        for name in ["main", "The Architect", "note: why", "a~b", "0a0a0a0a", "über/日本"] {
            assert!(check_name("branch", name).is_ok(), "{name}");
        }
    }
}
