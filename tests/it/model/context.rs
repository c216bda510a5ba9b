//! What the model shows at an entry, and which calls are open.

use super::world::{Said, State, Turn, World};

/// What is shown, the calls that nothing answered, and the settings in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Context {
    pub(super) entries: Vec<usize>,
    pub(super) open: Vec<String>,
    pub(super) state: State,
}

impl World {
    /// Says whether an entry is a message.
    pub(super) fn is_message(&self, entry: usize) -> bool {
        let said = &self.entries[entry].said;
        matches!(said, Said::User(_) | Said::Assistant(_) | Said::Call(_) | Said::Answer { .. })
    }

    fn call(&self, entry: usize) -> Option<&str> {
        match &self.entries[entry].said {
            Said::Call(call) => Some(call),
            _ => None,
        }
    }

    fn answer(&self, entry: usize) -> Option<&str> {
        match &self.entries[entry].said {
            Said::Answer { call, .. } => Some(call),
            _ => None,
        }
    }

    /// Lists the entries of a path that are shown: the last compaction's summary comes first.
    pub(super) fn shown(&self, end: usize) -> Vec<usize> {
        let path = self.path(Some(end));
        let is_shown = |entry: &usize| match &self.entries[*entry].said {
            Said::Aside(_) | Said::Merge(_) | Said::Summary { .. } => true,
            _ => self.is_message(*entry),
        };
        let cut = path
            .iter()
            .rposition(|entry| matches!(self.entries[*entry].said, Said::Compaction { .. }));
        let Some(cut) = cut else {
            return path.into_iter().filter(is_shown).collect();
        };
        let Said::Compaction { summary, kept, .. } = &self.entries[path[cut]].said else {
            panic!("it was just found");
        };
        let mut shown: Vec<usize> = summary.iter().map(|_| path[cut]).collect();
        let first = path[..cut].iter().position(|entry| Some(*entry) == *kept).unwrap_or(cut);
        shown.extend(path[first..].iter().copied().filter(is_shown));
        shown
    }

    /// Pairs calls and answers of a list: each answer with the last open call of its id.
    pub(super) fn pairs(&self, entries: &[usize]) -> (Vec<(usize, usize)>, Vec<usize>) {
        let (mut pairs, mut open) = (Vec::new(), Vec::<usize>::new());
        for (place, entry) in entries.iter().enumerate() {
            if self.call(*entry).is_some() {
                open.push(place);
            }
            if let Some(answer) = self.answer(*entry)
                && let Some(found) =
                    open.iter().rposition(|call| self.call(entries[*call]) == Some(answer))
            {
                pairs.push((open.remove(found), place));
            }
        }
        (pairs, open)
    }

    /// Finds a call before a cut whose answer lies behind it.
    pub(super) fn torn(&self, entries: &[usize], cut: usize) -> Option<usize> {
        (cut..entries.len()).find_map(|place| {
            let answer = self.answer(entries[place])?;
            let caller =
                entries[..place].iter().rposition(|entry| self.call(*entry) == Some(answer));
            caller.filter(|caller| *caller < cut)
        })
    }

    /// Lists the open calls of the last turn with calls at the end of a path.
    pub(super) fn unanswered(&self, end: usize) -> Vec<usize> {
        let mut turn = Vec::new();
        let mut waiting: Vec<&str> = Vec::new();
        let mut has_calls = false;
        for entry in self.path(Some(end)).into_iter().rev().filter(|entry| self.is_message(*entry))
        {
            match (self.call(entry), self.answer(entry)) {
                (Some(call), _) => {
                    has_calls = true;
                    waiting.retain(|answer| *answer != call);
                }
                (_, Some(_)) if has_calls && waiting.is_empty() => break,
                (_, Some(answer)) => waiting.push(answer),
                _ => break,
            }
            turn.push(entry);
        }
        turn.reverse();
        self.pairs(&turn).1.into_iter().map(|place| turn[place]).collect()
    }

    /// Gives the model and level of thinking that a path sets.
    pub(super) fn state(&self, end: usize) -> State {
        let (mut model, mut thinking) = (None, None);
        for entry in self.path(Some(end)).into_iter().rev() {
            let (said, is_last) = match &self.entries[entry].said {
                Said::Config { model, thinking } => ((model.clone(), thinking.clone()), false),
                Said::Compaction { state, .. } => (state.clone(), true),
                _ => continue,
            };
            model = model.or(said.0);
            thinking = thinking.or(said.1);
            if is_last {
                break;
            }
        }
        (model, thinking)
    }

    /// Gives the context at an entry of a session.
    pub(super) fn context(&self, place: usize, end: usize) -> Context {
        let mut entries = self.shown(end);
        self.join(place, &mut entries);
        let open = self.pairs(&entries).1.into_iter();
        let open = open.filter_map(|at| self.call(entries[at])).map(str::to_owned).collect();
        let (model, thinking) = self.state(end);
        let model = model.or_else(|| self.sessions[place].model.clone());
        Context { entries, open, state: (model, thinking) }
    }

    /// Puts answers beside their calls that hang elsewhere below the first open one.
    fn join(&self, place: usize, entries: &mut Vec<usize>) {
        let open = self.pairs(entries).1;
        let Some(first) = open.first().map(|at| entries[*at]) else {
            return;
        };
        let mut open: Vec<usize> = open.into_iter().map(|at| entries[at]).collect();
        let turns = &self.sessions[place].turns;
        let Some(begin) = turns.iter().rposition(|turn| *turn == Turn::Said(first)) else {
            return;
        };
        let mut seen = entries.clone();
        for turn in &turns[begin..] {
            let Turn::Said(said) = turn else { continue };
            if seen.contains(said) || !self.path(Some(*said)).contains(&first) {
                continue;
            }
            seen.push(*said);
            let Some(answer) = self.answer(*said) else { continue };
            let Some(found) = open.iter().position(|call| self.call(*call) == Some(answer)) else {
                continue;
            };
            let caller = open.remove(found);
            let mut at = entries.iter().position(|entry| *entry == caller).unwrap() + 1;
            while entries.get(at).is_some_and(|entry| self.call(*entry).is_some()) {
                at += 1;
            }
            while entries.get(at).is_some_and(|entry| self.answer(*entry).is_some()) {
                at += 1;
            }
            entries.insert(at, *said);
        }
    }
}
