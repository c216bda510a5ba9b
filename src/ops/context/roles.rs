//! Who speaks, in the few words that models know.

use crate::error::{Error, Result};

/// Who speaks, as models know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Who sets the frame.
    System,
    /// Who asks.
    User,
    /// Who answers: the model.
    Assistant,
}

/// What roles stand for that models do not know: `interviewer` is `assistant`.
///
/// A role that nobody mapped speaks as a user, and its name stands before what it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleMap {
    /// A few, sorted.
    roles: Vec<(String, Role)>,
}

impl RoleMap {
    /// Adds what a role stands for, given as `ROLE=ROLE`.
    pub fn add(&mut self, text: &str) -> Result<()> {
        let fault = |why| Error::InvalidName { what: "role", name: text.to_owned(), why };
        let (role, known) =
            text.split_once('=').ok_or_else(|| fault("expected ROLE=user or the like"))?;
        self.map(role, known)
    }

    /// Says what a role stands for.
    pub fn map(&mut self, role: &str, known: &str) -> Result<()> {
        let known = [Role::System, Role::User, Role::Assistant]
            .into_iter()
            .find(|role| role.name() == known)
            .ok_or_else(|| Error::InvalidName {
                what: "role",
                name: format!("{role}={known}"),
                why: "models know user, assistant and system",
            })?;
        match self.place(role) {
            Ok(place) => self.roles[place].1 = known,
            Err(place) => self.roles.insert(place, (role.to_owned(), known)),
        }
        Ok(())
    }

    /// Gives what a role was mapped to, if it was.
    pub fn mapped(&self, role: &str) -> Option<Role> {
        self.place(role).ok().map(|place| self.roles[place].1)
    }

    fn place(&self, role: &str) -> Result<usize, usize> {
        self.roles.binary_search_by(|(name, _)| name.as_str().cmp(role))
    }

    /// Gives the word for what a role was mapped to, else the role.
    pub fn name<'a>(&self, role: &'a str) -> &'a str {
        self.mapped(role).map_or(role, |mapped| mapped.name())
    }

    /// Gives what a role stands for, and whether its name must be told.
    pub(in crate::ops) fn read(&self, role: &str) -> (Role, bool) {
        if let Some(role) = self.mapped(role) {
            return (role, false);
        }
        match role {
            "user" | "human" | "tool" | "toolResult" => (Role::User, false),
            "bashExecution" | "custom" => (Role::User, false),
            "assistant" | "model" => (Role::Assistant, false),
            "system" | "developer" => (Role::System, false),
            _ => (Role::User, true),
        }
    }
}

impl Role {
    /// Gives the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }
}
