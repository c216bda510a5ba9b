//! What a store is asked to commit, and the checks that every store makes of it.

use crate::error::{Error, Result};
use crate::id::{Id, IdMap, IdSet, Kind};
use crate::object::{self, NewObject};
use crate::store::{OBJECT_BYTES_MAX, RefName, RefValue, Snapshot};

/// What a transaction holds at the most: the largest object and a little more, and so many items.
const TRANSACTION_BYTES_MAX: u64 = OBJECT_BYTES_MAX + (64 << 20);
const TRANSACTION_ITEMS_MAX: u64 = 1 << 22;

/// New objects and ref updates that happen together or not at all.
#[derive(Clone, Debug, Default)]
pub struct Transaction {
    /// The objects, in an order in which links may point backwards or forwards.
    pub objects: Vec<NewObject>,
    /// The ref updates, each name at most once.
    pub refs: Vec<RefUpdate>,
    /// What the operations log says of it, if it moves a ref; `None` for a plain append.
    pub operation: Option<Operation>,
}

/// One move of a ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefUpdate {
    /// The ref.
    pub name: RefName,
    /// What it must be before.
    pub expected: Expected,
    /// What it is afterwards; `None` deletes it.
    pub new: Option<RefValue>,
}

/// What a ref must be for an update to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Anything, or missing.
    Any,
    /// Missing.
    Missing,
    /// Exactly this value.
    Is(RefValue),
}

/// Who did what, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Milliseconds since 1970.
    pub time: i64,
    /// Who did it.
    pub actor: String,
    /// The command, as a person would type it.
    pub command: String,
}

/// An operation with all the ref moves it made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationRecord {
    /// Its place in the log, from 1.
    pub number: u64,
    /// Who did what, and when.
    pub operation: Operation,
    /// Every ref it moved.
    pub moves: Vec<RefMove>,
}

/// What a ref was and what it became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefMove {
    /// The ref.
    pub name: RefName,
    /// The value before; `None` if it was missing.
    pub old: Option<RefValue>,
    /// The value after; `None` if it was deleted.
    pub new: Option<RefValue>,
}

impl Transaction {
    /// Drops objects that the snapshot has, checks the rest, and gives the moves to make. The ref
    /// updates become them.
    ///
    /// No link or ref may point to an object that is neither in the snapshot nor in the
    /// transaction, every ref must be where it is expected, and a branch must point to an entry.
    pub(crate) fn settle(&mut self, snapshot: &dyn Snapshot) -> Result<Vec<RefMove>> {
        self.check_size()?;
        self.drop_known(snapshot)?;
        let refs = std::mem::take(&mut self.refs);
        let own = Own::new(&self.objects);
        self.check_links(snapshot, &own)?;
        let moves = moves(refs, snapshot, &own)?;
        if moves.is_empty() {
            // The operations log is of moves: what moved no ref is not in it.
            self.operation = None;
        }
        Ok(moves)
    }

    fn check_size(&self) -> Result<()> {
        for object in &self.objects {
            object::check_size(object.kind, &object.content)?;
        }
        let bytes: u64 = self.objects.iter().map(|object| object.content.len() as u64).sum();
        let over = |what, found, limit| match found > limit {
            true => Err(Error::TooLarge { what, found, limit }),
            false => Ok(()),
        };
        over("a transaction in bytes", bytes, TRANSACTION_BYTES_MAX)?;
        over("a transaction in objects", self.objects.len() as u64, TRANSACTION_ITEMS_MAX)?;
        over("a transaction in ref moves", self.refs.len() as u64, TRANSACTION_ITEMS_MAX)
    }

    fn drop_known(&mut self, snapshot: &dyn Snapshot) -> Result<()> {
        let known = snapshot.known(&self.objects)?;
        if let [is_known] = known[..] {
            if is_known {
                self.objects.clear();
            }
            return Ok(());
        }
        let mut seen = IdSet::default();
        let mut place = 0;
        self.objects.retain(|object| {
            let keep = !known[place] && seen.insert(object.id);
            place += 1;
            keep
        });
        Ok(())
    }

    fn check_links(&self, snapshot: &dyn Snapshot, own: &Own<'_>) -> Result<()> {
        let links = self.objects.iter().flat_map(|object| &object.links);
        let targets: Vec<Id> = links.filter(|link| own.kind(link).is_none()).copied().collect();
        let kinds = snapshot.kinds(&targets)?;
        let Some(missing) = kinds.iter().position(Option::is_none) else {
            return Ok(());
        };
        let target = targets[missing];
        let holder = self.objects.iter().find(|object| object.links.contains(&target));
        let from = holder.expect("it is a link of one of them").id.to_string();
        Err(Error::Dangling { from, target })
    }
}

/// Gives the moves that updates of refs make, after checking that they may be made.
fn moves(updates: Vec<RefUpdate>, snapshot: &dyn Snapshot, own: &Own<'_>) -> Result<Vec<RefMove>> {
    check_names(&updates)?;
    let mut moves = Vec::with_capacity(updates.len());
    for update in updates {
        let old = snapshot.reference(&update.name)?;
        check_expected(&update, old.as_ref())?;
        if let Some(RefValue::Id(target)) = &update.new {
            let kind = match own.kind(target) {
                None => snapshot.kinds(&[*target])?[0],
                own => own,
            };
            check_target(&update.name, *target, kind)?;
        }
        if old != update.new {
            moves.push(RefMove { name: update.name, old, new: update.new });
        }
    }
    Ok(moves)
}

/// Checks that no ref is moved twice.
fn check_names(updates: &[RefUpdate]) -> Result<()> {
    // Most transactions move two refs.
    if let [one, other] = updates
        && one.name != other.name
    {
        return Ok(());
    }
    let mut names: Vec<&RefName> = updates.iter().map(|update| &update.name).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(twice) => Err(Error::InvalidName {
            what: "ref update",
            name: twice[0].to_string(),
            why: "a transaction moves a ref at most once",
        }),
    }
}

/// The objects of a transaction, to be found by their ids. Most have one or two.
enum Own<'a> {
    Few(&'a [NewObject]),
    Many(IdMap<Kind>),
}

impl Own<'_> {
    const FEW_MAX: usize = 4;

    fn new(objects: &[NewObject]) -> Own<'_> {
        match objects.len() <= Own::FEW_MAX {
            true => Own::Few(objects),
            false => Own::Many(objects.iter().map(|object| (object.id, object.kind)).collect()),
        }
    }

    fn kind(&self, id: &Id) -> Option<Kind> {
        match self {
            Own::Few(objects) => {
                objects.iter().find(|object| object.id == *id).map(|object| object.kind)
            }
            Own::Many(kinds) => kinds.get(id).copied(),
        }
    }
}

/// Checks that all links of an object lead to objects that the snapshot has.
pub(crate) fn check_links(object: &NewObject, snapshot: &dyn Snapshot) -> Result<()> {
    for (target, kind) in object.links.iter().zip(snapshot.kinds(&object.links)?) {
        if kind.is_none() {
            return Err(Error::Dangling { from: object.id.to_string(), target: *target });
        }
    }
    Ok(())
}

fn check_expected(update: &RefUpdate, found: Option<&RefValue>) -> Result<()> {
    let wanted = match &update.expected {
        Expected::Any => return Ok(()),
        Expected::Missing => None,
        Expected::Is(value) => Some(value),
    };
    if wanted == found {
        return Ok(());
    }
    let say = |value: Option<&RefValue>| value.map_or("nothing".to_owned(), ToString::to_string);
    Err(Error::RefConflict {
        name: update.name.to_string(),
        expected: say(wanted),
        found: say(found),
    })
}

fn check_target(name: &RefName, target: Id, kind: Option<Kind>) -> Result<()> {
    let Some(kind) = kind else {
        return Err(Error::Dangling { from: format!("ref '{name}'"), target });
    };
    match name.target_kind() {
        Some(expected) if expected != kind => {
            Err(Error::WrongKind { id: target, expected: expected.name(), found: kind.name() })
        }
        _ => Ok(()),
    }
}
