//! Names of refs in which something is replaced: what people chose, never what the layout says.

use std::collections::{BTreeMap, HashMap};

use crate::ops::redact::scrub::Scrubber;
use crate::store::{NAMED_CLASSES, RefName, RefValue};

/// What stands in a name where the replacement can't.
const PLAIN: &str = "redacted";

/// Renames refs, always to the same.
#[derive(Debug)]
pub(super) struct Renamer<'a> {
    scrubber: Option<&'a Scrubber>,
    known: HashMap<RefName, RefName>,
    taken: HashMap<RefName, RefName>,
}

impl<'a> Renamer<'a> {
    pub(super) fn new(scrubber: Option<&'a Scrubber>) -> Renamer<'a> {
        Renamer { scrubber, known: HashMap::new(), taken: HashMap::new() }
    }

    /// Renames all refs. Two that would share a name get numbers.
    pub(super) fn rename_all(
        &mut self,
        refs: BTreeMap<RefName, RefValue>,
    ) -> BTreeMap<RefName, RefValue> {
        // Those that keep their names have a right to them.
        for name in refs.keys() {
            if self.scrubbed(name) == name.as_str() {
                self.taken.insert(name.clone(), name.clone());
            }
        }
        let renamed = refs.into_iter().map(|(name, value)| {
            let value = match value {
                RefValue::Symbolic(name) => RefValue::Symbolic(self.rename(&name)),
                id => id,
            };
            (self.rename(&name), value)
        });
        renamed.collect()
    }

    /// Gives the name that a ref has now.
    pub(super) fn rename(&mut self, name: &RefName) -> RefName {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let scrubbed = self.scrubbed(name);
        if scrubbed == name.as_str() {
            return name.clone();
        }
        let plain = || RefName::new(PLAIN).expect("a plain word is a name");
        let stem = RefName::new(&scrubbed).unwrap_or_else(|_| plain());
        let mut renamed = stem.clone();
        for number in 2.. {
            match self.taken.get(&renamed) {
                Some(owner) if owner != name => {
                    let numbered = RefName::new(format!("{stem}-{number}"));
                    renamed = numbered.unwrap_or_else(|_| plain());
                }
                _ => break,
            }
        }
        self.taken.insert(renamed.clone(), name.clone());
        self.known.insert(name.clone(), renamed.clone());
        renamed
    }

    /// Replaces in those parts of a name that people chose.
    fn scrubbed(&self, name: &RefName) -> String {
        let (Some(scrubber), false) = (self.scrubber, *name == RefName::head()) else {
            return name.as_str().to_owned();
        };
        let part = |text: &str, is_one: bool| {
            let mut scrubbed = text.to_owned();
            let bad = |new: &str| is_one && new.contains('/') || RefName::new(new).is_err();
            match scrubber.text(&mut scrubbed) {
                true if bad(&scrubbed) => PLAIN.to_owned(),
                _ => scrubbed,
            }
        };
        let (home, rest) = match name.as_str().split_once('/') {
            Some(("sessions", rest)) => ("sessions", rest),
            Some(("deleted", rest)) => ("deleted", rest),
            _ => return part(name.as_str(), false),
        };
        let Some((session, rest)) = rest.split_once('/') else {
            return format!("{home}/{}", part(rest, true));
        };
        let session = part(session, true);
        let (number, rest) = match rest.split_once('/') {
            Some((number, rest)) if home == "deleted" => (format!("{number}/"), rest),
            _ => (String::new(), rest),
        };
        let rest = match rest.split_once('/') {
            Some((class, named)) if NAMED_CLASSES.contains(&class) => {
                format!("{class}/{}", part(named, false))
            }
            None if ["meta", "HEAD", "tip", "events"].contains(&rest) => rest.to_owned(),
            _ => part(rest, false),
        };
        format!("{home}/{session}/{number}{rest}")
    }
}
