//! What `edit`, `retry` and `reconfigure` share: their flags, the reply, and what is printed.

use clap::builder::NonEmptyStringValueParser;
use sapwood::ops::{self, Variation, Way};
use sapwood::repo::{self, Place};
use sapwood::session::{self, Draft, FIRST_BRANCH, Message, View, restored_entry};
use sapwood::store::Operation;

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::{Context, Opened};
use crate::output;
use crate::plumbing::{SHORT_DIGITS, short};
use crate::porcelain::session::branch_point;
use crate::render;
use crate::shown;
use crate::style;
use crate::target::{Within, WriteTo};
use crate::with::{Feed, Setting};

/// How much of a message a listing shows.
const WORDS_COLUMNS: usize = 41;

/// How to branch off.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct Vary {
    /// What to call the new branch, or with --fork the new session
    #[arg(long = "as", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: Option<String>,
    /// Begin a new session instead of a branch
    #[arg(long)]
    fork: bool,
    /// Leave HEAD where it is; -b does so too
    #[arg(long)]
    no_switch: bool,
    /// Even where a tool call has no result yet
    #[arg(long)]
    pub(super) force: bool,
    #[command(flatten)]
    feed: Feed,
    #[command(flatten)]
    pub(super) to: WriteTo,
}

impl Vary {
    /// Asks for the reply if there is a command, writes everything, and says what was made.
    pub(super) fn write(
        &self,
        mut variation: Variation,
        opened: &Opened,
        context: &mut Context,
        operation: &Operation,
    ) -> Result<Answer, Failure> {
        let reply = self.reply(&variation, opened, operation)?;
        variation.drafts.extend(reply.as_deref().map(|text| Draft::message("assistant", text)));
        let way = Way {
            fork: self.fork,
            name: self.name.clone(),
            stay: self.no_switch || self.to.branch.is_some(),
        };
        let made = ops::vary(&opened.repo, &variation, &way, operation)?;
        if context.output.json {
            let entries = made.entries.iter().map(|id| id.to_string().into()).collect();
            context.output.record([
                ("session", made.session.into()),
                ("branch", made.branch.into()),
                ("parent_id", output::text(made.parent)),
                ("branch_point", branch_point(&*opened.repo.snapshot()?, made.at)?),
                ("branch_entry", output::text(made.at)),
                ("branch_reason", variation.reason.into()),
                ("branch_metadata", render::plain(&variation.metadata)),
                ("entries", sapwood::codec::Value::List(entries)),
                ("reply", output::text(reply)),
            ])?;
            return Ok(Answer::Yes);
        }
        match (reply, self.fork) {
            (Some(reply), _) => context.output.item(reply)?,
            (None, true) => context.output.item(made.session)?,
            (None, false) => context.output.item(made.branch)?,
        }
        Ok(Answer::Yes)
    }

    fn reply(
        &self,
        variation: &Variation,
        opened: &Opened,
        operation: &Operation,
    ) -> Result<Option<String>, Failure> {
        if self.feed.with.with.is_none() {
            return Ok(None);
        }
        let session = &variation.from.session;
        let snapshot = opened.repo.snapshot()?;
        let said = match variation.at {
            Some(at) => session::context(&*snapshot, Some(session), at)?.messages,
            None => Vec::new(),
        };
        let mut said: Vec<Message> = said.into_iter().map(|shown| shown.message).collect();
        said.extend(variation.drafts.iter().filter_map(Draft::read));
        let command = operation.command.split(' ').next().unwrap_or_default();
        let branch = match (&self.name, self.fork) {
            (_, true) => FIRST_BRANCH.to_owned(),
            (Some(name), false) => name.clone(),
            (None, false) => View::of(&*snapshot, session)?.free_branch(&variation.stem)?,
        };
        let setting = Setting::new(opened, command, session, &branch);
        self.feed.run(setting, &said)
    }
}

/// Lists the ways on from the entry before a revision, with their reasons.
pub(super) fn list_siblings(
    context: &mut Context,
    within: &Within,
    revision: &str,
    listing: Listing,
) -> Result<Answer, Failure> {
    context.output.list(listing);
    let opened = context.open()?;
    let snapshot = opened.repo.snapshot()?;
    let session = within.target(&opened).session(&*snapshot)?;
    let entry = repo::resolve(&*snapshot, &Place::in_session(session.as_str()), revision)?;
    for sibling in ops::siblings(&*snapshot, &session, entry)? {
        if context.output.json {
            context.output.record([
                ("session", sibling.session.into()),
                ("branch", sibling.branch.into()),
                ("entry", output::text(sibling.entry)),
                ("branch_reason", output::text(sibling.reason)),
                ("branch_metadata", render::plain(&sibling.metadata)),
            ])?;
            continue;
        }
        let (id, words) = match sibling.entry {
            Some(id) => (short(&*snapshot, &id, SHORT_DIGITS)?, words(&opened, &id)?),
            None => ("-".repeat(SHORT_DIGITS), String::new()),
        };
        let place = match sibling.session == session {
            true => sibling.branch,
            false => format!("{}:{}", sibling.session, sibling.branch),
        };
        let reason = sibling.reason.unwrap_or_else(|| "-".to_owned());
        let (id, place) =
            (context.output.paint(style::ID, id), context.output.paint(style::REF, place));
        let line = format!("{id} {place} {reason} {words}");
        context.output.item(line.trim_end())?;
    }
    Ok(Answer::Yes)
}

/// Gives the first words of a message.
fn words(opened: &Opened, id: &sapwood::Id) -> Result<String, Failure> {
    let entry = restored_entry(&*opened.repo.snapshot()?, id)?;
    let text = Message::read(&entry.label, &entry.body).map(|message| message.text());
    let text = text.unwrap_or(entry.label);
    Ok(shown::clipped(&text, WORDS_COLUMNS))
}
