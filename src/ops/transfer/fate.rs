//! What became of a session that was taken in, and of its refs.

/// How a session has landed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landed {
    /// The session's id.
    pub session: String,
    /// What happened to it.
    pub change: SessionChange,
    /// What happened to its branches, labels and attachments; those that stay are left out.
    pub refs: Vec<RefFate>,
}

/// What happened to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionChange {
    /// It was not here.
    New,
    /// It has moved on to where theirs is.
    Forward,
    /// Both had something that the other had not; an event joins them.
    Joined,
    /// Some refs have moved, and the transcript has not.
    Refs,
    /// Nothing has moved.
    Unchanged,
    /// It went another way here, and was left as it is.
    Refused,
}

/// What happened to a ref of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefFate {
    /// Its name: `heads/main`.
    pub name: String,
    /// What happened.
    pub fate: Fate,
}

/// What happens to a ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was not here.
    New,
    /// It has moved forward.
    Forward,
    /// It was replaced.
    Moved,
    /// Theirs came in under this name.
    Aside(String),
}
