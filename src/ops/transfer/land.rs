//! What becomes of a session that comes from elsewhere: all its refs, in one transaction.
//!
//! A session that is not here comes as it is. One that is here has two transcripts now, and they
//! say who knows more:
//!
//! | theirs against ours | the transcript | branches, labels, attachments that differ |
//! | --- | --- | --- |
//! | the same | stays | as below |
//! | ahead: all of ours, and more | theirs | theirs, for they know what ours was |
//! | behind | stays | ours; what is missing here was deleted here |
//! | apart | an event joins both | as below |
//!
//! Where neither knows all of the other, a branch that ours leads to moves forward, one that leads
//! to ours stays, and one that went another way comes in beside ours, as `<branch>@<from>`; so do
//! labels and attachments that differ. `force` replaces ours. A branch's memory and its record come
//! with it. Of the metadata the one wins that was changed last. HEAD stays where it is.

use std::collections::BTreeMap;

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::NewObject;
use crate::ops::transfer::fate::{Fate, Landed, RefFate, SessionChange};
use crate::ops::transfer::select::meta_times;
use crate::ops::transfer::{Parcel, TransferOptions};
use crate::repo::{Repo, read_session};
use crate::session::{Relation, Transcript, View};
use crate::store::{
    Durability, Expected, Operation, RefName, RefUpdate, RefValue, Snapshot, Transaction,
};
use crate::walk;

/// What is done with a ref that differs.
enum Decision {
    Keep,
    Take(Fate),
    /// Theirs comes in beside ours.
    Beside,
}

/// How a session lands.
pub(in crate::ops) struct Rules<'a> {
    from: &'a str,
    force: bool,
    refuse_apart: bool,
    operation: &'a Operation,
}

impl<'a> Rules<'a> {
    pub(in crate::ops) fn new(options: &'a TransferOptions, operation: &'a Operation) -> Rules<'a> {
        let TransferOptions { from, force, refuse_apart, .. } = options;
        Rules { from, force: *force, refuse_apart: *refuse_apart, operation }
    }
}

/// Moves all refs of a session in one transaction; its objects are in the store already.
pub(in crate::ops) fn land(repo: &Repo, parcel: &Parcel, rules: &Rules<'_>) -> Result<Landed> {
    let mut landed = None;
    repo.commit(Durability::Relaxed, &mut |snapshot| {
        let (transaction, fate) = plan(snapshot, parcel, rules)?;
        landed = Some(fate);
        Ok(transaction)
    })?;
    Ok(landed.expect("the plan was called"))
}

/// Plans how a session lands, on a snapshot that has its objects.
pub(super) fn plan(
    snapshot: &dyn Snapshot,
    parcel: &Parcel,
    rules: &Rules<'_>,
) -> Result<(Transaction, Landed)> {
    let view = View::unchecked(snapshot, &parcel.session);
    let roots = parcel.roots();
    for (target, kind) in roots.iter().zip(snapshot.kinds(&roots)?) {
        if kind.is_none() {
            let from = format!("session '{}'", parcel.session);
            return Err(Error::Dangling { from, target: *target });
        }
    }
    check_meta(snapshot, parcel)?;
    if let Some(Transcript { tip, events }) = parcel.transcript() {
        walk::check_transcript(snapshot, tip, events)?;
    }
    let is_new = view.reference("meta")?.is_none();
    let mut plan = Plan {
        view,
        parcel,
        rules,
        refs: BTreeMap::new(),
        objects: Vec::new(),
        fates: Vec::new(),
        change: SessionChange::Refs,
    };
    match is_new {
        true => plan.bring()?,
        false => plan.meet()?,
    }
    plan.finish()
}

/// Refuses metadata that is of another session.
fn check_meta(snapshot: &dyn Snapshot, parcel: &Parcel) -> Result<()> {
    let Some(id) = parcel.target("meta") else {
        return Ok(());
    };
    let found = read_session(snapshot, &id)?.sid;
    match found == parcel.session {
        true => Ok(()),
        false => Err(Error::Refused {
            why: format!("session '{}' comes with the metadata of '{found}'", parcel.session),
            hint: "whatever made it mixed up sessions",
        }),
    }
}

struct Plan<'a> {
    view: View<'a>,
    parcel: &'a Parcel,
    rules: &'a Rules<'a>,
    /// Refs and their new values; nothing deletes one.
    refs: BTreeMap<String, Option<RefValue>>,
    objects: Vec<NewObject>,
    fates: Vec<RefFate>,
    change: SessionChange,
}

impl Plan<'_> {
    /// Brings a session that is not here.
    fn bring(&mut self) -> Result<()> {
        self.change = SessionChange::New;
        let refs = self.parcel.refs.iter();
        self.refs = refs.map(|(rest, value)| (rest.clone(), Some(value.clone()))).collect();
        if self.parcel.transcript().is_none() {
            // Some branches only: the path to the first of them is the first run.
            let mut heads = self.parcel.named("heads").into_iter().map(|(_, id)| id);
            let tip = heads.next();
            self.refs.insert("tip".to_owned(), tip.map(RefValue::Id));
            let ours = Transcript { tip, events: None };
            let others: Vec<Transcript> = heads.map(bare).collect();
            self.join(&ours, &others)?;
        }
        let names = self.parcel.refs.keys().filter(|rest| rest.contains('/'));
        let fates = names.map(|rest| RefFate { name: rest.clone(), fate: Fate::New });
        self.fates = fates.filter(|fate| is_told(&fate.name)).collect();
        Ok(())
    }

    /// Brings together what is here and what comes.
    fn meet(&mut self) -> Result<()> {
        let snapshot = self.view.snapshot;
        let ours =
            Transcript { tip: self.view.target("tip")?, events: self.view.target("events")? };
        let theirs = self.parcel.transcript();
        let relation = match &theirs {
            Some(theirs) => ours.relation(snapshot, theirs)?,
            None => Relation::Apart,
        };
        self.branches(relation)?;
        for class in ["labels", "attachments"] {
            for (name, id) in self.parcel.named(class) {
                self.settle(class, &name, id, relation)?;
            }
        }
        self.lonely(relation)?;
        if let (None, Some(head)) = (self.view.reference("HEAD")?, self.parcel.refs.get("HEAD")) {
            self.refs.insert("HEAD".to_owned(), Some(head.clone()));
        }
        self.meta()?;
        match (relation, theirs) {
            (Relation::Same | Relation::Behind, _) => {}
            (Relation::Ahead, _) => {
                self.change = SessionChange::Forward;
                for rest in ["tip", "events"] {
                    self.refs.insert(rest.to_owned(), self.parcel.refs.get(rest).cloned());
                }
            }
            (Relation::Apart, Some(theirs)) => {
                self.change = SessionChange::Joined;
                self.join(&ours, &[theirs])?;
            }
            (Relation::Apart, None) => self.grow(&ours)?,
        }
        let is_aside = self.fates.iter().any(|fate| matches!(fate.fate, Fate::Aside(_)));
        let is_apart = is_aside || (relation == Relation::Apart && theirs.is_some());
        if self.rules.refuse_apart && is_apart && !self.rules.force {
            self.change = SessionChange::Refused;
            self.refs.clear();
            self.objects.clear();
        }
        Ok(())
    }

    /// Takes in what branches say that come without a transcript.
    fn grow(&mut self, ours: &Transcript) -> Result<()> {
        let heads: Vec<Id> = self.parcel.named("heads").into_iter().map(|(_, id)| id).collect();
        if let [head] = heads.as_slice()
            && ours.grows_to(self.view.snapshot, head)?
        {
            self.refs.insert("tip".to_owned(), Some(RefValue::Id(*head)));
            self.change = SessionChange::Forward;
            return Ok(());
        }
        self.join(ours, &heads.into_iter().map(bare).collect::<Vec<_>>())
    }

    fn join(&mut self, ours: &Transcript, others: &[Transcript]) -> Result<()> {
        let body = Value::map([("from", Value::from(self.rules.from))]);
        let time = self.rules.operation.time;
        for event in ours.join(self.view.snapshot, others, body, time)? {
            let tip = event.links.first().map(|tip| RefValue::Id(*tip));
            self.refs.insert("tip".to_owned(), tip);
            let event = event.encode()?;
            self.refs.insert("events".to_owned(), Some(RefValue::Id(event.id())));
            self.objects.push(event);
        }
        Ok(())
    }

    /// Settles the branches, each with its memory and its record.
    fn branches(&mut self, relation: Relation) -> Result<()> {
        for (name, id) in self.parcel.named("heads") {
            let Some(landed) = self.settle("heads", &name, id, relation)? else {
                continue;
            };
            // A shortcut to memory that came without one would be wrong now.
            let memory = self.parcel.refs.get(&format!("memory/{name}")).cloned();
            self.refs.insert(format!("memory/{landed}"), memory);
            if let Some(record) = self.parcel.target(&format!("records/{name}")) {
                self.record(&landed, record, relation)?;
            }
        }
        Ok(())
    }

    /// Settles records and memory of branches that are not born.
    fn lonely(&mut self, relation: Relation) -> Result<()> {
        let is_born = |name: &str| self.parcel.refs.contains_key(&format!("heads/{name}"));
        let alone = |class: &str| -> Vec<(String, Id)> {
            self.parcel.named(class).into_iter().filter(|(name, _)| !is_born(name)).collect()
        };
        let (memory, records) = (alone("memory"), alone("records"));
        for (name, id) in memory {
            self.settle("memory", &name, id, relation)?;
        }
        for (name, id) in records {
            self.record(&name, id, relation)?;
        }
        Ok(())
    }

    /// Takes a branch's record if it is the newer one.
    fn record(&mut self, branch: &str, theirs: Id, relation: Relation) -> Result<()> {
        let rest = format!("records/{branch}");
        let ours = self.view.target(&rest)?;
        let time = |id: &Id| {
            let topology = self.view.snapshot.topology(id);
            topology.map(|topology| topology.map_or(0, |topology| topology.time))
        };
        let is_taken = match (ours, relation) {
            (None, Relation::Behind) => false,
            (None, _) | (Some(_), Relation::Ahead) => true,
            (Some(_), Relation::Behind) => false,
            (Some(ours), _) => time(&theirs)? > time(&ours)?,
        };
        if is_taken {
            self.refs.insert(rest, Some(RefValue::Id(theirs)));
        }
        Ok(())
    }

    /// Settles one ref, and gives the name under which theirs is here now, if it moved.
    fn settle(
        &mut self,
        class: &str,
        name: &str,
        theirs: Id,
        relation: Relation,
    ) -> Result<Option<String>> {
        let ours = self.view.target(&format!("{class}/{name}"))?;
        if ours == Some(theirs) {
            return Ok(None);
        }
        let (fate, landed) = match self.decide(class, ours, theirs, relation)? {
            Decision::Keep => return Ok(None),
            Decision::Take(fate) => (fate, Some(name.to_owned())),
            Decision::Beside => match self.name_aside(class, name, theirs)? {
                (aside, true) => (Fate::Aside(aside.clone()), Some(aside)),
                (aside, false) => (Fate::Aside(aside), None),
            },
        };
        if let Some(landed) = &landed {
            self.refs.insert(format!("{class}/{landed}"), Some(RefValue::Id(theirs)));
        }
        if is_told(class) {
            self.fates.push(RefFate { name: format!("{class}/{name}"), fate });
        }
        Ok(landed)
    }

    fn decide(
        &self,
        class: &str,
        ours: Option<Id>,
        theirs: Id,
        relation: Relation,
    ) -> Result<Decision> {
        let snapshot = self.view.snapshot;
        let has_history = matches!(class, "heads" | "memory");
        let leads = |from: &Id, to: &Id| match has_history {
            true => walk::is_ancestor(snapshot, from, to),
            false => Ok(false),
        };
        Ok(match (ours, relation) {
            (_, Relation::Behind) => Decision::Keep,
            (None, _) => Decision::Take(Fate::New),
            (Some(ours), _) if leads(&ours, &theirs)? => Decision::Take(Fate::Forward),
            (Some(_), Relation::Ahead) => Decision::Take(Fate::Moved),
            (Some(ours), _) if leads(&theirs, &ours)? => Decision::Keep,
            (Some(_), _) if self.rules.force => Decision::Take(Fate::Moved),
            (Some(_), _) => Decision::Beside,
        })
    }

    /// Finds the name beside ours: one that is free, or that theirs has moved forward from. Says
    /// whether it moves.
    fn name_aside(&self, class: &str, name: &str, theirs: Id) -> Result<(String, bool)> {
        let stem = format!("{name}@{}", self.rules.from);
        let mut aside = stem.clone();
        let mut number = 2;
        loop {
            let rest = format!("{class}/{aside}");
            let leads = |there: &Id| match class {
                "heads" => walk::is_ancestor(self.view.snapshot, there, &theirs),
                _ => Ok(false),
            };
            match self.view.target(&rest)? {
                Some(there) if there == theirs => return Ok((aside, false)),
                Some(there) if leads(&there)? => return Ok((aside, true)),
                None if !self.refs.contains_key(&rest) => return Ok((aside, true)),
                _ => {}
            }
            aside = format!("{stem}-{number}");
            number += 1;
        }
    }

    /// Takes the metadata that was changed last.
    fn meta(&mut self) -> Result<()> {
        let ours = self.view.reference("meta")?;
        let theirs = self.parcel.refs.get("meta").cloned();
        if ours == theirs {
            return Ok(());
        }
        let times = meta_times(self.view.snapshot)?;
        let since = times.get(&self.parcel.session).copied().unwrap_or_default();
        if self.parcel.meta_time > since {
            self.refs.insert("meta".to_owned(), theirs);
        }
        Ok(())
    }

    fn finish(self) -> Result<(Transaction, Landed)> {
        let snapshot = self.view.snapshot;
        let mut refs = Vec::with_capacity(self.refs.len() + 1);
        for (rest, new) in self.refs {
            let name = self.view.name(&rest)?;
            let ours = snapshot.reference(&name)?;
            if ours != new {
                let expected = ours.map_or(Expected::Missing, Expected::Is);
                refs.push(RefUpdate { name, expected, new });
            }
        }
        let mut change = self.change;
        if refs.is_empty() && change != SessionChange::Refused {
            change = SessionChange::Unchanged;
        }
        let head = RefName::head();
        if change == SessionChange::New && snapshot.reference(&head)?.is_none() {
            let new = Some(RefValue::Symbolic(self.view.name("HEAD")?));
            refs.push(RefUpdate { name: head, expected: Expected::Missing, new });
        }
        let operation = Some(self.rules.operation.clone());
        let session = self.parcel.session.clone();
        let landed = Landed { session, change, refs: self.fates };
        Ok((Transaction { objects: self.objects, refs, operation }, landed))
    }
}

/// A transcript of which only a branch is known: the path to its end.
fn bare(head: Id) -> Transcript {
    Transcript { tip: Some(head), events: None }
}

/// Says whether people are told of a ref: branches, labels and attachments.
fn is_told(name: &str) -> bool {
    ["heads", "labels", "attachments"].iter().any(|class| name.starts_with(class))
}
