//! The raw numbers, `docs/benchmarks/peers.json`.

use sapwood::codec::{Value, json};

use super::measured;
use crate::machine::Machine;
use crate::measure::{Bar, Round, Row, Section};

/// Writes all rounds of all rows.
pub fn json(machine: &Machine, sections: &[Section]) -> String {
    let machine = machine.iter().map(|(name, value)| (*name, Value::from(value.as_str())));
    let all = Value::map([
        ("machine", Value::map(machine)),
        ("sections", Value::List(sections.iter().map(section_value).collect())),
    ]);
    json::pretty(&all).trim_end().to_owned() + "\n"
}

fn section_value(section: &Section) -> Value {
    Value::map([
        ("title", Value::from(section.title.as_str())),
        ("measured", Value::from(measured(section).as_str())),
        ("bars", Value::List(section.bars.iter().map(bar_value).collect())),
        ("rows", Value::List(section.rows.iter().map(row_value).collect())),
    ])
}

fn bar_value(bar: &Bar) -> Value {
    Value::map([
        ("what", Value::from(bar.text.as_str())),
        ("found", number(bar.found)),
        ("at_most", number(bar.limit)),
        ("goal", bar.goal.map_or(Value::Null, number)),
        ("holds", Value::Bool(bar.holds())),
    ])
}

/// Gives the values of a row, round by round: nanoseconds for one item, or bytes.
fn row_value(row: &Row) -> Value {
    let list = |pick: fn(&Round) -> Option<f64>| {
        Value::List(row.rounds.iter().filter_map(pick).map(number).collect())
    };
    Value::map([
        ("name", Value::from(row.name.as_str())),
        ("median", list(|round| Some(round.middle))),
        ("p99", list(|round| round.p99)),
        ("cpu", list(|round| round.cpu)),
        ("peak_bytes", list(|round| round.peak)),
    ])
}

fn number(value: f64) -> Value {
    Value::number(&format!("{value:.3}")).unwrap_or(Value::Null)
}
