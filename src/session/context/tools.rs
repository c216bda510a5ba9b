//! Calls of tools and what they are answered by.
//!
//! An answer belongs to the last call before it with its id that is still open. Ids need not be
//! unique: some programs count from one in every turn.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::id::Id;
use crate::session::context::{Context, Dangling, Shown, restored_entry, shown};
use crate::session::message::{Answer, Block, Call, MESSAGE_LABELS, Message};
use crate::store::Snapshot;
use crate::walk;

/// What stands for a result that never came.
const NO_RESULT: &str = "No result: the call was interrupted.";

impl Context {
    /// Closes the calls that nothing answered, and drops answers to no call.
    ///
    /// What is dangling stays listed.
    pub fn repair(&mut self) {
        drop_orphans(&mut self.messages);
        for open in &self.dangling {
            let is_caller = |shown: &Shown| {
                shown.entry == open.entry && shown.message.calls().any(|call| *call == open.call)
            };
            let Some(caller) = self.messages.iter().position(is_caller) else {
                continue;
            };
            let answer = Answer {
                call: open.call.id.clone(),
                name: Some(open.call.name.clone()),
                text: NO_RESULT.to_owned(),
                is_error: true,
                ..Answer::default()
            };
            let blocks = vec![Block::Result(answer)];
            let message = Message { role: "tool".to_owned(), blocks, ..Message::default() };
            let closing = Shown { message, ..self.messages[caller].clone() };
            let place = behind_answers(&self.messages, caller);
            self.messages.insert(place, closing);
        }
    }
}

/// Lists the calls at the end of a path that nothing on it answers.
///
/// Goes back to where the last turn with calls began, and no further.
pub fn unanswered(snapshot: &dyn Snapshot, at: Id) -> Result<Vec<Dangling>> {
    let mut messages = Vec::new();
    let mut open_answers: HashSet<String> = HashSet::new();
    let mut has_calls = false;
    // Mostly the last entry says it all: then no path is asked for. What the path begins with is
    // that entry, or an error.
    let before = walk::path(snapshot, at).skip_while(|id| matches!(id, Ok(id) if *id == at));
    for id in std::iter::once(Ok(at)).chain(before) {
        let id = id?;
        let topology = snapshot.topology(&id)?.ok_or(Error::ObjectMissing { id })?;
        if !MESSAGE_LABELS.contains(&&*topology.label) {
            continue;
        }
        let entry = restored_entry(snapshot, &id)?;
        let Some(message) = Message::read(&entry.label, &entry.body) else {
            continue;
        };
        let (calls, answers) = (message.calls().count(), message.answers().count());
        let is_earlier_turn = has_calls && answers > 0 && open_answers.is_empty();
        if calls + answers == 0 || is_earlier_turn {
            break;
        }
        has_calls |= calls > 0;
        open_answers.extend(message.answers().map(|answer| answer.call.clone()));
        for call in message.calls() {
            open_answers.remove(&call.id);
        }
        messages.push(shown(id, &entry, message));
    }
    messages.reverse();
    Ok(dangling(&messages))
}

/// Refuses to cut a conversation between a tool call and its result.
pub fn check_answered(snapshot: &dyn Snapshot, at: Id) -> Result<()> {
    let dangling = unanswered(snapshot, at)?;
    let Some(first) = dangling.first() else {
        return Ok(());
    };
    let calls = dangling.iter().map(|open| format!("{} ({})", open.call.name, open.call.id));
    Err(Error::Unanswered { entry: first.entry, calls: calls.collect() })
}

/// Moves a cut back until no call lies before it whose result lies behind it. A result belongs to
/// the last call before it with its id, though another has answered that already.
pub fn before_calls(messages: &[Shown], mut cut: usize) -> usize {
    let mut place = messages.len();
    while place > cut {
        place -= 1;
        for answer in messages[place].message.answers() {
            let calls = |shown: &Shown| shown.message.calls().any(|call| call.id == answer.call);
            cut = cut.min(messages[..place].iter().rposition(calls).unwrap_or(cut));
        }
    }
    cut
}

/// Lists the calls that nothing answers, in order.
pub(super) fn dangling(messages: &[Shown]) -> Vec<Dangling> {
    let open = Matched::of(messages).open.into_iter();
    open.map(|(place, call)| Dangling { entry: messages[place].entry, call: call.clone() })
        .collect()
}

/// Which answers belong to which calls, by the places of their messages.
#[derive(Default)]
struct Matched<'a> {
    /// The calls that nothing answers, in order.
    open: Vec<(usize, &'a Call)>,
    /// Calls and what answers them.
    pairs: Vec<(usize, usize)>,
    /// The answers to no call: message and block.
    orphans: HashSet<(usize, usize)>,
}

impl<'a> Matched<'a> {
    fn of(messages: &'a [Shown]) -> Matched<'a> {
        let mut matched = Matched::default();
        for (place, shown) in messages.iter().enumerate() {
            for (block_place, block) in shown.message.blocks.iter().enumerate() {
                match block {
                    Block::Call(call) => matched.open.push((place, call)),
                    Block::Result(answer) => matched.answer(place, block_place, answer),
                    _ => {}
                }
            }
        }
        matched
    }

    fn answer(&mut self, place: usize, block_place: usize, answer: &Answer) {
        match self.open.iter().rposition(|(_, call)| call.id == answer.call) {
            Some(found) => self.pairs.push((self.open.remove(found).0, place)),
            None => drop(self.orphans.insert((place, block_place))),
        }
    }
}

/// Drops answers to no call, and messages that held nothing else.
fn drop_orphans(messages: &mut Vec<Shown>) {
    let orphans = Matched::of(messages).orphans;
    let mut place = 0;
    messages.retain_mut(|shown| {
        let (mut block_place, before) = (0, shown.message.blocks.len());
        shown.message.blocks.retain(|_| {
            block_place += 1;
            !orphans.contains(&(place, block_place - 1))
        });
        place += 1;
        before == shown.message.blocks.len() || !shown.message.blocks.is_empty()
    });
}

/// Gives the place behind the turn of a message that calls, and the answers that follow it.
fn behind_answers(messages: &[Shown], caller: usize) -> usize {
    let mut place = caller + 1;
    while messages.get(place).is_some_and(|shown| shown.message.calls().next().is_some()) {
        place += 1;
    }
    while messages.get(place).is_some_and(|shown| shown.message.answers().next().is_some()) {
        place += 1;
    }
    place
}

/// Puts results beside their calls that hang elsewhere in the session, the first of each call.
pub(super) fn join_strays(
    snapshot: &dyn Snapshot,
    session: &str,
    context: &mut Context,
) -> Result<()> {
    let Some(begin) = context.dangling.first().map(|first| first.entry) else {
        return Ok(());
    };
    let Context { messages, dangling: open, .. } = context;
    let mut open: Vec<(Id, String)> =
        open.drain(..).map(|open| (open.entry, open.call.id)).collect();
    let first = messages.iter().position(|shown| shown.entry == begin).unwrap_or_default();
    let mut near: HashSet<Id> = messages[first..].iter().map(|shown| shown.entry).collect();
    let mut said = walk::transcript_since(snapshot, session, &begin)?;
    if said.is_empty() {
        // It was said in another session that this one goes on from.
        said = walk::transcript(snapshot, session)?;
    }
    for id in said {
        let topology = snapshot.topology(&id)?.ok_or(Error::ObjectMissing { id })?;
        // What hangs on nothing may answer anything; but what hangs on it does not.
        let is_near = match topology.parents.first() {
            Some(parent) => near.contains(parent) && near.insert(id),
            None => !near.contains(&id),
        };
        if !is_near || !MESSAGE_LABELS.contains(&&*topology.label) {
            continue;
        }
        let entry = restored_entry(snapshot, &id)?;
        let Some(mut message) = Message::read(&entry.label, &entry.body) else {
            continue;
        };
        let mut caller = None;
        message.blocks.retain(|block| {
            let Block::Result(answer) = block else {
                return false;
            };
            let found = open.iter().position(|(_, call)| *call == answer.call);
            caller = caller.or(found.map(|found| open.remove(found).0));
            found.is_some()
        });
        let Some(caller) = caller else {
            continue;
        };
        let caller = messages.iter().position(|shown| shown.entry == caller);
        let place = caller.map_or(messages.len(), |caller| behind_answers(messages, caller));
        messages.insert(place, shown(id, &entry, message));
    }
    context.dangling = dangling(&context.messages);
    Ok(())
}
