//! `sapwood transcript`

mod follow;

use std::thread;
use std::time::Duration;

use sapwood::codec::{Key, Value};
use sapwood::object::Event;
use sapwood::ops::Logged;
use sapwood::repo;
use sapwood::session::fields;
use sapwood::walk::{self, Item};
use sapwood::{Id, time};

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::reader::Reader;
use crate::render;
use crate::shown;
use crate::style;
use crate::target::Within;
use follow::Ends;

/// How long to wait before the store is looked at again.
const WAIT: Duration = Duration::from_millis(100);

/// Show everything that happened in a session, in order
///
/// Every exchange of every branch, and every switch, fork and label, as it
/// came; each is a turn, from 1, and 'turn:N' names it. A transcript never
/// forks and never shrinks.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood transcript
  sapwood transcript --from 15 --to 17 --json
  sapwood transcript --follow")]
pub(crate) struct Args {
    /// The first turn to show
    #[arg(long, value_name = "N", default_value_t = 1)]
    from: u64,
    /// The last turn to show; with --follow, where to end
    #[arg(long, value_name = "N")]
    to: Option<u64>,
    /// Wait for more, and show it as it comes
    #[arg(short, long)]
    follow: bool,
    #[command(flatten)]
    within: Within,
    #[command(flatten)]
    listing: Listing,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    context.output.list(args.listing);
    let reader = Reader::open(context, &args.within)?;
    let session = reader.session()?;
    if !args.follow {
        context.output.page();
    }
    let (after, to) = (args.from.saturating_sub(1), args.to.unwrap_or(u64::MAX));
    print(context, &reader, &session, after, to)?;
    if args.follow {
        follow(context, reader, &session, after, to)?;
    }
    Ok(Answer::Yes)
}

/// Prints the turns after one up to another.
fn print(
    context: &mut Context,
    reader: &Reader,
    session: &str,
    after: u64,
    to: u64,
) -> Result<(), Failure> {
    let mut items = walk::transcript_items(&*reader.snapshot, session)?;
    items.skip_turns(after)?;
    for item in items {
        let (turn, item) = item?;
        if turn > to {
            break;
        }
        if turn > after {
            print_item(context, reader, turn, item)?;
        }
    }
    Ok(())
}

/// Prints the turns that come, those after one up to another.
fn follow(
    context: &mut Context,
    mut reader: Reader,
    session: &str,
    after: u64,
    to: u64,
) -> Result<(), Failure> {
    let mut ends = Ends::of(&*reader.snapshot, session)?;
    let mut turn = walk::turn_count(&*reader.snapshot, session)?;
    while turn.max(after) < to {
        context.output.flush()?;
        let mut now = ends;
        while now == ends {
            thread::sleep(WAIT);
            reader.snapshot = reader.opened.repo.snapshot()?;
            now = Ends::of(&*reader.snapshot, session)?;
        }
        match ends.until(&*reader.snapshot, now)? {
            Some(items) => {
                for item in items {
                    turn += u64::from(is_turn(&item));
                    if turn > after && turn <= to {
                        print_item(context, &reader, turn, item)?;
                    }
                }
            }
            None => {
                print(context, &reader, session, turn.max(after), to)?;
                turn = walk::turn_count(&*reader.snapshot, session)?;
            }
        }
        ends = now;
    }
    Ok(())
}

fn is_turn(item: &Item) -> bool {
    match item {
        Item::Entry(_) => true,
        Item::Event(_, event) => walk::is_turn(event),
    }
}

/// Prints a turn; what is none is passed over.
fn print_item(
    context: &mut Context,
    reader: &Reader,
    turn: u64,
    item: Item,
) -> Result<(), Failure> {
    match item {
        item if !is_turn(&item) => Ok(()),
        Item::Entry(id) => print_entry(context, reader, turn, id),
        Item::Event(id, event) => print_event(context, reader, turn, id, event),
    }
}

fn print_entry(context: &mut Context, reader: &Reader, turn: u64, id: Id) -> Result<(), Failure> {
    let logged = Logged::read(&*reader.snapshot, id)?;
    let entry = &logged.entry;
    let said = |key: &str| {
        let metadata = entry.body.get("metadata").and_then(|metadata| metadata.get(key));
        entry.body.get(key).or(metadata).cloned().unwrap_or(Value::Null)
    };
    if !context.output.json {
        let id = reader.short(&id)?;
        let who = match said("self") {
            Value::Text(name) => format!("[{}] ", shown::line(&name)),
            _ => String::new(),
        };
        let used = format!("{turn:>5} {id} {who}");
        let left = shown::COLUMNS.saturating_sub(shown::width(&used));
        let summary = render::summary(&logged.words, left);
        let id = context.output.paint(style::ID, id);
        return context.output.item(format_args!("{turn:>5} {id} {who}{summary}"));
    }
    let mut record = vec![("turn", output::count(turn)), ("phase", said("phase"))];
    record.push(("self", said("self")));
    if let Some(message) = &logged.words.message {
        record.push(("role", message.role.as_str().into()));
        record.push(("content", render::content(&entry.body)));
    } else {
        record.push(("content", render::plain(&entry.body)));
    }
    record.extend(named(&entry.label, id, entry.time));
    record.retain(|(_, value)| !value.is_null());
    context.output.fields(record)
}

fn print_event(
    context: &mut Context,
    reader: &Reader,
    turn: u64,
    id: Id,
    mut event: Event,
) -> Result<(), Failure> {
    // What is attached may be as long as a file, and is named by its id.
    if event.label != "attach" {
        repo::restored(&*reader.snapshot, &mut event.body)?;
    }
    if !context.output.json {
        if let Value::Map(pairs) = &mut event.body {
            // What a switch learned and where it left are links; `show` has them.
            pairs.retain(|(key, _)| !["node", "left"].contains(&&**key));
        }
        let id = reader.short(&id)?;
        let label = shown::line(&event.label);
        let used = format!("{turn:>5} {id} {label} ");
        let left = shown::COLUMNS.saturating_sub(shown::width(&used));
        let fields = shown::clipped(&fields(&event.body), left);
        let id = context.output.paint(style::ID, id);
        let label = context.output.paint(style::HINT, label);
        let line = format!("{turn:>5} {id} {label} {fields}");
        return context.output.item(line.trim_end());
    }
    let phase = event.body.get("phase").cloned().unwrap_or_else(|| event.label.as_str().into());
    let mut record = vec![("turn", output::count(turn)), ("phase", phase)];
    for key in ["from", "to"] {
        record.extend(event.body.get(key).map(|value| (key, render::plain(value))));
    }
    let rest = event.body.as_map().unwrap_or_default().iter();
    let rest: Vec<(Key, Value)> =
        rest.filter(|(key, _)| !["from", "to", "phase"].contains(&&**key)).cloned().collect();
    if !rest.is_empty() {
        record.push(("content", render::plain(&Value::Map(rest))));
    }
    record.extend(named(&event.label, id, event.time));
    context.output.fields(record)
}

/// Gives what every turn has.
fn named(label: &str, id: Id, time_ms: i64) -> [(&'static str, Value); 3] {
    let timestamp = time::format(time_ms).into();
    [("type", label.into()), ("id", id.to_string().into()), ("timestamp", timestamp)]
}
