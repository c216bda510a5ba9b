//! `sapwood gc`

use std::path::Path;
use std::time::Duration;

use sapwood::codec::Value;
use sapwood::error::Error;
use sapwood::ops;
use sapwood::store::local::{GcOptions, GcReport, KindCounts};
use sapwood::time;

use crate::failure::{Answer, Failure};
use crate::open::{self, Context};
use crate::output;
use crate::plumbing::{counted, human};
use crate::progress::Progress;
use crate::{background, config};

/// Pack the store, and drop what nothing leads to
///
/// Objects that no ref, operation or other object leads to are set aside first:
/// they can be read still, but whoever needs one writes it again. After two
/// weeks they are dropped. Removed sessions go when their removal is too old to
/// be undone. Others read and write all the while. Interrupted, it leaves a
/// whole store, and the next run goes on.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood gc
  sapwood gc --dry-run
  sapwood gc --prune=now
  sapwood gc --aggressive --max-time 600")]
pub(crate) struct Args {
    /// Change nothing, and say what would be set aside and dropped
    #[arg(short = 'n', long, conflicts_with_all = ["auto", "aggressive", "max_time"])]
    dry_run: bool,
    /// Drop what was set aside before this time, or all garbage with 'now', or 'never' any
    #[arg(long, value_name = "DATE")]
    prune: Option<String>,
    /// Do nothing unless there is something to gain, or while another process is at it
    #[arg(long)]
    auto: bool,
    /// Pack everything again, as small as can be; this takes long
    #[arg(long)]
    aggressive: bool,
    /// Stop after about so many seconds; the next run goes on
    #[arg(long, value_name = "SECONDS")]
    max_time: Option<u64>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let now_ms = open::now();
    let prune = args.prune.clone().or_else(|| config::text("gc.prune"));
    let progress = Progress::new("Collecting garbage", context.output.is_quiet());
    let tell = |done, total| progress.tell(done, total);
    let options = GcOptions {
        prune_ms: config::before("--prune", prune.as_deref(), now_ms)?,
        operations_ms: config::before(
            "gc.operations",
            config::text("gc.operations").as_deref(),
            now_ms,
        )?,
        aggressive: args.aggressive,
        one_thread: args.auto,
        max_time: args.max_time.map(Duration::from_secs),
        progress: Some(&tell),
        ..GcOptions::at(now_ms)
    };
    let opened = if args.dry_run { context.open()? } else { context.open_for_writing()? };
    let local = opened.local()?;
    let is_due = !args.auto || background::is_due(local, now_ms)?;
    let lapsed = match args.dry_run {
        true => ops::lapsed_removals(&*opened.repo.snapshot()?, options.operations_ms)?,
        false => Vec::new(),
    };
    let sessions = match is_due && !args.dry_run {
        true => ops::drop_removed(&opened.repo, options.operations_ms)?,
        false => lapsed.len() as u64,
    };
    let report = match args.auto {
        _ if args.dry_run => local.gc_dry_run(&options, &lapsed).map(Some),
        _ if !is_due => Ok(None),
        true => local.gc_unless_busy(&options),
        false => local.gc(&options).map(Some),
    };
    let report = report.map_err(|error| damage(error, local.path()))?;
    progress.clear();
    match report {
        Some(report) if context.output.json => {
            print_json(context, &report, sessions, args.dry_run)?;
        }
        Some(report) => {
            say_sessions(context, sessions, args.dry_run);
            print(context, &report, args.dry_run, options.prune_ms, now_ms);
            if args.dry_run && report.set_aside.count() + report.dropped + sessions == 0 {
                context.output.note("Nothing would be set aside or dropped");
            }
        }
        None if context.output.json => context.output.record([("done", Value::Bool(false))])?,
        None => {}
    }
    Ok(Answer::Yes)
}

/// Says that something is missing which a ref leads to: what is behind it would look like garbage.
fn damage(error: Error, store: &Path) -> Error {
    match error {
        Error::Dangling { from, target } => {
            let why = format!("{from} points to {target}, which is missing; nothing was dropped");
            Error::corrupt(store, None, why)
        }
        error => error,
    }
}

fn say_sessions(context: &mut Context, sessions: u64, dry_run: bool) {
    if sessions > 0 {
        let did = if dry_run { "Would drop" } else { "Dropped" };
        let what = counted(sessions, "session");
        context.output.note(format_args!("{did} {what} whose removal is too old to be undone"));
    }
}

fn print(context: &mut Context, report: &GcReport, dry_run: bool, prune_ms: i64, now_ms: i64) {
    let output = &mut context.output;
    let said = |did: &'static str, would: &'static str| if dry_run { would } else { did };
    if report.set_aside.count() > 0 {
        output.note(format_args!(
            "{} {} that nothing leads to ({})",
            said("Set aside", "Would set aside"),
            counted(report.set_aside.count(), "object"),
            by_kind(&report.set_aside),
        ));
    }
    if report.brought_back > 0 {
        output.note(format_args!(
            "{} {} that something leads to after all",
            said("Brought back", "Would bring back"),
            counted(report.brought_back, "object"),
        ));
    }
    let dropped = [
        (report.dropped, "object", ""),
        (report.operations, "operation", ""),
        (report.leftovers, "file", " of killed processes"),
    ];
    let dropped = dropped.iter().filter(|(count, ..)| *count > 0);
    let dropped = dropped.map(|(count, what, whose)| counted(*count, what) + whose);
    let dropped: Vec<String> = dropped.collect();
    if !dropped.is_empty() {
        output.note(format_args!("{} {}", said("Dropped", "Would drop"), dropped.join(", ")));
    }
    let waiting: u64 = report.waiting.iter().map(|waiting| waiting.objects).sum();
    if let Some(first) = report.waiting.first()
        && !dry_run
    {
        let keeps_ms = now_ms.saturating_sub(prune_ms);
        let until = match prune_ms {
            i64::MIN => String::new(),
            _ => format!(", the first of them until {}", time::format(first.since_ms + keeps_ms)),
        };
        let wait = if waiting == 1 { "waits" } else { "wait" };
        output.note(format_args!("{} {wait} to be dropped{until}", counted(waiting, "object")));
    }
    if dry_run {
        return;
    }
    output.note(format_args!(
        "{}: {} in {}, was {} in {}",
        counted(report.objects_after, "object"),
        human(report.bytes_after),
        counted(report.packs_after, "pack"),
        human(report.bytes_before),
        report.packs_before,
    ));
    if !report.is_finished {
        output.note("There was no time for all of it; the next run goes on");
    }
}

fn by_kind(counts: &KindCounts) -> String {
    let some = counts.each().filter(|(_, count)| *count > 0);
    some.map(|(kind, count)| format!("{} {count}", kind.name())).collect::<Vec<_>>().join(", ")
}

fn print_json(
    context: &mut Context,
    report: &GcReport,
    sessions: u64,
    dry_run: bool,
) -> Result<(), Failure> {
    let waiting = report.waiting.iter().map(|waiting| {
        output::object([
            ("since", output::text(Some(time::format(waiting.since_ms)))),
            ("objects", output::count(waiting.objects)),
            ("bytes", output::count(waiting.bytes)),
        ])
    });
    let kinds = report.set_aside.each().map(|(kind, count)| (kind.name(), output::count(count)));
    context.output.record([
        ("done", Value::Bool(!dry_run)),
        ("finished", Value::Bool(report.is_finished)),
        ("objects_before", output::count(report.objects_before)),
        ("objects_after", output::count(report.objects_after)),
        ("packs_before", output::count(report.packs_before)),
        ("packs_after", output::count(report.packs_after)),
        ("bytes_before", output::count(report.bytes_before)),
        ("bytes_after", output::count(report.bytes_after)),
        ("set_aside", output::object(kinds)),
        ("brought_back", output::count(report.brought_back)),
        ("dropped", output::count(report.dropped)),
        ("operations", output::count(report.operations)),
        ("sessions", output::count(sessions)),
        ("leftovers", output::count(report.leftovers)),
        ("waiting", Value::List(waiting.collect())),
    ])
}
