//! What the model does with what was said.

use std::collections::BTreeMap;

use super::facts::{Fact, Node, Saying};
use super::places::Variation;
use super::world::{Cell, Entry, Outcome, Rev, Said, Session, Spot, Where, Why, World};

impl World {
    /// Appends, and says whether that made anything but entries.
    pub(super) fn append(&mut self, at: &Where, said: &[Said], sid: &str) -> Outcome<bool> {
        let named = at.session.clone().or_else(|| self.current.clone());
        let known = named.as_ref().filter(|sid| self.place(sid).is_some());
        let (place, branch, is_plain) = match known {
            Some(_) => {
                let spot = self.spot(at)?;
                let is_plain = self.sessions[spot.session].head(&spot.branch).is_some();
                self.ready(&spot)?;
                (spot.session, spot.branch, is_plain)
            }
            None if at.parent.is_some() => return Err(Why::Unknown),
            None => {
                let branch = at.branch.clone().unwrap_or_else(|| "main".to_owned());
                let sid = at.session.as_deref().unwrap_or(sid);
                self.sessions.push(Session::new(sid, &branch, self.now));
                (self.sessions.len() - 1, branch, false)
            }
        };
        if self.current.is_none() {
            self.current = Some(self.sessions[place].sid.clone());
        }
        for said in said {
            self.say(place, &branch, said.clone());
        }
        Ok(!is_plain)
    }

    /// Finds a branch that has entries, and its end.
    pub(super) fn seen(&self, at: &Where) -> Outcome<(Spot, usize)> {
        let spot = self.spot(at)?;
        let end = self.sessions[spot.session].head(&spot.branch).ok_or(Why::Refused)?;
        match spot.parent {
            Some(parent) if parent != end => Err(Why::Conflict),
            _ => Ok((spot, end)),
        }
    }

    pub(super) fn remember(
        &mut self,
        place: usize,
        branch: &str,
        facts: &[(Option<String>, String)],
        source: Option<usize>,
    ) {
        let end = self.sessions[place].head(branch);
        let last = self.path(end).into_iter().rev().find(|entry| self.is_message(*entry));
        let source = source.or(last);
        let facts = facts.iter().map(|(key, text)| Fact {
            key: key.clone(),
            saying: Saying::Text(text.clone()),
            source,
        });
        let parents = self.known(end).into_iter().collect();
        let node =
            Node { parents, facts: facts.collect(), branch: branch.to_owned(), time: self.now };
        let node = self.add_node(node);
        self.say(place, branch, Said::Memory(node));
    }

    pub(super) fn memory_commit(
        &mut self,
        at: &Where,
        facts: &[(Option<String>, String)],
        source: Option<&Rev>,
    ) -> Outcome {
        if facts.is_empty() {
            return Err(Why::Refused);
        }
        let spot = self.spot(at)?;
        let before = self.sessions[spot.session].clone();
        self.ready(&spot)?;
        let source = source.map(|rev| before.resolve(rev)).transpose()?;
        self.remember(spot.session, &spot.branch, facts, source);
        Ok(())
    }

    pub(super) fn memory_merge(&mut self, at: &Where, from: &Rev) -> Outcome {
        let spot = self.spot(at)?;
        let theirs = self.sessions[spot.session].resolve(from)?;
        let theirs = self.known(Some(theirs)).ok_or(Why::Refused)?;
        let before = self.clone();
        self.ready(&spot)?;
        let ours = self.known(self.sessions[spot.session].head(&spot.branch));
        match self.merged(ours, theirs, &spot.branch) {
            Some(node) => drop(self.say(spot.session, &spot.branch, Said::Memory(node))),
            None => *self = before,
        }
        Ok(())
    }

    pub(super) fn pop(
        &mut self,
        at: &Where,
        rev: Option<&Rev>,
        summary: Option<(&str, bool)>,
        force: bool,
    ) -> Outcome {
        let (spot, end) = self.seen(at)?;
        let path = self.path(Some(end));
        let left = match rev {
            Some(rev) => {
                let entry = self.sessions[spot.session].resolve(rev)?;
                Some(entry)
                    .filter(|entry| path[..path.len() - 1].contains(entry))
                    .ok_or(Why::Refused)?
            }
            None => {
                let asks = |entry: &usize| matches!(self.entries[*entry].said, Said::User(_));
                let question = path.iter().rposition(asks).ok_or(Why::Refused)?;
                match question.checked_sub(1) {
                    Some(before) => path[before],
                    None => usize::MAX,
                }
            }
        };
        let left = Some(left).filter(|left| *left != usize::MAX);
        self.check_answered(Some(end), force)?;
        self.check_answered(left, force)?;
        let session = &mut self.sessions[spot.session];
        session.set(&format!("heads/{}", spot.branch), left.map(Cell::Entry));
        session.happened("pop", left);
        if let Some((text, is_stack)) = summary {
            let said = Said::Summary { text: text.to_owned(), from: end, is_stack };
            self.say(spot.session, &spot.branch, said);
        }
        Ok(())
    }

    pub(super) fn compact(
        &mut self,
        at: &Where,
        keep: Result<usize, &Rev>,
        summary: &str,
    ) -> Outcome {
        let (spot, end) = self.seen(at)?;
        let shown = self.shown(end);
        let is_marker =
            |entry: &usize| matches!(self.entries[*entry].said, Said::Compaction { .. });
        let begin = shown.iter().take_while(|entry| is_marker(entry)).count();
        let mut cut = match keep {
            Ok(count) => shown.len().saturating_sub(count).max(begin),
            Err(rev) => {
                let first = self.sessions[spot.session].resolve(rev)?;
                let path = self.path(Some(end));
                let from = path.iter().position(|entry| *entry == first).ok_or(Why::Refused)?;
                let kept = |entry: &usize| !is_marker(entry) && path[from..].contains(entry);
                shown.iter().position(kept).unwrap_or(shown.len())
            }
        };
        let open = self.unanswered(end);
        if let Some(first) = shown.iter().position(|entry| open.contains(entry)) {
            cut = cut.min(first);
        }
        while let Some(call) = self.torn(&shown, cut) {
            cut = call;
        }
        if cut <= begin {
            return Err(Why::Refused);
        }
        let (kept, state) = (shown.get(cut).copied(), self.state(end));
        let said = Said::Compaction { summary: Some(summary.to_owned()), kept, state };
        self.say(spot.session, &spot.branch, said);
        Ok(())
    }

    pub(super) fn uncompact(&mut self, at: &Where) -> Outcome {
        let (spot, end) = self.seen(at)?;
        let path = self.path(Some(end));
        let is_compacted = path.iter().rev().find_map(|entry| match &self.entries[*entry].said {
            Said::Compaction { summary, .. } => Some(summary.is_some()),
            _ => None,
        });
        if is_compacted != Some(true) {
            return Err(Why::Refused);
        }
        let said = Said::Compaction { summary: None, kept: Some(path[0]), state: self.state(end) };
        self.say(spot.session, &spot.branch, said);
        Ok(())
    }

    /// Finds a revision, and the end of a branch that is ready to be written to.
    fn both(&mut self, at: &Where, rev: &Rev) -> Outcome<(Spot, usize, usize)> {
        let spot = self.spot(at)?;
        let before = self.sessions[spot.session].clone();
        self.ready(&spot)?;
        let theirs = before.resolve(rev)?;
        let ours = before.head(&spot.branch).ok_or(Why::Refused)?;
        Ok((spot, ours, theirs))
    }

    pub(super) fn merge(&mut self, at: &Where, rev: &Rev, summary: &str) -> Outcome {
        let (spot, ours, theirs) = self.both(at, rev)?;
        if self.is_ancestor(theirs, ours) {
            return Err(Why::Refused);
        }
        let said = Said::Merge(summary.to_owned());
        let entry = Entry { said, parents: vec![ours, theirs], time: self.now, origin: None };
        self.say_entry(spot.session, &spot.branch, entry);
        self.sessions[spot.session].noted("merge");
        Ok(())
    }

    pub(super) fn reset(&mut self, at: &Where, rev: &Rev, force: bool) -> Outcome {
        let (spot, was, now) = self.both(at, rev)?;
        if was == now {
            return Err(Why::Refused);
        }
        self.check_answered(Some(now), force)?;
        let session = &mut self.sessions[spot.session];
        session.set(&format!("heads/{}", spot.branch), Some(Cell::Entry(now)));
        let next = if session.tip == Some(was) { Some(now) } else { session.tip };
        session.happened("reset", next);
        Ok(())
    }

    pub(super) fn rebase(&mut self, at: &Where, rev: &Rev) -> Outcome {
        let (spot, was, base) = self.both(at, rev)?;
        let point = self.fork_point(was, base);
        if point == Some(base) {
            return Err(Why::Refused);
        }
        let own = self.since(was, point);
        let session = &mut self.sessions[spot.session];
        session.set(&format!("heads/{}", spot.branch), Some(Cell::Entry(base)));
        session.happened("rebase", Some(base));
        let mut copies = BTreeMap::new();
        own.into_iter().for_each(|entry| {
            self.copy(&spot, entry, (Some(base), false), &mut copies);
        });
        Ok(())
    }

    pub(super) fn cherry_pick(&mut self, at: &Where, revs: &[Rev]) -> Outcome {
        let spot = self.spot(at)?;
        let before = self.sessions[spot.session].clone();
        self.ready(&spot)?;
        let end = self.sessions[spot.session].head(&spot.branch);
        let mut copies = BTreeMap::new();
        for rev in revs {
            let entry = before.resolve(rev)?;
            if end.is_some_and(|end| self.is_ancestor(entry, end)) {
                return Err(Why::Refused);
            }
            self.copy(&spot, entry, (end, true), &mut copies);
        }
        self.sessions[spot.session].noted("cherry_pick");
        Ok(())
    }

    /// Copies an entry to the end of a branch. Told are where the branch ended before, and whether
    /// the copy names its origin.
    fn copy(
        &mut self,
        spot: &Spot,
        original: usize,
        (base, is_picked): (Option<usize>, bool),
        copies: &mut BTreeMap<usize, usize>,
    ) {
        let Entry { mut said, parents, time, origin } = self.entries[original].clone();
        let relinked = |link: usize| copies.get(&link).copied().unwrap_or(link);
        let end = self.sessions[spot.session].head(&spot.branch);
        match &mut said {
            Said::Summary { from, .. } => *from = relinked(*from),
            Said::Compaction { kept, .. } => {
                let point = base.and_then(|base| self.fork_point(original, base));
                if !kept.is_some_and(|kept| self.path(point).contains(&kept)) {
                    let own = base.and_then(|base| self.since(base, point).first().copied());
                    *kept = own.or_else(|| copies.get(&(*kept)?).copied());
                }
            }
            Said::Memory(node) => {
                let before = self.known(parents.first().copied());
                *node = self.copy_node(*node, (before, self.known(end)), &spot.branch, copies);
            }
            _ => {}
        }
        let others: Vec<usize> = parents.iter().skip(1).map(|parent| relinked(*parent)).collect();
        let others = others.into_iter().filter(|other| Some(*other) != end);
        let parents = end.into_iter().chain(others).collect();
        let origin = is_picked.then_some(original).or(origin.map(relinked));
        let copy =
            self.say_entry(spot.session, &spot.branch, Entry { said, parents, time, origin });
        copies.insert(original, copy);
    }
}

/// What `edit`, `retry` and `reconfigure` would do.
impl World {
    /// Both the end of the branch and where the new one begins must be answered.
    fn check_cuts(&self, from: &Spot, at: Option<usize>, force: bool) -> Outcome {
        self.check_answered(self.sessions[from.session].head(&from.branch), force)?;
        self.check_answered(at, force)
    }

    pub(super) fn edit(
        &self,
        at: &Where,
        rev: &Rev,
        text: &str,
        force: bool,
    ) -> Outcome<Variation> {
        let from = self.spot(at)?;
        let entry = &self.entries[self.sessions[from.session].resolve(rev)?];
        let text = text.to_owned();
        let said = match &entry.said {
            Said::User(_) => Said::User(text),
            Said::Assistant(_) | Said::Call(_) => Said::Assistant(text),
            Said::Answer { call, .. } => Said::Answer { call: call.clone(), text },
            Said::Aside(_) => Said::Aside(text),
            _ => return Err(Why::Refused),
        };
        let at = entry.parents.first().copied();
        self.check_cuts(&from, at, force)?;
        let (reason, stem) = ("message_edit", "edit".to_owned());
        Ok(Variation { from, at, said: Some(said), reason, stem })
    }

    pub(super) fn retry(&self, at: &Where, rev: &Rev, force: bool) -> Outcome<Variation> {
        let from = self.spot(at)?;
        let entry = self.sessions[from.session].resolve(rev)?;
        let at = match &self.entries[entry].said {
            Said::User(_) => entry,
            _ => *self.entries[entry].parents.first().ok_or(Why::Refused)?,
        };
        self.check_cuts(&from, Some(at), force)?;
        let stem = "retry".to_owned();
        Ok(Variation { from, at: Some(at), said: None, reason: "retry", stem })
    }

    pub(super) fn reconfigure(
        &self,
        at: &Where,
        model: Option<&str>,
        thinking: Option<&str>,
        force: bool,
    ) -> Outcome<Variation> {
        let (spot, end) = self.seen(at)?;
        let (old_model, old_thinking) = self.state(end);
        let old_model = old_model.or_else(|| self.sessions[spot.session].model.clone());
        let is_new = model.is_some_and(|model| old_model.as_deref() != Some(model))
            || thinking.is_some_and(|thinking| old_thinking.as_deref() != Some(thinking));
        if !is_new {
            return Err(Why::Refused);
        }
        self.check_answered(Some(end), force)?;
        let stem = model.or(thinking).unwrap_or_default().to_owned();
        let (model, thinking) = (model.map(str::to_owned), thinking.map(str::to_owned));
        let said = Some(Said::Config { model, thinking });
        let from = Spot { parent: Some(end).filter(|_| at.parent.is_some()), ..spot };
        Ok(Variation { from, at: Some(end), said, reason: "config_change", stem })
    }
}
