//! Times as people say them: `yesterday`, `2 days ago`, `3h`; and ages as people read them.

use super::{MS_PER_DAY, MS_PER_SECOND, parse};

const MINUTE: i64 = 60 * MS_PER_SECOND;
const HOUR: i64 = 60 * MINUTE;

/// The units that a time can be counted in: their names, and milliseconds.
const UNITS: [(&[&str], i64); 7] = [
    (&["s", "sec", "secs", "second", "seconds"], MS_PER_SECOND),
    (&["m", "min", "mins", "minute", "minutes"], MINUTE),
    (&["h", "hour", "hours"], HOUR),
    (&["d", "day", "days"], MS_PER_DAY),
    (&["w", "week", "weeks"], 7 * MS_PER_DAY),
    (&["month", "months"], 30 * MS_PER_DAY),
    (&["y", "year", "years"], 365 * MS_PER_DAY),
];

/// Reads a time as a person gives it, seen from `now_ms`.
///
/// RFC 3339; a date, which is its midnight (UTC); `now`, `today`, `yesterday`; and a number with a
/// unit, with or without `ago`: `3h`, `2 days ago`, `2.weeks.ago`.
pub fn parse_relative(text: &str, now_ms: i64) -> Option<i64> {
    let text = text.trim();
    if let Some(time) = parse(text).or_else(|| parse(&format!("{text}T00:00:00Z"))) {
        return Some(time);
    }
    let midnight = now_ms.saturating_sub(now_ms.rem_euclid(MS_PER_DAY));
    let lower = text.to_lowercase().replace(['.', '_'], " ");
    match lower.as_str() {
        "now" => return Some(now_ms),
        "today" | "midnight" => return Some(midnight),
        "yesterday" => return now_ms.checked_sub(MS_PER_DAY),
        _ => {}
    }
    let counted = lower.strip_suffix("ago").unwrap_or(&lower).trim_end();
    let digits = counted.find(|c: char| !c.is_ascii_digit())?;
    let number: i64 = counted[..digits].parse().ok()?;
    let unit = counted[digits..].trim();
    let (_, ms) = UNITS.iter().find(|(names, _)| names.contains(&unit))?;
    now_ms.checked_sub(number.checked_mul(*ms)?)
}

/// Says how long ago a time was, in one unit: `3 hours ago`.
pub fn age(time_ms: i64, now_ms: i64) -> String {
    let past = now_ms.saturating_sub(time_ms);
    if past < 0 {
        return "in the future".to_owned();
    }
    let count = |unit_ms: i64, name: &str| {
        let number = past / unit_ms;
        format!("{number} {name}{} ago", if number == 1 { "" } else { "s" })
    };
    match past {
        _ if past < MS_PER_SECOND => "just now".to_owned(),
        _ if past < 2 * MINUTE => count(MS_PER_SECOND, "second"),
        _ if past < 2 * HOUR => count(MINUTE, "minute"),
        _ if past < 2 * MS_PER_DAY => count(HOUR, "hour"),
        _ if past < 14 * MS_PER_DAY => count(MS_PER_DAY, "day"),
        _ if past < 60 * MS_PER_DAY => count(7 * MS_PER_DAY, "week"),
        _ if past < 2 * 365 * MS_PER_DAY => count(30 * MS_PER_DAY, "month"),
        _ => count(365 * MS_PER_DAY, "year"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: i64 = 1_769_848_200_250;

    #[test]
    fn times_are_read_as_people_say_them() {
        let cases = [
            ("2026-01-31T09:30:00.25+01:00", NOW),
            ("2026-01-31", 1_769_817_600_000),
            ("now", NOW),
            ("today", 1_769_817_600_000),
            ("Yesterday", NOW - MS_PER_DAY),
            ("3h", NOW - 3 * HOUR),
            ("90 s", NOW - 90 * MS_PER_SECOND),
            ("2 days ago", NOW - 2 * MS_PER_DAY),
            ("2.weeks.ago", NOW - 14 * MS_PER_DAY),
            (" 1 month ago ", NOW - 30 * MS_PER_DAY),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_relative(text, NOW), Some(expected), "{text}");
        }
        let bad = ["", "ago", "h", "3", "3 parsecs", "-3h", "2026-02-30", "99999999999999999 y"];
        for text in bad {
            assert_eq!(parse_relative(text, NOW), None, "{text}");
        }
    }

    #[test]
    fn ages_are_in_one_unit() {
        let cases = [
            (0, "just now"),
            (1500, "1 second ago"),
            (119 * MS_PER_SECOND, "119 seconds ago"),
            (5 * MINUTE, "5 minutes ago"),
            (26 * HOUR, "26 hours ago"),
            (3 * MS_PER_DAY, "3 days ago"),
            (20 * MS_PER_DAY, "2 weeks ago"),
            (100 * MS_PER_DAY, "3 months ago"),
            (800 * MS_PER_DAY, "2 years ago"),
            (-1, "in the future"),
        ];
        for (past, expected) in cases {
            assert_eq!(age(NOW - past, NOW), expected);
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in ".{0,30}", time: i64, now: i64) {
            parse_relative(&text, now);
            age(time, now);
        }
    }
}
