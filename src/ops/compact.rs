//! Compaction: a marker in the chain, with a summary of what comes before the first entry kept.
//!
//! Nothing is taken away. `uncompact` is a marker as well: one without a summary, that keeps
//! everything from the root on.

use std::collections::HashSet;

use crate::codec::{Value, json};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::{Seen, Target};
use crate::repo::{Place, Repo, resolve};
use crate::session::{
    Block, Context, Settings, Shown, Usage, Wanted, before_calls, context, restored_entry,
    settings, unanswered,
};
use crate::store::{Durability, Operation, Snapshot};
use crate::walk;

/// The type of the marker.
const COMPACTION: &str = "compaction";

/// How many characters are taken for a token where nothing better is known.
const TOKEN_CHARACTERS: usize = 4;

/// What is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keep {
    /// So many messages.
    Last(usize),
    /// Everything from a revision on.
    From(String),
}

/// What a compaction would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Compaction {
    /// The branch and its end.
    pub seen: Seen,
    /// The first entry that is kept; `None` if all is summarised.
    pub first_kept: Option<Id>,
    /// What the summary stands for, an earlier summary included.
    pub replaced: Vec<Shown>,
    /// How many messages are kept.
    pub kept: usize,
    /// The tokens of the context before, as far as they are known.
    pub tokens_before: i64,
    settings: Settings,
}

/// Says what a compaction would do. It never cuts between a tool call and its result: where the
/// result is kept, or has not come yet, the call is kept too.
pub fn plan_compact(snapshot: &dyn Snapshot, target: &Target, keep: &Keep) -> Result<Compaction> {
    let seen = Seen::at(snapshot, target)?;
    let Context { mut messages, model, provider, thinking, .. } =
        context(snapshot, None, seen.end)?;
    let begin = messages.iter().take_while(|shown| shown.label == COMPACTION).count();
    let mut cut = match keep {
        Keep::Last(count) => messages.len().saturating_sub(*count).max(begin),
        Keep::From(text) => {
            let first = resolve(snapshot, &Place::in_session(seen.session.as_str()), text)?;
            find_cut(snapshot, &seen, &messages, first, text)?
        }
    };
    let open: HashSet<Id> =
        unanswered(snapshot, seen.end)?.into_iter().map(|open| open.entry).collect();
    if let Some(first) = messages.iter().position(|shown| open.contains(&shown.entry)) {
        cut = cut.min(first);
    }
    let cut = before_calls(&messages, cut);
    if cut <= begin {
        return Err(Error::Refused {
            why: format!("there is nothing to compact: all {} messages are kept", messages.len()),
            hint: "keep fewer with --keep",
        });
    }
    let tokens_before = tokens(&messages);
    let kept = messages.split_off(cut);
    Ok(Compaction {
        first_kept: kept.first().map(|shown| shown.entry),
        kept: kept.len(),
        replaced: messages,
        tokens_before,
        settings: Settings { model, provider, thinking, ..Settings::default() },
        seen,
    })
}

/// Adds the marker, and gives its id.
pub fn compact(repo: &Repo, plan: &Compaction, summary: &str, operation: &Operation) -> Result<Id> {
    let fields = [
        ("summary", Value::from(summary)),
        ("firstKept", plan.first_kept.into()),
        ("tokensBefore", plan.tokens_before.into()),
        ("state", plan.settings.state()),
    ];
    let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
    mark(repo, &plan.seen, Value::map(fields), operation)
}

/// Makes the context of a branch whole again, and gives the marker's id.
pub fn uncompact(repo: &Repo, target: &Target, operation: &Operation) -> Result<Id> {
    let snapshot = repo.snapshot()?;
    let seen = Seen::at(&*snapshot, target)?;
    if !is_compacted(&*snapshot, seen.end)? {
        return Err(Error::Refused {
            why: format!("branch '{}' is not compacted", seen.branch),
            hint: "its context is whole",
        });
    }
    let mut root = seen.end;
    for id in walk::path(&*snapshot, seen.end) {
        root = id?;
    }
    let wanted = Wanted { model: true, thinking: true, ..Wanted::default() };
    let state = settings(&*snapshot, seen.end, wanted)?.state();
    let body = Value::map([("firstKept", Value::Link(root)), ("state", state)]);
    mark(repo, &seen, body, operation)
}

fn mark(repo: &Repo, seen: &Seen, body: Value, operation: &Operation) -> Result<Id> {
    let mut marker = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = seen.change(snapshot, operation.time)?;
        marker = Some(change.append(&seen.branch, COMPACTION, body.clone(), operation.time)?);
        change.finish(Some(operation.clone()))
    })?;
    Ok(marker.expect("the plan was called"))
}

/// Finds the message that an entry is, or the first after it.
fn find_cut(
    snapshot: &dyn Snapshot,
    seen: &Seen,
    messages: &[Shown],
    first: Id,
    text: &str,
) -> Result<usize> {
    let after = seen.back_to(snapshot, first)?.ok_or_else(|| Error::Refused {
        why: format!("'{text}' is not on the path of branch '{}'", seen.branch),
        hint: "name an entry of the branch",
    })?;
    let kept: HashSet<Id> = after.into_iter().chain([first]).collect();
    let cut =
        messages.iter().position(|shown| shown.label != COMPACTION && kept.contains(&shown.entry));
    Ok(cut.unwrap_or(messages.len()))
}

/// Counts the tokens of a context: what the last answer says of it, or by the characters.
fn tokens(messages: &[Shown]) -> i64 {
    if let Some(told) = messages.iter().rev().find_map(|shown| told(&shown.message.usage)) {
        return told;
    }
    let blocks = messages.iter().flat_map(|shown| &shown.message.blocks);
    let estimated = blocks.map(characters).sum::<usize>().div_ceil(TOKEN_CHARACTERS);
    i64::try_from(estimated).unwrap_or(i64::MAX)
}

/// Gives the tokens that were read and written, if both are known.
fn told(usage: &Usage) -> Option<i64> {
    let cached = usage.cache_read.unwrap_or(0).saturating_add(usage.cache_write.unwrap_or(0));
    Some(usage.input?.saturating_add(usage.output?).saturating_add(cached))
}

fn characters(block: &Block) -> usize {
    match block {
        Block::Text(text) | Block::Thinking(text) => text.chars().count(),
        Block::Call(call) => call.name.len() + json::to_string(&call.arguments).chars().count(),
        Block::Result(answer) => answer.text.chars().count(),
        Block::Other(value) => json::to_string(value).chars().count(),
        Block::Image(_) => 0,
    }
}

/// Says whether the last compaction on a path hides anything.
fn is_compacted(snapshot: &dyn Snapshot, end: Id) -> Result<bool> {
    for id in walk::path(snapshot, end) {
        let id = id?;
        let topology = snapshot.topology(&id)?.ok_or(Error::ObjectMissing { id })?;
        if &*topology.label == COMPACTION {
            let body = restored_entry(snapshot, &id)?.body;
            // Some programs keep what it says under `payload`.
            return Ok(body.get("summary").or_else(|| body.get("payload")).is_some());
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::desk::Desk;

    #[test]
    fn a_call_stays_with_its_result_though_its_id_comes_again() {
        let desk = Desk::new(&["one"]);
        let call = r#"{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f"}}]}"#;
        let result = r#"{"role":"tool","tool_call_id":"1","content":"x"}"#;
        let ids = [call, result, call, result].map(|body| desk.put("main", body));
        let snapshot = desk.repo.snapshot().unwrap();
        let first_kept = |count| {
            let plan = plan_compact(&*snapshot, &Target::default(), &Keep::Last(count)).unwrap();
            plan.first_kept.unwrap()
        };
        let kept = [1, 2, 3, 4].map(first_kept);
        assert_eq!(kept, [ids[2], ids[2], ids[0], ids[0]]);
    }
}
