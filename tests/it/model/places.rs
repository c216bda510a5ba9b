//! What the model does with sessions, branches, labels and attachments.

use super::world::{Cell, Known, Outcome, Rev, Said, Session, Spot, Turn, Where, Why, World};

/// What a session begins with.
#[derive(Clone, Debug)]
pub(super) enum Begin {
    Empty,
    At(Rev),
    Handoff(String),
}

/// Where to switch to.
#[derive(Clone, Debug)]
pub(super) enum Goal {
    Revision(Rev),
    New(String, Option<Rev>),
    Previous,
    Root,
}

/// A branch for a change: `edit`, `retry`, `reconfigure`.
#[derive(Clone, Debug)]
pub(super) struct Variation {
    pub(super) from: Spot,
    pub(super) at: Option<usize>,
    pub(super) said: Option<Said>,
    pub(super) reason: &'static str,
    pub(super) stem: String,
}

/// How a variation is written.
#[derive(Clone, Debug)]
pub(super) struct Manner {
    pub(super) name: Option<String>,
    pub(super) stay: bool,
    /// The id of the new session, where it is to be one.
    pub(super) fork: Option<String>,
}

impl World {
    /// Refuses to cut between a call and its answer.
    pub(super) fn check_answered(&self, entry: Option<usize>, force: bool) -> Outcome {
        match entry {
            Some(entry) if !force && !self.unanswered(entry).is_empty() => Err(Why::Unanswered),
            _ => Ok(()),
        }
    }

    /// Adds a session that begins with the path to an entry.
    fn begin(&mut self, sid: &str, branch: &str, at: Option<usize>) -> usize {
        let mut session = Session::new(sid, branch, self.now);
        session.set(&format!("heads/{branch}"), at.map(Cell::Entry));
        session.tip = at;
        session.turns = self.path(at).into_iter().map(Turn::Said).collect();
        self.sessions.push(session);
        self.sessions.len() - 1
    }

    pub(super) fn create(
        &mut self,
        at: &Where,
        begin: &Begin,
        model: Option<String>,
        use_it: bool,
        sid: &str,
    ) -> Outcome {
        let parent = match (&at.session, &self.current) {
            (Some(_), _) | (None, Some(_)) => Some(self.session(at)?),
            (None, None) => None,
        };
        let origin = match (begin, parent) {
            (Begin::Empty, _) | (Begin::Handoff(_), None) => None,
            (Begin::Handoff(_), Some(parent)) => self.sessions[parent].end(),
            (Begin::At(rev), Some(parent)) => Some(self.sessions[parent].resolve(rev)?),
            (Begin::At(Rev::Entry(entry)), None) => Some(*entry),
            (Begin::At(_), None) => return Err(Why::Unknown),
        };
        let is_begun = matches!(begin, Begin::At(_));
        self.check_answered(origin.filter(|_| is_begun), false)?;
        let place = self.begin(sid, "main", origin.filter(|_| is_begun));
        let parent = parent.filter(|_| !matches!(begin, Begin::Empty));
        let theirs = parent.filter(|_| is_begun).and_then(|at| self.sessions[at].model.clone());
        let parent = parent.map(|parent| (self.sessions[parent].sid.clone(), origin));
        self.sessions[place].parent = parent;
        self.sessions[place].model = model.or(theirs);
        match begin {
            Begin::Empty => {}
            Begin::At(_) => self.sessions[place].noted("fork"),
            Begin::Handoff(text) => drop(self.say(place, "main", Said::User(text.clone()))),
        }
        if use_it {
            self.current = Some(sid.to_owned());
        }
        Ok(())
    }

    pub(super) fn fork(
        &mut self,
        at: &Where,
        rev: Option<&Rev>,
        use_it: bool,
        force: bool,
        sid: &str,
    ) -> Outcome {
        let parent = self.session(at)?;
        let session = &self.sessions[parent];
        let (entry, branch) = self.origin(parent, rev)?;
        let entry = entry.ok_or(Why::Refused)?;
        self.check_answered(Some(entry), force)?;
        let (from, model) = (session.sid.clone(), session.model.clone());
        let place = self.begin(sid, &branch, Some(entry));
        let session = &mut self.sessions[place];
        session.parent = Some((from, Some(entry)));
        session.model = model;
        session.noted("fork");
        if use_it {
            self.current = Some(sid.to_owned());
        }
        Ok(())
    }

    /// Finds where something begins, and the branch that was named.
    fn origin(&self, place: usize, rev: Option<&Rev>) -> Outcome<(Option<usize>, String)> {
        let session = &self.sessions[place];
        let Some(rev) = rev else {
            return Ok((session.end(), session.active()));
        };
        let entry = session.resolve(rev)?;
        let branch = match rev {
            Rev::Name(name) if session.head(name).is_some() => name.clone(),
            _ => session.active(),
        };
        Ok((Some(entry), branch))
    }

    pub(super) fn branch(&mut self, at: &Where, name: &str, rev: Option<&Rev>) -> Outcome {
        let place = self.session(at)?;
        self.make_branch(place, name, rev)
    }

    fn make_branch(&mut self, place: usize, name: &str, rev: Option<&Rev>) -> Outcome {
        if self.sessions[place].has_branch(name) {
            return Err(Why::Exists);
        }
        let (entry, parent) = self.origin(place, rev)?;
        self.record(place, name, Known { at: entry, parent: Some(parent), reason: None });
        Ok(())
    }

    pub(super) fn delete_branch(&mut self, at: &Where, name: &str) -> Outcome {
        let place = self.session(at)?;
        let session = &mut self.sessions[place];
        if !session.branches().iter().any(|known| known == name) {
            return Err(Why::Unknown);
        }
        if session.active() == name {
            return Err(Why::Refused);
        }
        session.set(&format!("heads/{name}"), None);
        session.set(&format!("records/{name}"), None);
        session.noted("branch_delete");
        Ok(())
    }

    pub(super) fn rename_branch(&mut self, at: &Where, from: Option<&str>, to: &str) -> Outcome {
        let place = self.session(at)?;
        let session = &mut self.sessions[place];
        let active = session.active();
        let from = from.unwrap_or(&active);
        if !session.branches().iter().any(|known| known == from) {
            return Err(Why::Unknown);
        }
        if session.has_branch(to) {
            return Err(Why::Exists);
        }
        for class in ["heads", "records"] {
            let moved = session.cells.remove(&format!("{class}/{from}"));
            session.set(&format!("{class}/{to}"), moved);
        }
        if active == from {
            session.set("active", Some(Cell::Text(to.to_owned())));
        }
        session.noted("branch_rename");
        Ok(())
    }

    pub(super) fn switch(
        &mut self,
        at: &Where,
        goal: &Goal,
        facts: &[(Option<String>, String)],
        force: bool,
    ) -> Outcome {
        let place = self.session(at)?;
        let session = &self.sessions[place];
        let active = session.active();
        let (branch, entry) = self.goal(place, goal)?;
        let stays = branch.as_ref() == Some(&active);
        if !stays {
            self.check_answered(session.end(), force)?;
            self.check_answered(entry.filter(|_| branch.is_none()), force)?;
        }
        let label = match goal {
            Goal::Revision(Rev::Name(name)) if session.label(name).is_some() => Some(name.clone()),
            _ => None,
        };
        if !facts.is_empty() {
            self.remember(place, &active, facts, None);
        }
        let to = match (branch, goal) {
            (Some(branch), _) => branch,
            (None, Goal::New(name, rev)) => {
                // A branch made at the end that is left begins after what was learned there.
                let entry = match rev {
                    None | Some(Rev::Name(_)) => self.origin(place, rev.as_ref())?.0,
                    Some(_) => entry,
                };
                if self.sessions[place].has_branch(name) {
                    return Err(Why::Exists);
                }
                let parent = match goal {
                    Goal::New(_, Some(Rev::Name(name)))
                        if self.sessions[place].head(name).is_some() =>
                    {
                        name.clone()
                    }
                    _ => active.clone(),
                };
                self.record(place, name, Known { at: entry, parent: Some(parent), reason: None });
                name.clone()
            }
            (None, Goal::Root) => self.sessions[place].free("root"),
            (None, _) => {
                let name = self.sessions[place].free(label.as_ref().unwrap_or(&active));
                let known = Known { at: entry, parent: Some(active.clone()), reason: None };
                self.record(place, &name, known);
                name
            }
        };
        if !stays {
            self.go(place, &to);
        }
        Ok(())
    }

    /// Finds the branch to switch to, or the entry that needs one.
    fn goal(&self, place: usize, goal: &Goal) -> Outcome<(Option<String>, Option<usize>)> {
        let session = &self.sessions[place];
        let active = session.active();
        match goal {
            Goal::Root => Ok((Some(active).filter(|_| session.end().is_none()), None)),
            Goal::New(_, rev) => Ok((None, self.origin(place, rev.as_ref())?.0)),
            Goal::Previous => {
                let mut left = session.left.iter().rev();
                let is_there = |name: &&String| **name != active && session.head(name).is_some();
                let found = left.find(is_there).ok_or(Why::Refused)?;
                Ok((Some(found.clone()), None))
            }
            Goal::Revision(Rev::Name(name)) if session.branches().contains(name) => {
                Ok((Some(name.clone()), None))
            }
            Goal::Revision(rev) => {
                let entry = session.resolve(rev)?;
                let ends = session.names("heads").into_iter();
                let ends: Vec<String> =
                    ends.filter(|name| session.head(name) == Some(entry)).collect();
                let found = ends.iter().find(|name| **name == active).or(ends.first());
                Ok((found.cloned(), Some(entry)))
            }
        }
    }

    fn go(&mut self, place: usize, to: &str) {
        let session = &mut self.sessions[place];
        let from = session.active();
        session.set("active", Some(Cell::Text(to.to_owned())));
        session.tip = session.head(to);
        // A branch made anew under the active one's name is no other.
        if from != to {
            session.left.push(from.clone());
        }
        session.turns.push(Turn::Happened { label: "switch", from: Some(from) });
    }

    pub(super) fn vary(&mut self, variation: &Variation, manner: &Manner) -> Outcome {
        let Variation { from, at, said, reason, stem } = variation;
        let end = self.sessions[from.session].head(&from.branch);
        if from.parent.is_some() && from.parent != end {
            return Err(Why::Conflict);
        }
        if let Some(sid) = &manner.fork {
            let parent = self.sessions[from.session].clone();
            let place = self.begin(sid, "main", *at);
            let session = &mut self.sessions[place];
            session.parent = Some((parent.sid, *at));
            session.model = match said {
                Some(Said::Config { model: Some(model), .. }) => Some(model.clone()),
                _ => parent.model,
            };
            let name = manner.name.clone().unwrap_or_default();
            session.set("name", Some(Cell::Text(name)));
            session.noted("fork");
            if !manner.stay {
                self.current = Some(sid.clone());
            }
            said.iter().for_each(|said| _ = self.say(place, "main", said.clone()));
            return Ok(());
        }
        let session = &self.sessions[from.session];
        let name = manner.name.clone().unwrap_or_else(|| session.free(stem));
        if session.has_branch(&name) {
            return Err(Why::Exists);
        }
        let parent = Some(from.branch.clone());
        self.record(from.session, &name, Known { at: *at, parent, reason: Some(reason) });
        if !manner.stay {
            self.go(from.session, &name);
        }
        said.iter().for_each(|said| _ = self.say(from.session, &name, said.clone()));
        Ok(())
    }

    pub(super) fn label(&mut self, at: &Where, name: &str, rev: Option<&Rev>) -> Outcome {
        let place = self.session(at)?;
        let session = &mut self.sessions[place];
        let was = session.label(name);
        let now = rev.map(|rev| session.resolve(rev)).transpose()?;
        if was.is_none() && now.is_none() {
            return Err(Why::Refused);
        }
        session.set(&format!("labels/{name}"), now.map(Cell::Entry));
        if was != now {
            session.noted("label");
        }
        Ok(())
    }

    pub(super) fn attach(&mut self, at: &Where, name: &str, content: Option<&str>) -> Outcome {
        let place = self.session(at)?;
        let session = &mut self.sessions[place];
        let cell = format!("attachments/{name}");
        let was = session.cells.get(&cell).cloned();
        let now = content.map(|content| Cell::Text(content.to_owned()));
        if was.is_none() && now.is_none() {
            return Err(Why::Refused);
        }
        session.set(&cell, now.clone());
        if was != now {
            session.noted("attach");
        }
        Ok(())
    }

    pub(super) fn use_session(&mut self, sid: &str) -> Outcome {
        self.place(sid).ok_or(Why::Unknown)?;
        self.current = Some(sid.to_owned());
        Ok(())
    }

    pub(super) fn rename_session(&mut self, sid: &str, name: Option<&str>) -> Outcome {
        let place = self.place(sid).ok_or(Why::Unknown)?;
        let name = Cell::Text(name.unwrap_or_default().to_owned());
        self.sessions[place].set("name", Some(name));
        Ok(())
    }

    pub(super) fn remove_session(&mut self, sid: &str) -> Outcome {
        let place = self.place(sid).ok_or(Why::Unknown)?;
        let session = self.sessions.remove(place);
        self.put_away(session);
        if self.current.as_deref() == Some(sid) {
            self.current = None;
        }
        Ok(())
    }

    pub(super) fn restore_session(&mut self, sid: &str, number: u64) -> Outcome {
        let is_it = |(known, session): &(u64, Session)| *known == number && session.sid == sid;
        let found = self.removed.iter().position(is_it).ok_or(Why::Refused)?;
        if self.place(sid).is_some() {
            return Err(Why::Exists);
        }
        let (_, session) = self.removed.remove(found);
        self.sessions.push(session);
        Ok(())
    }
}
