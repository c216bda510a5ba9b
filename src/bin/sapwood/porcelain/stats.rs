//! `sapwood stats`

use sapwood::codec::Value;
use sapwood::ops::{self, Stats, Tally};

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::plumbing::human;
use crate::reader::Reader;
use crate::shown;
use crate::style;
use crate::target::Within;

/// Count messages, tokens, cost, objects and bytes
///
/// By model, every message counts once; by branch, the whole path does. Saved
/// is what a copy of its path for each branch would take beyond what there is.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood stats
  sapwood stats -s s1 --json
  sapwood stats --all")]
pub(crate) struct Args {
    /// All sessions of the store
    #[arg(short, long, conflicts_with = "session")]
    all: bool,
    #[command(flatten)]
    within: Within,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let reader = Reader::open(context, &args.within)?;
    let sessions = match args.all {
        true => ops::session_ids(&*reader.snapshot)?,
        false => vec![reader.session()?],
    };
    let stats = ops::stats(&*reader.snapshot, &sessions)?;
    let counts = reader.opened.local()?.count_objects()?;
    let stored = counts.journal_bytes + counts.loose_bytes + counts.pack_bytes;
    let objects = counts.journal_objects + counts.loose_objects + counts.packed_objects;
    if context.output.json {
        return print_json(context, &stats, stored, objects);
    }
    let output = &mut context.output;
    let total = &stats.total;
    let plural = if stats.sessions == 1 { "" } else { "s" };
    output.item(format_args!("{} session{plural}, {}", stats.sessions, line(total)))?;
    output.item(format_args!("{} entries and blobs, {}", stats.objects, human(total.bytes)))?;
    output.item(format_args!("saved by sharing: {}", human(stats.saved_bytes)))?;
    output.item(format_args!("whole store: {objects} objects, {} stored", human(stored)))?;
    if !stats.models.is_empty() {
        output.item("\nby model")?;
    }
    for (model, tally) in &stats.models {
        output.item(format_args!("  {}: {}", shown::line(model), line(tally)))?;
    }
    if !stats.branches.is_empty() {
        output.item("\nby branch")?;
    }
    for branch in &stats.branches {
        let session = if args.all { format!("{}:", branch.session) } else { String::new() };
        let name = output.paint(style::REF, format_args!("{session}{}", branch.branch));
        output.item(format_args!("  {name}: {}", line(&branch.tally)))?;
    }
    Ok(Answer::Yes)
}

fn line(tally: &Tally) -> String {
    let plural = if tally.messages == 1 { "" } else { "s" };
    let mut text = format!("{} message{plural}", tally.messages);
    if tally.tokens > 0 {
        text.push_str(&format!(", {} tokens", tally.tokens));
    }
    if tally.cost > 0.0 && tally.cost.is_finite() {
        text.push_str(&format!(", cost {}", rounded(tally.cost)));
    }
    text
}

/// Writes money without the dust of adding it up.
fn rounded(cost: f64) -> f64 {
    let rounded = (cost * 1e6).round() / 1e6;
    if rounded.is_finite() { rounded } else { cost }
}

fn print_json(
    context: &mut Context,
    stats: &Stats,
    stored: u64,
    objects: u64,
) -> Result<Answer, Failure> {
    let models = stats.models.iter().map(|(model, tally)| {
        let named = [("model", Value::from(model.as_str()))];
        output::object(named.into_iter().chain(fields(tally)))
    });
    let branches = stats.branches.iter().map(|branch| {
        let named = [
            ("session", Value::from(branch.session.as_str())),
            ("branch", branch.branch.as_str().into()),
        ];
        output::object(named.into_iter().chain(fields(&branch.tally)))
    });
    let mut record = vec![("sessions", output::count(stats.sessions))];
    record.extend(fields(&stats.total));
    record.push(("objects", output::count(stats.objects)));
    record.push(("saved_bytes", output::count(stats.saved_bytes)));
    record.push(("store_objects", output::count(objects)));
    record.push(("store_bytes", output::count(stored)));
    record.push(("models", Value::List(models.collect())));
    record.push(("branches", Value::List(branches.collect())));
    context.output.fields(record)?;
    Ok(Answer::Yes)
}

fn fields(tally: &Tally) -> [(&'static str, Value); 5] {
    [
        ("entries", output::count(tally.entries)),
        ("messages", output::count(tally.messages)),
        ("tokens", tally.tokens.into()),
        ("cost", Value::Float(rounded(tally.cost))),
        ("bytes", output::count(tally.bytes)),
    ]
}
