//! What somebody must know to go on with a goal in a new session: Markdown of a bounded length.
//!
//! Goal, facts, decisions, files touched, the last exchanges, and the passages of the whole path
//! that have most to do with the goal. No model is asked; the same session and goal give the same
//! text.

mod passages;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::codec::Value;
use crate::error::Result;
use crate::id::{Id, Kind};
use crate::memory;
use crate::object::Entry;
use crate::ops::handoff::passages::{Passages, Ranked, shortened};
use crate::ops::{RoleMap, Target, memory_head};
use crate::repo::{Place, resolve, restored};
use crate::session::{Message, View};
use crate::store::Snapshot;

/// The arguments of tools that name files.
const FILE_KEYS: [&str; 10] = [
    "path",
    "file_path",
    "filePath",
    "file",
    "filename",
    "file_name",
    "notebook_path",
    "paths",
    "files",
    "file_paths",
];

/// How many characters a token has, roughly.
const TOKEN_CHARS: usize = 4;

/// How many of the last messages are shown at the most, and how long each.
const LAST_MAX: usize = 6;
const LAST_CHARS_MAX: usize = 1200;

/// What to hand over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandoffOptions {
    /// The session.
    pub target: Target,
    /// The entry; else HEAD.
    pub revision: Option<String>,
    /// What is to be done.
    pub goal: String,
    /// How many tokens it may have.
    pub budget_tokens: usize,
    /// What roles stand for.
    pub roles: RoleMap,
}

/// What is handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoffOutcome {
    /// The session's id.
    pub session: String,
    /// The entry.
    pub entry: Id,
    /// The text, as Markdown.
    pub markdown: String,
}

/// Writes what somebody must know to go on with a goal elsewhere.
pub fn handoff(snapshot: &dyn Snapshot, options: &HandoffOptions) -> Result<HandoffOutcome> {
    let session = options.target.session(snapshot)?;
    let view = View::of(snapshot, &session)?;
    let place = Place::in_session(session.as_str());
    let entry = resolve(snapshot, &place, options.revision.as_deref().unwrap_or("HEAD"))?;
    let story = Story::read(snapshot, entry, options)?;
    let head = memory_head(snapshot, &options.target, options.revision.as_deref())?;
    let facts = memory::latest(memory::resolve(snapshot, head)?);
    let facts: Vec<String> = facts.iter().map(|fact| format!("- {}", fact.sentence())).collect();
    let decisions = decisions(&view, &story)?;
    let name = view.meta()?.name.unwrap_or_else(|| session.clone());

    let mut page = Page::new(options.budget_tokens.saturating_mul(TOKEN_CHARS));
    page.add(&format!("# Handoff\n\nFrom {name}, at {}.\n", entry.short(12)));
    page.add(&format!("\n## Goal\n\n{}\n", options.goal.trim()));
    page.section("Facts", &facts, page.left() / 4);
    page.section("Decisions", &decisions, page.left() / 5);
    page.section("Files touched", &story.files(), page.left() / 5);
    let last = story.last_exchanges(page.left() / 2);
    let reserved = length_of("The last exchanges", &last);
    let passages = story.passages.best(page.left().saturating_sub(reserved), &story.last_ids());
    page.section("What matters to the goal", &quoted(passages), usize::MAX - reserved);
    page.section("The last exchanges", &last, usize::MAX);
    Ok(HandoffOutcome { session, entry, markdown: page.text })
}

/// Markdown that stays within its length.
struct Page {
    text: String,
    used: usize,
    limit: usize,
}

impl Page {
    fn new(limit: usize) -> Page {
        Page { text: String::new(), used: 0, limit }
    }

    fn left(&self) -> usize {
        self.limit - self.used
    }

    /// Adds a text, cut off where the page ends.
    fn add(&mut self, text: &str) {
        for letter in text.chars().take(self.left()) {
            self.text.push(letter);
            self.used += 1;
        }
    }

    /// Adds a section of as many items as fit, and says how many do not.
    fn section(&mut self, title: &str, items: &[String], limit: usize) {
        let heading = format!("\n## {title}\n\n");
        let limit = limit.min(self.left());
        let mut used = heading.chars().count();
        let mut body = String::new();
        for (place, item) in items.iter().enumerate() {
            let length = item.chars().count() + 1;
            let more = format!("- and {} more\n", items.len() - place);
            let is_last = place + 1 == items.len();
            let room = if is_last { 0 } else { more.chars().count() };
            if used + length + room > limit {
                if place > 0 && used + more.chars().count() <= limit {
                    body.push_str(&more);
                }
                break;
            }
            used += length;
            body.push_str(item);
            body.push('\n');
        }
        if !body.is_empty() {
            self.add(&heading);
            self.add(&body);
        }
    }
}

fn length_of(title: &str, items: &[String]) -> usize {
    let items: usize = items.iter().map(|item| item.chars().count() + 1).sum();
    items + title.chars().count() + 8
}

/// A path, read once from its end.
struct Story {
    passages: Passages,
    /// Files, and the tools that were given them; the one touched last comes first.
    files: Vec<(String, BTreeMap<String, usize>)>,
    /// The last messages, newest first.
    last: Vec<(Id, String, String)>,
    /// Summaries on the path, newest first.
    summaries: Vec<String>,
}

impl Story {
    fn read(snapshot: &dyn Snapshot, at: Id, options: &HandoffOptions) -> Result<Story> {
        let mut story = Story {
            passages: Passages::about(&options.goal),
            files: Vec::new(),
            last: Vec::new(),
            summaries: Vec::new(),
        };
        snapshot.read_path(&at, &mut |id, stored| {
            if stored.kind == Kind::Entry {
                let mut entry = Entry::decode(&stored.content)?;
                restored(snapshot, &mut entry.body)?;
                story.take(*id, &entry, &options.roles);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(story)
    }

    fn take(&mut self, id: Id, entry: &Entry, roles: &RoleMap) {
        let Some(message) = Message::read(&entry.label, &entry.body) else {
            let summary = entry.body.get("summary").and_then(Value::as_text);
            if let Some(summary) = summary.filter(|text| !text.trim().is_empty()) {
                self.passages.add(id, &entry.label, summary);
                self.summaries.push(shortened(summary, 300));
            }
            return;
        };
        for call in message.calls() {
            for path in files_of(&call.arguments) {
                let known = self.files.iter().position(|(known, _)| *known == path);
                let place = known.unwrap_or_else(|| {
                    self.files.push((path, BTreeMap::new()));
                    self.files.len() - 1
                });
                *self.files[place].1.entry(call.name.clone()).or_default() += 1;
            }
        }
        let text = message.text();
        if text.trim().is_empty() {
            return;
        }
        let role = roles.name(&message.role);
        self.passages.add(id, role, &text);
        if self.last.len() < LAST_MAX {
            self.last.push((id, role.to_owned(), text));
        }
    }

    fn files(&self) -> Vec<String> {
        let lines = self.files.iter().map(|(path, tools)| {
            let tools = tools.iter().map(|(tool, count)| match count {
                1 => tool.clone(),
                count => format!("{tool} ×{count}"),
            });
            format!("- `{path}` ({})", tools.collect::<Vec<_>>().join(", "))
        });
        lines.collect()
    }

    /// Gives the last messages that fit, oldest first.
    fn last_exchanges(&self, limit: usize) -> Vec<String> {
        let mut items = Vec::new();
        let mut used = 0;
        for (id, role, text) in &self.last {
            let item = quote(id, role, &shortened(text, LAST_CHARS_MAX.min(limit / 2)));
            used += item.chars().count() + 1;
            if used > limit.saturating_sub(40) {
                break;
            }
            items.push(item);
        }
        items.reverse();
        items
    }

    fn last_ids(&self) -> Vec<Id> {
        self.last.iter().map(|(id, ..)| *id).collect()
    }
}

/// Lists what was decided: branches, labels, and summaries of what was left.
fn decisions(view: &View<'_>, story: &Story) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for (name, _) in view.branches()? {
        let Some(record) = view.record(&name)? else {
            continue;
        };
        let mut line = format!("- branch `{name}`");
        if let Some(parent) = record.parent {
            line.push_str(&format!(" from `{parent}`"));
        }
        if let Some(reason) = record.reason {
            line.push_str(&format!(" ({reason})"));
        }
        if let Some(description) = record.description {
            line.push_str(&format!(": {}", shortened(&description, 200)));
        }
        lines.push(line);
    }
    for (name, entry) in view.labels()? {
        lines.push(format!("- label `{name}` at {}", entry.short(12)));
    }
    lines.extend(story.summaries.iter().map(|summary| format!("- so far: {summary}")));
    Ok(lines)
}

/// Finds the files that the arguments of a tool name.
fn files_of(arguments: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in arguments.as_map().unwrap_or_default() {
        match value {
            _ if !FILE_KEYS.contains(&&**key) => {}
            Value::Text(path) => found.push(path.clone()),
            Value::List(items) => {
                found.extend(items.iter().filter_map(Value::as_text).map(str::to_owned));
            }
            _ => {}
        }
    }
    found.retain(|path| !path.is_empty() && path.len() <= 400 && !path.contains('\n'));
    found
}

fn quoted(passages: Vec<Ranked>) -> Vec<String> {
    passages.iter().map(|found| quote(&found.entry, &found.role, &found.text)).collect()
}

/// Quotes what somebody said, and cites the entry.
fn quote(entry: &Id, role: &str, text: &str) -> String {
    let lines = text.trim().lines().map(|line| format!("> {line}").trim_end().to_owned());
    format!("{role}, {}:\n\n{}\n", entry.short(12), lines.collect::<Vec<_>>().join("\n"))
}
