//! Going to another branch: HEAD moves, and the transcript says so.

use crate::codec::Value;
use crate::error::Result;
use crate::id::Id;
use crate::session::change::Change;

/// The event of a switch.
const SWITCH: &str = "switch";

impl Change<'_> {
    /// Makes a branch the active one, and says so; nothing happens where it is that already.
    ///
    /// `place` is what the transcript calls it, else its name; `node` is what was learned on the
    /// branch left. Going into a branch that began on the one left is going on, and so is a new
    /// one that begins where that ends; all else is going back.
    pub fn switch(&mut self, to: &str, place: Option<&str>, node: Option<Id>) -> Result<()> {
        let from = self.view().active()?;
        let next = self.branch(to)?;
        let record = format!("records/{to}");
        // A branch that was not born may be made elsewhere by this change, under its name.
        let is_made = self.view().reference(&record)? != self.reference(&record)?;
        if from.as_deref() == Some(to) && !is_made {
            return Ok(());
        }
        let left = from.as_deref().map(|branch| self.branch(branch)).transpose()?.flatten();
        let origin = self.view().origin(to)?;
        let goes_on =
            origin.is_some_and(|(at, parent)| parent == from || (at.is_some() && at == left));
        let is_back = next != left && !goes_on;
        let fields = [
            ("from", Value::from(from)),
            ("to", place.unwrap_or(to).into()),
            ("branch", place.filter(|place| *place != to).map(|_| to.to_owned()).into()),
            ("phase", Value::from(if is_back { "backtrack" } else { SWITCH })),
            // Where the transcript ends there, it says so itself.
            ("left", left.filter(|left| self.tip() != Some(*left)).into()),
            ("node", node.into()),
        ];
        let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
        self.use_branch(to)?;
        self.happened(SWITCH, next, Value::map(fields))?;
        Ok(())
    }
}
