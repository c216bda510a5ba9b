//! `sapwood fsck --fix`

use std::path::Path;

use sapwood::codec::Value;
use sapwood::id::Kind;
use sapwood::object::Entry;
use sapwood::session::Words;
use sapwood::store::local::{self, LocalStore, LostObject, Options, RefRepair, RepairOptions};
use sapwood::store::local::{Action, RepairReport};
use sapwood::store::{Snapshot, Store};
use sapwood::time;

use super::{Args, answer, print};
use crate::failure::{Answer, Failure};
use crate::open::{self, Context};
use crate::output;
use crate::plumbing::counted;
use crate::progress::Progress;
use crate::style;

/// How much of what a message says is shown.
const WORDS_MAX: usize = 60;

pub(super) fn run(args: &Args, path: &Path, context: &mut Context) -> Result<Answer, Failure> {
    let progress = Progress::new("Reading objects", context.output.is_quiet());
    let defaults = open::options();
    let options = RepairOptions {
        dry_run: args.dry_run,
        time: open::now(),
        lock_timeout: defaults.lock_timeout,
        allow_network: defaults.allow_network,
        ignore_format: args.ignore_format,
        progress: Some(&|done, total| progress.tell(done, total)),
    };
    let report = local::repair(open::disk(), path, &options)?;
    drop(progress);
    for finding in &report.findings {
        print(context, finding)?;
    }
    for action in &report.actions {
        print_action(context, action)?;
    }
    // What hangs in the air is read for its words; of a store that is as it was, perhaps nothing.
    let opened = LocalStore::open(open::disk(), path, Options { read_only: true, ..defaults });
    let snapshot = opened.and_then(|store| store.snapshot()).ok();
    for item in &report.refs {
        print_ref(context, item, snapshot.as_deref())?;
    }
    for lost in &report.lost {
        print_lost(context, lost, None, snapshot.as_deref())?;
    }
    for finding in &report.remaining {
        print(context, finding)?;
    }
    print_end(context, &report, args.dry_run)?;
    match args.dry_run {
        true => answer(&report.findings),
        false => answer(&report.remaining),
    }
}

fn print_action(context: &mut Context, action: &Action) -> Result<(), Failure> {
    let file = action.file.as_ref().map(|file| file.display());
    if context.output.json {
        return context.output.record([
            ("action", action.what.into()),
            ("file", output::text(file)),
            ("why", action.why.as_str().into()),
        ]);
    }
    let file = file.map_or(String::new(), |file| format!(" {file}"));
    let word = context.output.paint(style::HINT, "fix");
    context.output.item(format_args!("{word}: {}{file}: {}", action.what, action.why))
}

/// Says where a ref went, and what of its path is lost, entry by entry.
fn print_ref(
    context: &mut Context,
    item: &RefRepair,
    snapshot: Option<&dyn Snapshot>,
) -> Result<(), Failure> {
    let (session, rest) = item.name.session().unzip();
    let gone = item.passed.iter().filter(|lost| !lost.is_held).count();
    let hanging = item.passed.len() - gone;
    if context.output.json {
        context.output.record([
            ("ref", item.name.as_str().into()),
            ("session", output::text(session)),
            ("old", output::text(item.old.as_ref())),
            ("new", output::text(item.new.as_ref())),
            ("lost", output::count(gone)),
            ("hanging", output::count(hanging)),
        ])?;
    } else {
        let name = match (session, rest) {
            (Some(session), Some(rest)) => format!("session {session}, {rest}"),
            _ => item.name.to_string(),
        };
        let show = |value: &Option<sapwood::store::RefValue>| {
            value.as_ref().map_or("nothing".to_owned(), ToString::to_string)
        };
        let (old, new) = (show(&item.old), show(&item.new));
        let word = context.output.paint(style::WARNING, "moved");
        let text = format!("{name}: was {old}, is {new}; {gone} lost, {hanging} left in the air");
        context.output.item(format_args!("{word}: {text}"))?;
    }
    for lost in &item.passed {
        print_lost(context, lost, Some(item.name.as_str()), snapshot)?;
    }
    Ok(())
}

fn print_lost(
    context: &mut Context,
    lost: &LostObject,
    name: Option<&str>,
    snapshot: Option<&dyn Snapshot>,
) -> Result<(), Failure> {
    let entry = entry_of(lost, snapshot);
    let label = entry.as_ref().map(|entry| entry.label.clone()).or(lost.label.clone());
    let at = entry.as_ref().map(|entry| entry.time).or(lost.time).map(time::format);
    let words = entry.as_ref().map(first_words);
    let kind = lost.kind.map(Kind::name);
    if context.output.json {
        return context.output.record([
            (if lost.is_held { "hanging" } else { "lost" }, output::text(Some(lost.id))),
            ("kind", output::text(kind)),
            ("type", output::text(label)),
            ("time", output::text(at)),
            ("words", words.map_or(Value::Null, Value::from)),
            ("ref", output::text(name)),
            ("linked_by", output::text(lost.linked_by)),
        ]);
    }
    let word = if lost.is_held { "hanging" } else { "lost" };
    let word = context.output.paint(style::WARNING, word);
    let indent = if name.is_some() { "  " } else { "" };
    let mut text = format!("{indent}{word}: {} {}", kind.unwrap_or("object"), lost.id);
    for known in [label, at].into_iter().flatten() {
        text.push_str(&format!(" {known}"));
    }
    if let Some(words) = words.filter(|words| !words.is_empty()) {
        text.push_str(&format!(" \"{words}\""));
    }
    if let Some(from) = lost.linked_by {
        text.push_str(&format!(", which {from} links"));
    }
    context.output.item(text)
}

fn entry_of(lost: &LostObject, snapshot: Option<&dyn Snapshot>) -> Option<Entry> {
    if !lost.is_held || lost.kind != Some(Kind::Entry) {
        return None;
    }
    let stored = snapshot?.get(&lost.id).ok()??;
    Entry::decode(&stored.content).ok()
}

fn first_words(entry: &Entry) -> String {
    let words = Words::read(&entry.label, &entry.body);
    words.first_line().chars().take(WORDS_MAX).collect()
}

fn print_end(context: &mut Context, report: &RepairReport, is_dry: bool) -> Result<(), Failure> {
    let aside = report.aside.as_ref().map(|path| path.display());
    if context.output.json {
        return context.output.record([
            ("fixed", Value::Bool(!is_dry && !report.findings.is_empty())),
            ("objects", output::count(report.objects)),
            ("salvaged", output::count(report.salvaged)),
            ("lost", output::count(report.lost.len())),
            ("hanging", output::count(report.hanging)),
            ("refs", output::count(report.refs.len())),
            ("rescued", output::count(report.rescued)),
            ("aside", output::text(aside)),
            ("remaining", output::count(report.remaining.len())),
        ]);
    }
    let note = match (report.findings.is_empty(), is_dry) {
        (true, _) => "Nothing to mend".to_owned(),
        (false, true) => format!(
            "Nothing was changed; whole: {}, lost: {}; {} would move",
            counted(report.objects, "object"),
            report.lost.len(),
            counted(report.refs.len(), "ref"),
        ),
        (false, false) => format!(
            "Kept {}, {} of them written again; lost: {}, hanging in the air: {}; {} moved",
            counted(report.objects, "object"),
            report.salvaged,
            report.lost.len(),
            report.hanging,
            counted(report.refs.len(), "ref"),
        ),
    };
    context.output.note(note);
    if report.rescued > 0 {
        let count = counted(report.rescued, "object");
        let got = if is_dry { "would get" } else { "got" };
        context.output.note(format_args!(
            "{count} that nothing leads to {got} refs: 'sapwood for-each-ref rescued/' lists them"
        ));
    }
    if let Some(aside) = aside {
        context.output.note(format_args!("Damaged files are in {aside}"));
    }
    Ok(())
}
