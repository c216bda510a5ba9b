//! `sapwood show`

use sapwood::codec::{Value, json};
use sapwood::error::Error;
use sapwood::id::Id;
use sapwood::object::{Event, Node, Object, Session};
use sapwood::ops::Logged;
use sapwood::repo;
use sapwood::session::fields;
use sapwood::time;

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::porcelain::session::header;
use crate::reader::{Names, Reader};
use crate::render;
use crate::shown;
use crate::style;
use crate::target::Within;

/// Show one thing: an entry, an event, a node of the memory, a session
///
/// A session is named by its id or name, and its header is shown. A blob is
/// printed as it is.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood show
  sapwood show main~2
  sapwood show turn:16
  sapwood show --json s1")]
pub(crate) struct Args {
    #[command(flatten)]
    within: Within,
    /// What to show
    #[arg(value_name = "REV", default_value = "HEAD")]
    revisions: Vec<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let reader = Reader::open(context, &args.within)?;
    let names = reader.names()?;
    let mut found = Vec::with_capacity(args.revisions.len());
    for revision in &args.revisions {
        found.push(find(&reader, revision)?);
    }
    context.output.page();
    for (place, id) in found.into_iter().enumerate() {
        if place > 0 && !context.output.json {
            context.output.bytes(b"\n")?;
        }
        show(context, &reader, &names, id)?;
    }
    Ok(Answer::Yes)
}

/// Finds what a revision names, else the header of the session that it names.
fn find(reader: &Reader, revision: &str) -> Result<Id, Failure> {
    let snapshot = &*reader.snapshot;
    let unknown = match repo::resolve(snapshot, &reader.opened.place, revision) {
        Err(error @ Error::RevisionUnknown { .. }) => error,
        other => return Ok(other?),
    };
    match repo::named_session(snapshot, revision)? {
        Some(session) => {
            let view = sapwood::session::View::of(snapshot, &session)?;
            Ok(view.target("meta")?.ok_or(unknown)?)
        }
        None => Err(unknown.into()),
    }
}

fn show(context: &mut Context, reader: &Reader, names: &Names, id: Id) -> Result<(), Failure> {
    let snapshot = &*reader.snapshot;
    match repo::read(snapshot, &id)? {
        Object::Blob(content) if context.output.json => {
            let content = String::from_utf8(content).map_or(Value::Null, Value::Text);
            let kind = Value::from("blob");
            context.output.record([
                ("kind", kind),
                ("id", id.to_string().into()),
                ("content", content),
            ])
        }
        Object::Blob(content) => context.output.bytes(&content),
        Object::Entry(_) => show_entry(context, reader, names, &Logged::read(snapshot, id)?),
        Object::Event(event) => show_event(context, reader, id, event),
        Object::Node(node) => show_node(context, reader, id, node),
        Object::Session(session) => show_session(context, reader, id, session),
    }
}

fn show_entry(
    context: &mut Context,
    reader: &Reader,
    names: &Names,
    logged: &Logged,
) -> Result<(), Failure> {
    let Logged { id, entry, words } = logged;
    if context.output.json {
        let mut fields = render::fields(names, logged);
        fields.insert(0, ("kind", "entry".into()));
        if words.message.is_some() {
            fields.push(("body", render::plain(&entry.body)));
        }
        return context.output.fields(fields);
    }
    let decoration = render::decoration(context, names, logged);
    head(context, "entry", id, &decoration)?;
    let mut lines = vec![("type", entry.label.clone())];
    if let Some(message) = &words.message {
        lines.push(("role", message.role.clone()));
        lines.extend(message.model.clone().map(|model| ("model", model)));
        lines.extend(message.provider.clone().map(|provider| ("provider", provider)));
        lines.extend(message.usage.tokens.map(|tokens| ("tokens", tokens.to_string())));
        lines.extend(message.usage.cost.map(|cost| ("cost", cost.to_string())));
    }
    lines.push(("time", time::format(entry.time)));
    for parent in &entry.parents {
        lines.push(("parent", reader.short(parent)?));
    }
    table(context, &lines)?;
    indented(context, &words.text)
}

fn show_event(
    context: &mut Context,
    reader: &Reader,
    id: Id,
    mut event: Event,
) -> Result<(), Failure> {
    // What is attached may be as long as a file, and is named by its id.
    if event.label != "attach" {
        repo::restored(&*reader.snapshot, &mut event.body)?;
    }
    if context.output.json {
        return plain(context, "event", id, Object::Event(event));
    }
    head(context, "event", &id, "")?;
    let mut lines = vec![("type", event.label.clone()), ("time", time::format(event.time))];
    for run in &event.runs {
        lines.push(("run", format!("{} entries to {}", run.count, reader.short(&run.tip)?)));
    }
    if let Some(next) = event.links.first() {
        lines.push(("next", format!("after {}", reader.short(next)?)));
    }
    table(context, &lines)?;
    indented(context, &fields(&event.body))
}

fn show_node(
    context: &mut Context,
    reader: &Reader,
    id: Id,
    mut node: Node,
) -> Result<(), Failure> {
    let facts = node.facts.iter_mut().map(|fact| &mut fact.value);
    for value in facts.chain(&mut node.notes).chain([&mut node.card]) {
        repo::restored(&*reader.snapshot, value)?;
    }
    if context.output.json {
        return plain(context, "node", id, Object::Node(node));
    }
    head(context, "node", &id, "")?;
    let mut lines = vec![("branch", node.branch.clone()), ("time", time::format(node.time))];
    for parent in &node.parents {
        lines.push(("parent", reader.short(parent)?));
    }
    table(context, &lines)?;
    let mut text = String::new();
    for fact in &node.facts {
        let key = fact.key.as_ref().map_or(String::new(), |key| format!("{key}: "));
        let source = match &fact.source {
            Some(source) => format!(" (from {})", reader.short(source)?),
            None => String::new(),
        };
        text.push_str(&format!("fact: {key}{}{source}\n", words_of(&fact.value)));
    }
    for note in &node.notes {
        text.push_str(&format!("note: {}\n", words_of(note)));
    }
    if !node.card.is_null() {
        text.push_str(&format!("card: {}\n", words_of(&node.card)));
    }
    indented(context, &text)
}

fn show_session(
    context: &mut Context,
    reader: &Reader,
    id: Id,
    mut session: Session,
) -> Result<(), Failure> {
    repo::restored(&*reader.snapshot, &mut session.meta)?;
    if context.output.json {
        let mut header = header(&*reader.snapshot, &session)?;
        header.insert(0, ("kind", "session".into()));
        header.push(("object", id.to_string().into()));
        return context.output.fields(header);
    }
    let sid = context.output.paint(style::ID, &session.sid);
    context.output.item(format_args!("session {sid}"))?;
    let mut lines = vec![("began", time::format(session.time))];
    let texts = [
        ("name", &session.name),
        ("cwd", &session.cwd),
        ("provider", &session.provider),
        ("model", &session.model),
        ("status", &session.status),
        ("source", &session.source),
    ];
    lines.extend(texts.into_iter().filter_map(|(key, text)| Some((key, text.clone()?))));
    if let Some(fork) = &session.fork {
        let entry = fork.entry.map(|id| reader.short(&id)).transpose()?;
        let at = entry.map_or(String::new(), |entry| format!(" at {entry}"));
        lines.push(("forked", format!("from {}{at}", fork.session)));
        lines.extend(fork.reason.clone().map(|reason| ("reason", reason)));
    }
    if !session.meta.is_null() {
        lines.push(("meta", json::to_string(&session.meta)));
    }
    table(context, &lines)
}

/// Prints an object as JSON, all its fields under `content`.
fn plain(context: &mut Context, kind: &str, id: Id, object: Object) -> Result<(), Failure> {
    let id = id.to_string().into();
    context.output.record([
        ("kind", kind.into()),
        ("id", id),
        ("content", render::plain(&object.to_value())),
    ])
}

fn head(context: &mut Context, kind: &str, id: &Id, decoration: &str) -> Result<(), Failure> {
    let id = context.output.paint(style::ID, id);
    context.output.item(format_args!("{kind} {id}{decoration}"))
}

fn table(context: &mut Context, lines: &[(&str, String)]) -> Result<(), Failure> {
    let width = lines.iter().map(|(key, _)| key.len() + 1).max().unwrap_or(0);
    for (key, text) in lines {
        let text = shown::line(text);
        context.output.item(format_args!("{:width$} {text}", format!("{key}:")))?;
    }
    Ok(())
}

fn indented(context: &mut Context, text: &str) -> Result<(), Failure> {
    if text.trim().is_empty() {
        return Ok(());
    }
    context.output.bytes(b"\n")?;
    for line in text.lines() {
        context.output.item(format!("    {line}").trim_end())?;
    }
    Ok(())
}

fn words_of(value: &Value) -> String {
    value.as_text().map_or_else(|| json::to_string(value), str::to_owned)
}
