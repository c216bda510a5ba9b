//! Times as text: RFC 3339 to milliseconds since 1970 and back.
//!
//! Strict: four-digit years, a capital or small `T`, a `Z` or an offset, no leap seconds. What is
//! finer than a millisecond is cut off. Times as people say them, seen from a time that the caller
//! gives, are in `relative`. Not here: time zones, local time, the clock.

mod relative;

pub use relative::{age, parse_relative};

const MS_PER_SECOND: i64 = 1000;
const MS_PER_DAY: i64 = 86_400 * MS_PER_SECOND;

/// Reads an RFC 3339 time such as `2026-01-31T09:30:00.250+01:00`.
pub fn parse(text: &str) -> Option<i64> {
    let mut rest = text.as_bytes();
    let year = number(&mut rest, 4)?;
    expect(&mut rest, b"-")?;
    let month = number(&mut rest, 2)?;
    expect(&mut rest, b"-")?;
    let day = number(&mut rest, 2)?;
    expect(&mut rest, b"Tt ")?;
    let hour = number(&mut rest, 2)?;
    expect(&mut rest, b":")?;
    let minute = number(&mut rest, 2)?;
    expect(&mut rest, b":")?;
    let second = number(&mut rest, 2)?;
    let fraction = fraction_ms(&mut rest)?;
    let offset_minutes = offset(&mut rest)?;
    let valid = (1..=12).contains(&month)
        && (1..=days_in_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60
        && rest.is_empty();
    let minutes = hour * 60 + minute - offset_minutes;
    let within_day = (minutes * 60 + second) * MS_PER_SECOND + fraction;
    valid.then(|| days_since_epoch(year, month, day) * MS_PER_DAY + within_day)
}

/// Writes a time as `2026-01-31T08:30:00.250Z`; years outside 0 to 9999 as the number they are.
pub fn format(time_ms: i64) -> String {
    let (days, within_day) = (time_ms.div_euclid(MS_PER_DAY), time_ms.rem_euclid(MS_PER_DAY));
    let (year, month, day) = date(days);
    if !(0..=9999).contains(&year) {
        return time_ms.to_string();
    }
    let (seconds, ms) = (within_day / MS_PER_SECOND, within_day % MS_PER_SECOND);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

fn number(rest: &mut &[u8], digits: usize) -> Option<i64> {
    let (head, tail) = rest.split_at_checked(digits)?;
    let mut value = 0;
    for byte in head {
        value = value * 10 + i64::from(byte.is_ascii_digit().then(|| byte - b'0')?);
    }
    *rest = tail;
    Some(value)
}

fn expect(rest: &mut &[u8], allowed: &[u8]) -> Option<u8> {
    let (first, tail) = rest.split_first()?;
    *rest = tail;
    allowed.contains(first).then_some(*first)
}

fn fraction_ms(rest: &mut &[u8]) -> Option<i64> {
    let Some(tail) = rest.strip_prefix(b".") else {
        return Some(0);
    };
    let digits = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return None;
    }
    let shown = tail[..digits].iter().chain(b"00").take(3);
    let ms = shown.fold(0, |ms, digit| ms * 10 + i64::from(digit - b'0'));
    *rest = &tail[digits..];
    Some(ms)
}

/// Reads `Z` or `+hh:mm`, in minutes.
fn offset(rest: &mut &[u8]) -> Option<i64> {
    let sign = match expect(rest, b"Zz+-")? {
        b'+' => 1,
        b'-' => -1,
        _ => return Some(0),
    };
    let hours = number(rest, 2)?;
    expect(rest, b":")?;
    let minutes = number(rest, 2)?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Counts the days of the Gregorian calendar before the first of January of a year from 0 on.
fn days_before_year(year: i64) -> i64 {
    let past = year - 1;
    year * 365 + past.div_euclid(4) - past.div_euclid(100) + past.div_euclid(400)
}

fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let months: i64 = (1..month).map(|month| days_in_month(year, month)).sum();
    days_before_year(year) - days_before_year(1970) + months + day - 1
}

/// Finds the year, month and day of a day counted from 1970.
fn date(days: i64) -> (i64, i64, i64) {
    const DAYS_PER_400_YEARS: i64 = 146_097;
    let days = days + days_before_year(1970);
    let mut year = days.div_euclid(DAYS_PER_400_YEARS) * 400;
    let mut left = days - days_before_year(year);
    // No year has more than 366 days, so this falls short, by a year or two.
    year += left / 366;
    left = days - days_before_year(year);
    while left >= 365 + i64::from(is_leap(year)) {
        left -= 365 + i64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    while left >= days_in_month(year, month) {
        left -= days_in_month(year, month);
        month += 1;
    }
    (year, month, left + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_times_are_read() {
        let cases = [
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59.999Z", -1),
            ("2000-02-29T12:00:00z", 951_825_600_000),
            ("2026-01-31t09:30:00.25+01:00", 1_769_848_200_250),
            ("2026-01-31 09:30:00.2509999-00:30", 1_769_853_600_250),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let cases = [
            "",
            "2026-01-31",
            "2026-01-31T09:30:00",
            "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-31T24:00:00Z",
            "2026-01-31T00:60:00Z",
            "2026-01-31T00:00:60Z",
            "2026-01-31T00:00:00.Z",
            "2026-01-31T00:00:00+0100",
            "2026-01-31T00:00:00Zx",
            "+026-01-31T00:00:00Z",
            "2026-01-31T00:00:00é",
        ];
        for text in cases {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(time in -62_167_219_200_000i64..253_402_300_800_000) {
            prop_assert_eq!(parse(&format(time)), Some(time));
        }

        #[test]
        fn no_time_and_no_text_panics(time: i64, text in ".{0,40}") {
            format(time);
            parse(&text);
        }
    }
}
