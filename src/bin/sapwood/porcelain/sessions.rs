//! `sapwood sessions`

use std::path::PathBuf;

use sapwood::codec::{Value, json};
use sapwood::error::Error;
use sapwood::ops::{self, ListOptions, SessionInfo};
use sapwood::store::Snapshot;

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::{self, Context, Opened};
use crate::output::{self, SHAPE_VERSION};
use crate::shown;
use crate::style;

/// How many objects must have been read for it to be worth remembering what they said.
const WORTH_KEEPING: u64 = 500;

/// How wide the column of ids is.
const SID_WIDTH: usize = 12;

/// How many letters of a long id are shown at least.
const SID_LETTERS_MIN: usize = 8;

/// How wide the column may get where ids begin alike.
const SID_WIDTH_MAX: usize = 24;

/// How wide an id may be that is never cut.
const SID_WHOLE_MAX: usize = 16;

/// How wide one level of a tree is.
const LEAD_WIDTH: usize = 3;

/// For how many levels of a tree the columns behind it stay in line.
const LEADS_MAX: usize = 6;

/// List sessions, the latest first
///
/// Of each: id, age, branch, messages, cost, name and first words. A long id is
/// cut to what no other begins with. A star marks the current one. What the
/// branches hold is remembered in the store's cache/, so only what is new since
/// the last listing is read.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood sessions
  sapwood sessions --cwd . -n 5
  sapwood sessions --tree
  sapwood sessions --json | jq -r .session")]
pub(crate) struct Args {
    /// Only those that work in this directory
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Show each under the session it was forked from
    #[arg(long)]
    tree: bool,
    /// Only those with this status
    #[arg(long, value_name = "WORD")]
    status: Option<String>,
    /// Stop after so many
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "tree")]
    max_count: Option<usize>,
    #[command(flatten)]
    listing: Listing,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    context.output.list(args.listing);
    let opened = context.open()?;
    let options = ListOptions {
        cwd: args.cwd.as_deref().map(open::directory).transpose()?,
        status: args.status,
        ..ListOptions::default()
    };
    let refused = opened.refused()?;
    let snapshot = opened.repo.snapshot()?;
    let mut summaries = opened.summaries();
    let mut sessions = ops::list_sessions(&*snapshot, &options, &mut summaries)?;
    if summaries.learned() >= WORTH_KEEPING {
        opened.keep_summaries(&summaries, refused);
    }
    let current = match opened.place.session_id(&*snapshot) {
        // Who looks for sessions need not be in one.
        Err(Error::RevisionUnknown { .. }) => None,
        current => current?,
    };
    // Where all sessions are listed, their ids are known already.
    let sids = match options == ListOptions::default() {
        true => sorted_ids(&sessions),
        false => ops::session_ids(&*snapshot)?,
    };
    let view = View { current, now: open::now(), sids, has_costs: true };
    match (args.tree, context.output.json) {
        (true, true) => return nested(context, &*snapshot, &sessions),
        (true, false) => return tree(context, &view, &sessions),
        (false, _) => sessions.truncate(args.max_count.unwrap_or(usize::MAX)),
    }
    let width = view.width(sessions.iter().map(|info| ("", info)));
    for info in &sessions {
        match context.output.json {
            true => shape(context, &view, info)?,
            false => context.output.item(line(context, &view, info, "", width))?,
        }
    }
    Ok(Answer::Yes)
}

fn sorted_ids(sessions: &[SessionInfo]) -> Vec<String> {
    let mut sids: Vec<String> = sessions.iter().map(|info| info.meta.sid.clone()).collect();
    sids.sort_unstable();
    sids
}

/// From where sessions are looked at.
struct View {
    current: Option<String>,
    now: i64,
    /// The ids of all sessions, sorted.
    sids: Vec<String>,
    /// Whether it is known what the sessions cost.
    has_costs: bool,
}

impl View {
    /// Cuts a long id to the letters that no other begins with.
    fn short<'a>(&self, sid: &'a str) -> &'a str {
        let Ok(place) = self.sids.binary_search_by(|known| known.as_str().cmp(sid)) else {
            return sid;
        };
        let before = place.checked_sub(1).and_then(|before| self.sids.get(before));
        let others = before.into_iter().chain(self.sids.get(place + 1));
        let alike = |other: &String| {
            sid.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
        };
        let letters = others.map(alike).max().unwrap_or(0) + 1;
        match sid.char_indices().nth(letters.max(SID_LETTERS_MIN)) {
            Some((end, _)) if shown::width(sid) > SID_WHOLE_MAX => &sid[..end],
            _ => sid,
        }
    }

    /// Gives the width of the column of ids, each behind the branches of a tree.
    fn width<'a>(&self, lines: impl Iterator<Item = (&'a str, &'a SessionInfo)>) -> usize {
        let widths = lines.map(|(lead, info)| {
            let leads = shown::width(lead).min(LEAD_WIDTH * LEADS_MAX);
            leads + shown::width(self.short(&info.meta.sid)).min(SID_WIDTH_MAX)
        });
        widths.max().unwrap_or_default().max(SID_WIDTH)
    }
}

fn shape(context: &mut Context, view: &View, info: &SessionInfo) -> Result<(), Failure> {
    let meta = &info.meta;
    let summary = &info.summary;
    context.output.record([
        ("session", meta.sid.as_str().into()),
        ("name", meta.name.clone().into()),
        ("current", (view.current.as_ref() == Some(&meta.sid)).into()),
        ("created", sapwood::time::format(meta.time).into()),
        ("updated", sapwood::time::format(info.updated).into()),
        ("cwd", meta.cwd.clone().into()),
        ("provider", meta.provider.clone().into()),
        ("model", meta.model.clone().into()),
        ("status", meta.status.clone().into()),
        ("parent_id", output::text(meta.fork.as_ref().map(|fork| &fork.session))),
        ("branch", info.branch.clone().into()),
        ("entry", output::text(info.end)),
        ("messages", output::count(summary.messages)),
        ("cost", summary.cost.map_or(Value::Null, Value::Float)),
        ("first_words", summary.words.as_str().into()),
    ])
}

/// Gives a session on one line, behind the branches of a tree; the id and these have a width.
fn line(context: &Context, view: &View, info: &SessionInfo, lead: &str, width: usize) -> String {
    let output = &context.output;
    let mark = if view.current.as_ref() == Some(&info.meta.sid) { "*" } else { " " };
    let age = age(view.now, info.updated);
    let branch = shown::clipped(info.branch.as_deref().unwrap_or("-"), 10);
    let branch = shown::padded(&branch, 10);
    let mut facts = format!(" {age:>4} {branch} {:>6}", info.summary.messages);
    if view.has_costs {
        let cost = info.summary.cost.map_or("-".to_owned(), |cost| format!("{cost:.4}"));
        facts += &format!(" {cost:>8}");
    }
    let name = match (&info.meta.name, info.summary.words.as_str()) {
        (Some(name), "") => name.clone(),
        (Some(name), words) => format!("{name}: {words}"),
        (None, words) => words.to_owned(),
    };
    let sid = view.short(&info.meta.sid);
    let first = shown::width(lead) + shown::width(sid);
    let padding = " ".repeat(width.saturating_sub(first));
    let used = format!("{mark} {lead}{sid}{padding}{facts}  ");
    let left = shown::COLUMNS.saturating_sub(shown::width(&used));
    let name = shown::clipped(&name, left.max(12));
    let sid = output.paint(style::ID, sid);
    let text = format!("{mark} {lead}{sid}{padding}{facts}  {name}");
    text.trim_end().to_owned()
}

/// Says in one unit how long ago something was.
fn age(now: i64, then: i64) -> String {
    const UNITS: [(i64, &str); 5] =
        [(365 * 86400, "y"), (7 * 86400, "w"), (86400, "d"), (3600, "h"), (60, "m")];
    let seconds = now.saturating_sub(then).max(0) / 1000;
    let unit = UNITS.iter().find(|(length, _)| seconds >= *length);
    unit.map_or(format!("{seconds}s"), |(length, unit)| format!("{}{unit}", seconds / length))
}

/// Shows some sessions as a tree.
pub(super) fn show_tree(
    context: &mut Context,
    opened: &Opened,
    sessions: &[String],
) -> Result<Answer, Failure> {
    let snapshot = opened.repo.snapshot()?;
    let mut summaries = opened.summaries();
    let sessions = Some(sessions.to_vec());
    let options = ListOptions { sessions, is_brief: true, ..ListOptions::default() };
    let listed = ops::list_sessions(&*snapshot, &options, &mut summaries)?;
    let current = opened.place.session_id(&*snapshot)?;
    let sids = ops::session_ids(&*snapshot)?;
    let view = View { current, now: open::now(), sids, has_costs: false };
    tree(context, &view, &listed)
}

fn tree(context: &mut Context, view: &View, sessions: &[SessionInfo]) -> Result<Answer, Failure> {
    let forest = ops::session_forest(sessions);
    let leads = leads(&forest);
    let lines = forest.iter().zip(&leads).map(|((depth, place), lead)| {
        let lead = if *depth == 0 { "" } else { lead.as_str() };
        (lead, &sessions[*place])
    });
    let width = view.width(lines.clone());
    for (lead, info) in lines {
        let text = line(context, view, info, lead, width);
        context.output.item(text)?;
    }
    Ok(Answer::Yes)
}

/// Draws what stands before each session of a forest.
fn leads(forest: &[(usize, usize)]) -> Vec<String> {
    let mut leads = Vec::with_capacity(forest.len());
    // Whether a sibling follows, by depth; known when read from the end.
    let mut follows: Vec<bool> = Vec::new();
    for (depth, _) in forest.iter().rev() {
        follows.resize(depth + 1, false);
        let above = follows.get(1..*depth).unwrap_or_default().iter();
        let mut lead: String = above.map(|more| if *more { "│  " } else { "   " }).collect();
        lead.push_str(if follows[*depth] { "├─ " } else { "└─ " });
        follows[*depth] = true;
        leads.push(lead);
    }
    leads.reverse();
    leads
}

/// Prints each tree as one object; without recursion, since forks can be deep.
fn nested(
    context: &mut Context,
    snapshot: &dyn Snapshot,
    sessions: &[SessionInfo],
) -> Result<Answer, Failure> {
    let forest = ops::session_forest(sessions);
    let mut next = forest.iter().skip(1);
    for (depth, place) in &forest {
        let meta = &sessions[*place].meta;
        let mut text = Vec::new();
        if *depth == 0 {
            text.extend(format!("{{\"v\":{SHAPE_VERSION},").into_bytes());
        } else {
            text.push(b'{');
        }
        text.extend(b"\"session\":");
        json::write(&Value::from(meta.sid.as_str()), &mut text);
        text.extend(b",\"header\":");
        json::write(&output::object(super::session::header(snapshot, meta)?), &mut text);
        text.extend(b",\"children\":[");
        let below = next.next().map_or(0, |(depth, _)| *depth);
        if below <= *depth {
            text.extend("]}".repeat(depth - below + 1).into_bytes());
            text.push(if below == 0 { b'\n' } else { b',' });
        }
        context.output.bytes(&text)?;
    }
    Ok(Answer::Yes)
}
