//! Times on the command line, seen from now.

use sapwood::time;

use crate::open::now;

/// Reads a time as a person gives it: for the arguments `--since` and `--until`.
pub(crate) fn parse(text: &str) -> Result<i64, String> {
    time::parse_relative(text, now()).ok_or_else(|| {
        "not a time; try 2026-01-31, 2026-01-31T09:30:00Z, yesterday, '2 days ago' or 3h".to_owned()
    })
}
