//! What people read: a table for each section, the page, the plots, and the raw numbers as JSON.

mod page;
mod plot;
mod raw;

use std::path::Path;

use crate::Result;
use crate::machine::Machine;
use crate::measure::{Section, Unit};

const COLUMNS: [&str; 8] =
    ["", "median", "p99", "on CPU", "per second", "peak memory", "ratio", "spread of it"];

/// Draws a section for a terminal.
pub fn text(section: &Section) -> String {
    let rows: Vec<[String; 8]> = std::iter::once(COLUMNS.map(str::to_owned))
        .chain((0..section.rows.len()).map(|row| cells(section, row)))
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..COLUMNS.len()).filter_map(width).collect();
    let mut out = format!("\n{} ({})\n", section.title, measured(section));
    for row in &rows {
        let mut line = format!("  {:<w$}", row[0], w = widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            let pad = width - cell.chars().count();
            line.extend(std::iter::repeat_n(' ', pad + 2));
            line.push_str(cell);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    for bar in &section.bars {
        let (found, limit) = (bar.found, bar.limit);
        let verdict = bar.verdict().replace("**", "");
        out.push_str(&format!("  {}: {found:.2}, at most {limit:.2}: {verdict}\n", bar.text));
    }
    for note in &section.notes {
        out.push_str(&format!("  {note}\n"));
    }
    out
}

/// Writes the page, the plots and the raw numbers.
pub fn write(dir: &Path, machine: &Machine, sections: &[Section]) -> Result<()> {
    let benchmarks = dir.join("benchmarks");
    std::fs::create_dir_all(&benchmarks)?;
    std::fs::write(benchmarks.join("peers.json"), raw::json(machine, sections))?;
    let plots = plot::all(sections);
    for plot in &plots {
        std::fs::write(benchmarks.join(plot.file()), &plot.svg)?;
    }
    std::fs::write(dir.join("BENCHMARKS.md"), page::markdown(machine, sections, &plots)?)?;
    Ok(())
}

fn measured(section: &Section) -> String {
    match section.unit {
        Unit::Time(item) => format!("time for one {item}"),
        Unit::Bytes => "size on disk".to_owned(),
    }
}

fn cells(section: &Section, place: usize) -> [String; 8] {
    let row = &section.rows[place];
    let show = |value: Option<f64>| {
        value.map_or_else(|| "-".to_owned(), |value| amount(section.unit, value))
    };
    let mut ratios = section.ratios(place, 0);
    ratios.sort_unstable_by(f64::total_cmp);
    let ends = ratios.first().zip(ratios.last());
    [
        row.name.clone(),
        amount(section.unit, row.median()),
        show(row.p99()),
        show(row.cpu()),
        match section.unit {
            Unit::Time(_) => rate(row.median()),
            Unit::Bytes => "-".to_owned(),
        },
        row.peak().map_or_else(|| "-".to_owned(), |peak| amount(Unit::Bytes, peak)),
        format!("{:.2}", section.ratio(place, 0)),
        ends.map_or_else(|| "-".to_owned(), |(least, most)| format!("{least:.2} – {most:.2}")),
    ]
}

fn amount(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Time(_) => three_digits(value, &[("ns", 1e3), ("µs", 1e3), ("ms", 1e3), ("s", 1e9)]),
        Unit::Bytes => three_digits(value, &[("B", 1e3), ("kB", 1e3), ("MB", 1e3), ("GB", 1e9)]),
    }
}

/// Writes a value with three digits, in the first unit that is not too small for it.
fn three_digits(mut value: f64, units: &[(&str, f64)]) -> String {
    let mut name = "";
    for (unit, next) in units {
        name = unit;
        if value < *next {
            break;
        }
        value /= next;
    }
    let digits = match value {
        value if value < 10.0 => 2,
        value if value < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {name}")
}

/// Writes how many there are in a second.
fn rate(ns: f64) -> String {
    match 1e9 / ns {
        rate if rate >= 1e6 => format!("{:.2} M", rate / 1e6),
        rate if rate >= 1e4 => format!("{:.0} k", rate / 1e3),
        rate if rate >= 10.0 => format!("{rate:.0}"),
        rate => format!("{rate:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_three_digits() {
        let time = |ns| amount(Unit::Time("item"), ns);
        assert_eq!(time(1.0), "1.00 ns");
        assert_eq!(time(12_345.0), "12.3 µs");
        assert_eq!(time(123_456_789.0), "123 ms");
        assert_eq!(time(2.5e9), "2.50 s");
        assert_eq!(amount(Unit::Bytes, 2_500_000.0), "2.50 MB");
        assert_eq!(rate(250_000.0), "4000");
        assert_eq!(rate(100.0), "10.00 M");
    }
}
