//! Attachments: files by name, kept with a session.
//!
//! The content is a blob, stored once however often and wherever it is attached; the ref
//! `attachments/<name>` leads to it. A branch's card can name attachments, under `attachments`.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::Object;
use crate::ops::Target;
use crate::repo::Repo;
use crate::session::{BranchRecord, Change};
use crate::store::{Durability, Operation, RefValue};

/// What is attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attached {
    /// These bytes.
    Bytes(Vec<u8>),
    /// A blob that the store has: for large files, see [`Store::put_blob`](crate::Store::put_blob).
    Blob(Id),
    /// Nothing any more.
    Nothing,
}

/// What to attach, and to what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachOptions {
    /// The session.
    pub target: Target,
    /// What it is called.
    pub name: String,
    /// What it is.
    pub content: Attached,
    /// The branch whose card shall name it.
    pub card: Option<String>,
}

/// What became of an attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachOutcome {
    /// The session's id.
    pub session: String,
    /// The blob it was.
    pub was: Option<Id>,
    /// The blob it is.
    pub now: Option<Id>,
}

/// Attaches a file, replaces it, or takes it away. The transcript keeps both.
pub fn attach(
    repo: &Repo,
    options: &AttachOptions,
    operation: &Operation,
) -> Result<AttachOutcome> {
    let session = options.target.session(&*repo.snapshot()?)?;
    let rest = format!("attachments/{}", options.name);
    let mut outcome = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = Change::on(snapshot, &session, operation.time)?;
        let was = change.view().target(&rest)?;
        let now = match &options.content {
            Attached::Bytes(bytes) => Some(change.put(Object::Blob(bytes.clone()))?),
            Attached::Blob(id) => Some(*id),
            Attached::Nothing => None,
        };
        if was.is_none() && now.is_none() {
            return Err(Error::Refused {
                why: format!("there is no attachment '{}'", options.name),
                hint: "'sapwood attachments' lists those there are",
            });
        }
        change.set(&rest, now.map(RefValue::Id))?;
        if was != now {
            let body = Value::map([
                ("name", Value::from(options.name.as_str())),
                ("was", was.into()),
                ("blob", now.into()),
            ]);
            change.noted("attach", body)?;
        }
        if let Some(branch) = &options.card {
            name_on_card(&mut change, branch, &options.name, now)?;
        }
        outcome = Some(AttachOutcome { session: session.clone(), was, now });
        change.finish(Some(operation.clone()))
    })?;
    Ok(outcome.expect("the plan was called"))
}

/// Writes an attachment on a branch's card, or strikes it out.
fn name_on_card(change: &mut Change<'_>, branch: &str, name: &str, blob: Option<Id>) -> Result<()> {
    let end = change.branch(branch)?;
    let record = change.view().record(branch)?;
    if end.is_none() && record.is_none() {
        return Err(Error::RevisionUnknown {
            revision: branch.to_owned(),
            why: "no branch has this name".to_owned(),
        });
    }
    let mut record = record.unwrap_or_else(|| BranchRecord::at(end, None));
    let mut card = match std::mem::replace(&mut record.card, Value::Null) {
        Value::Null => Vec::new(),
        Value::Map(card) => card,
        _ => {
            return Err(Error::Refused {
                why: format!("the card of branch '{branch}' is not an object"),
                hint: "attach without --card, or give the branch another card",
            });
        }
    };
    let place = card.iter().position(|(key, _)| key == "attachments");
    let mut listed = match place.map(|place| card.remove(place).1) {
        Some(Value::Map(listed)) => listed,
        _ => Vec::new(),
    };
    listed.retain(|(key, _)| key != name);
    // As text: the ref and the event keep the blob, and the card is read without it.
    listed.extend(blob.map(|id| (name.to_owned().into(), Value::from(id.to_string()))));
    card.push(("attachments".into(), Value::Map(listed)));
    record.card = Value::Map(card);
    change.record_branch("card", branch, &record)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{self, View};

    fn options(name: &str, content: Attached, card: Option<&str>) -> AttachOptions {
        let card = card.map(str::to_owned);
        AttachOptions { target: Target::of(Some("s")), name: name.to_owned(), content, card }
    }

    #[test]
    fn a_file_is_stored_once_and_named_on_a_card() {
        let repo = Repo::in_memory();
        let pin = session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
        let operation =
            Operation { time: 1, actor: "tester".to_owned(), command: "attach".to_owned() };
        let picture = Attached::Bytes(vec![0xff; 3000]);
        // A session without a word can have a face.
        let first = attach(&repo, &options("a.png", picture.clone(), None), &operation).unwrap();
        let body = Value::map([("text", Value::from("hello"))]);
        session::append(&repo, &pin, vec![body], Durability::Full, 0).unwrap();
        let again = options("b.png", picture, Some("main"));
        let second = attach(&repo, &again, &operation).unwrap();
        assert_eq!((first.was, first.now), (None, second.now));
        assert_eq!(repo.resolve("attachments/b.png").unwrap(), second.now.unwrap());
        let snapshot = repo.snapshot().unwrap();
        let card = View::of(&*snapshot, "s").unwrap().record("main").unwrap().unwrap().card;
        let named = card.get("attachments").and_then(|listed| listed.get("b.png"));
        assert_eq!(named, Some(&Value::from(second.now.unwrap().to_string())));
        assert_eq!(session::transcript(&*snapshot, "s").unwrap().len(), 1);

        let gone = options("b.png", Attached::Nothing, Some("main"));
        assert_eq!(attach(&repo, &gone, &operation).unwrap().was, second.now);
        assert!(repo.resolve("attachments/b.png").is_err());
        let gone = attach(&repo, &gone, &operation).unwrap_err();
        assert!(matches!(gone, Error::Refused { .. }), "{gone}");
        let nowhere = options("c", Attached::Bytes(Vec::new()), Some("nowhere"));
        let nowhere = attach(&repo, &nowhere, &operation).unwrap_err();
        assert!(matches!(nowhere, Error::RevisionUnknown { .. }), "{nowhere}");
        assert_eq!(
            View::of(&*repo.snapshot().unwrap(), "s").unwrap().named("attachments").unwrap().len(),
            1
        );
    }
}
