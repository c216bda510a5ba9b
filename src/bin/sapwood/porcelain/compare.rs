//! `sapwood compare`

use sapwood::codec::Value;
use sapwood::ops::{self, CompareOptions, Comparison, Difference, Metric, Totals};

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::plumbing::{SHORT_DIGITS, short};
use crate::shown;
use crate::style;
use crate::target::Within;

/// Compare branches: what each took since they parted, and which took the least
///
/// What no message says is unknown, and never wins.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood compare approach-a approach-b
  sapwood compare main approach-a approach-b --by tokens
  sapwood compare approach-a approach-b --by meta.score --highest")]
pub(crate) struct Args {
    /// What decides: cost, tokens, entries, duration, meta.PATH
    #[arg(long, value_name = "METRIC", default_value = "cost", value_parser = metric)]
    by: Metric,
    /// Let the highest win, not the lowest
    #[arg(long)]
    highest: bool,
    #[command(flatten)]
    within: Within,
    /// The branches, or any revisions
    #[arg(value_name = "REV", required = true, num_args = 2..)]
    revisions: Vec<String>,
}

fn metric(text: &str) -> Result<Metric, String> {
    let known = "cost, tokens, entries, duration or meta.PATH";
    Metric::parse(text).ok_or_else(|| format!("expected {known}"))
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open()?;
    let snapshot = opened.repo.snapshot()?;
    let options = CompareOptions {
        target: args.within.target(&opened),
        branches: args.revisions.clone(),
        by: args.by.clone(),
        highest: args.highest,
    };
    let found = ops::compare(&*snapshot, &options)?;
    if context.output.json {
        record(context, &found, &args.by)?;
        return Ok(Answer::Yes);
    }
    let point = match &found.fork_point {
        Some(point) => {
            let point = short(&*snapshot, point, SHORT_DIGITS)?;
            format!("since {}", context.output.paint(style::ID, point))
        }
        None => "they share nothing".to_owned(),
    };
    context.output.item(point)?;
    table(context, &found, &args.by)?;
    let which = if args.highest { "highest" } else { "lowest" };
    let names: Vec<String> = found
        .best
        .iter()
        .map(|at| context.output.paint(style::REF, &found.branches[*at].name))
        .collect();
    let by = args.by.name();
    context.output.item(match names.as_slice() {
        [] => format!("no winner: no branch says its {by}"),
        [winner] => format!("winner: {winner} ({which} {by})"),
        tied => format!("tie: {} ({which} {by})", tied.join(", ")),
    })?;
    Ok(Answer::Yes)
}

fn table(context: &mut Context, found: &Comparison, by: &Metric) -> Result<(), Failure> {
    let metrics = metrics(by);
    let mut rows = vec![vec!["branch".to_owned()]];
    rows[0].extend(metrics.iter().map(Metric::name));
    for totals in &found.branches {
        let values = metrics.iter().map(|metric| measured(totals.value(metric), metric));
        rows.push([totals.name.clone()].into_iter().chain(values).collect());
    }
    for row in aligned(&rows) {
        context.output.item(row)?;
    }
    let mut rows = Vec::new();
    for difference in &found.differences {
        let Some(diff) = difference.diff else {
            continue;
        };
        let (one, other) = names(found, difference);
        let sign = if diff > 0.0 { "+" } else { "" };
        let percent = difference
            .percent
            .map_or(String::new(), |percent| format!("{sign}{}%", output::number_text(percent)));
        rows.push(vec![
            format!("{other} - {one}"),
            difference.metric.name(),
            format!("{sign}{}", measured(Some(diff), &difference.metric)),
            percent,
        ]);
    }
    for row in aligned(&rows) {
        context.output.item(row)?;
    }
    Ok(())
}

fn metrics(by: &Metric) -> Vec<Metric> {
    let mut metrics = vec![Metric::Entries, Metric::Cost, Metric::Tokens, Metric::Duration];
    if !metrics.contains(by) {
        metrics.push(by.clone());
    }
    metrics
}

fn measured(value: Option<f64>, metric: &Metric) -> String {
    match (value, metric) {
        (None, _) => "unknown".to_owned(),
        (Some(ms), Metric::Duration) => format!("{}s", output::number_text(ms / 1000.0)),
        (Some(value), _) => output::number_text(value),
    }
}

/// Puts columns under each other: the first to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|at| rows.iter().filter_map(move |row| row.get(at)).map(|cell| shown::width(cell)))
        .map(|counts| counts.max().unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| match at {
            0 => shown::padded(cell, *width),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn names<'a>(found: &'a Comparison, difference: &Difference) -> (&'a str, &'a str) {
    let (one, other) = difference.pair;
    (&found.branches[one].name, &found.branches[other].name)
}

fn record(context: &mut Context, found: &Comparison, by: &Metric) -> Result<(), Failure> {
    let branches = found.branches.iter().map(|totals| totals_value(totals, by)).collect();
    let differences = found.differences.iter().map(|difference| {
        let (one, other) = names(found, difference);
        output::object([
            ("metric", difference.metric.name().into()),
            ("branchA", one.into()),
            ("branchB", other.into()),
            ("diff", output::number(difference.diff)),
            ("percentDiff", output::number(difference.percent)),
        ])
    });
    let differences = differences.collect();
    let name = |at: &usize| Value::from(found.branches[*at].name.as_str());
    let is_tie = found.best.len() > 1;
    let winner = found.best.first().filter(|_| !is_tie).map_or(Value::Null, name);
    let tie = found.best.iter().filter(|_| is_tie).map(name).collect();
    context.output.record([
        ("branches", Value::List(branches)),
        ("winner", winner),
        ("differences", Value::List(differences)),
        ("by", by.name().into()),
        ("tie", Value::List(tie)),
        ("forkPoint", output::text(found.fork_point)),
    ])
}

fn totals_value(totals: &Totals, by: &Metric) -> Value {
    let mut fields = vec![
        ("branchId", totals.name.as_str().into()),
        ("name", totals.name.as_str().into()),
        ("entryCount", output::count(totals.entries)),
        ("totalCost", output::number(totals.cost)),
        ("totalTokens", totals.tokens.into()),
        ("duration", totals.duration.into()),
        ("entry", totals.end.to_string().into()),
    ];
    if matches!(by, Metric::Meta(_)) {
        fields.push(("meta", output::number(totals.meta)));
    }
    output::object(fields)
}
