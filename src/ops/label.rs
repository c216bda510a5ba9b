//! Labels: names for entries, in free text.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::Target;
use crate::repo::{Place, Repo, resolve};
use crate::session::{Change, check_name};
use crate::store::{Durability, Operation, RefValue};

/// What to do with a label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelOptions {
    /// The session.
    pub target: Target,
    /// The label.
    pub name: String,
    /// The revision to put it on; `None` takes the label away.
    pub at: Option<String>,
}

/// What became of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelOutcome {
    /// The session's id.
    pub session: String,
    /// The entry it was on.
    pub was: Option<Id>,
    /// The entry it is on.
    pub now: Option<Id>,
}

/// Puts a label on an entry, moves it there, or takes it away. The transcript keeps both.
pub fn label(repo: &Repo, options: &LabelOptions, operation: &Operation) -> Result<LabelOutcome> {
    let session = options.target.session(&*repo.snapshot()?)?;
    let place = Place::in_session(session.as_str());
    if options.at.is_some() {
        check_name("label", &options.name)?;
    }
    let rest = format!("labels/{}", options.name);
    let mut outcome = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = Change::on(snapshot, &session, operation.time)?;
        let was = change.view().target(&rest)?;
        let now = options.at.as_deref().map(|text| resolve(snapshot, &place, text)).transpose()?;
        if was.is_none() && now.is_none() {
            return Err(Error::Refused {
                why: format!("there is no label '{}'", options.name),
                hint: "'sapwood label' lists the labels there are",
            });
        }
        change.set(&rest, now.map(RefValue::Id))?;
        let body = Value::map([
            ("name", Value::from(options.name.as_str())),
            ("was", was.into()),
            ("entry", now.into()),
        ]);
        if was != now {
            change.noted("label", body)?;
        }
        outcome = Some(LabelOutcome { session: session.clone(), was, now });
        change.finish(Some(operation.clone()))
    })?;
    Ok(outcome.expect("the plan was called"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session;
    use crate::store::OperationRecord;
    use std::ops::ControlFlow;

    fn operation(command: &str) -> Operation {
        Operation { time: 5, actor: "tester".to_owned(), command: command.to_owned() }
    }

    #[test]
    fn a_label_moves_and_the_transcript_keeps_both() {
        let repo = Repo::in_memory();
        let pin = session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
        let body = |text: &str| Value::map([("content", Value::from(text))]);
        let bodies = vec![body("one"), body("two")];
        let ids = session::append(&repo, &pin, bodies, Durability::Full, 0).unwrap();
        let mut options = LabelOptions {
            name: "critical decision".to_owned(),
            at: Some("msg:1".to_owned()),
            ..LabelOptions::default()
        };
        label(&repo, &options, &operation("label a")).unwrap();
        options.at = Some("main".to_owned());
        let outcome = label(&repo, &options, &operation("label b")).unwrap();
        assert_eq!((outcome.was, outcome.now), (Some(ids[0]), Some(ids[1])));
        assert_eq!(repo.resolve("critical decision").unwrap(), ids[1]);
        options.at = None;
        label(&repo, &options, &operation("label c")).unwrap();
        assert!(repo.resolve("critical decision").is_err());
        let refused = label(&repo, &options, &operation("label d")).unwrap_err();
        assert!(matches!(refused, Error::Refused { .. }), "{refused}");
        let snapshot = repo.snapshot().unwrap();
        let mut commands = Vec::new();
        snapshot
            .operations(&mut |record: &OperationRecord| {
                commands.push(record.operation.command.clone());
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        assert_eq!(commands[..3], ["label c", "label b", "label a"]);
        assert_eq!(session::transcript(&*snapshot, "s").unwrap(), ids);
    }
}
