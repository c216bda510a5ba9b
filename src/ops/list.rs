//! Listing sessions: what a picker shows of each, and which was forked from which.
//!
//! One pass over the refs finds every session; what its path says (how many messages, what they
//! cost, the first words) comes from [`Summaries`], which remembers it by the id of the path's end.

mod summary;

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::Session;
use crate::repo::head_branch;
use crate::store::{RefName, RefValue, Snapshot};

pub use summary::{Summaries, Summary};

/// Which sessions to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// Only those that work in this directory.
    pub cwd: Option<String>,
    /// Only those with this status.
    pub status: Option<String>,
    /// Only these, by their ids.
    pub sessions: Option<Vec<String>>,
    /// Costs are left out: they stand in the messages, and all of these would have to be read.
    pub is_brief: bool,
}

/// What is shown of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionInfo {
    /// Its metadata, long strings as links.
    pub meta: Session,
    /// The active branch, born or not.
    pub branch: Option<String>,
    /// Where the active branch ends.
    pub end: Option<Id>,
    /// When something was last said in it, or when it was made.
    pub updated: i64,
    /// What the active branch holds.
    pub summary: Summary,
}

/// The refs of one session that a listing needs.
struct Found {
    meta: Id,
    branch: Option<String>,
    end: Option<Id>,
    tip: Option<Id>,
}

/// Lists sessions, the latest first (list_sessions_with_info).
pub fn list_sessions(
    snapshot: &dyn Snapshot,
    options: &ListOptions,
    summaries: &mut Summaries,
) -> Result<Vec<SessionInfo>> {
    let is_whole = *options == ListOptions::default();
    let mut infos = Vec::new();
    for found in find(snapshot)? {
        let meta = summaries.session(snapshot, &found.meta)?;
        let is_wanted = |wish: &Option<String>, has: &Option<String>| wish.is_none() || wish == has;
        if !is_wanted(&options.cwd, &meta.cwd)
            || !is_wanted(&options.status, &meta.status)
            || options.sessions.as_ref().is_some_and(|wanted| !wanted.contains(&meta.sid))
        {
            continue;
        }
        let summary = match &found.end {
            Some(end) if options.is_brief => summaries.brief(snapshot, end)?,
            Some(end) => summaries.of(snapshot, end)?,
            None => Summary::default(),
        };
        let latest = latest_time(snapshot, &found, summary.time)?;
        infos.push(SessionInfo {
            updated: latest.max(meta.time),
            meta,
            branch: found.branch,
            end: found.end,
            summary,
        });
    }
    if is_whole {
        summaries.keep_used();
    }
    infos.sort_by(|one, other| (other.updated, &one.meta.sid).cmp(&(one.updated, &other.meta.sid)));
    Ok(infos)
}

/// Finds the session of a directory in which something was said last (find_latest_session).
///
/// One in which nothing was said comes last: what a fork begins with was said elsewhere.
pub fn latest_session(
    snapshot: &dyn Snapshot,
    cwd: &str,
    summaries: &mut Summaries,
) -> Result<Option<String>> {
    let mut latest: Option<((bool, i64), String)> = None;
    for found in find(snapshot)? {
        let meta = summaries.session(snapshot, &found.meta)?;
        if meta.cwd.as_deref() != Some(cwd) {
            continue;
        }
        let begin = meta.fork.as_ref().and_then(|fork| fork.entry);
        let (mut has_said, mut time) = (false, meta.time);
        for id in [found.end, found.tip].into_iter().flatten() {
            has_said |= Some(id) != begin;
            time = time.max(entry_time(snapshot, &id)?);
        }
        // Of two at the same moment it is the first by id, as in the listing.
        if latest.as_ref().is_none_or(|(known, _)| (has_said, time) > *known) {
            latest = Some(((has_said, time), meta.sid));
        }
    }
    Ok(latest.map(|(_, session)| session))
}

/// Lists the sessions that were forked from one, oldest first (get_session_children).
pub fn children_of(snapshot: &dyn Snapshot, session: &str) -> Result<Vec<String>> {
    let mut summaries = Summaries::default();
    let mut children = Vec::new();
    for found in find(snapshot)? {
        let meta = summaries.session(snapshot, &found.meta)?;
        if meta.fork.is_some_and(|fork| fork.session == session) {
            children.push((meta.time, meta.sid));
        }
    }
    children.sort();
    Ok(children.into_iter().map(|(_, child)| child).collect())
}

/// Finds the session that a session's line of forks began with (get_session_root).
///
/// A parent that is not there makes its child the root.
pub fn root_of(snapshot: &dyn Snapshot, session: &str) -> Result<String> {
    let mut current = session.to_owned();
    let mut seen = vec![current.clone()];
    loop {
        let meta = crate::session::View::of(snapshot, &current)?.meta()?;
        let Some(parent) = meta.fork.map(|fork| fork.session) else {
            return Ok(current);
        };
        let name = RefName::of_session(&parent, "meta");
        let is_there = name.is_ok_and(|name| matches!(snapshot.reference(&name), Ok(Some(_))));
        if !is_there || seen.contains(&parent) {
            return Ok(current);
        }
        seen.push(parent.clone());
        current = parent;
    }
}

/// Puts each session under the one it was forked from, and gives the places in the list: depth and
/// place, parents before their children, in the list's order (build_session_tree).
///
/// A parent that is not in the list makes its child a root.
pub fn session_forest(sessions: &[SessionInfo]) -> Vec<(usize, usize)> {
    forest(&sessions.iter().map(|info| &info.meta).collect::<Vec<_>>())
}

pub(super) fn forest(sessions: &[&Session]) -> Vec<(usize, usize)> {
    let places: HashMap<&str, usize> =
        sessions.iter().enumerate().map(|(place, meta)| (meta.sid.as_str(), place)).collect();
    let families = families(sessions);
    let parent = |place: usize| {
        let fork = sessions[place].fork.as_ref().and_then(|fork| places.get(&*fork.session));
        let first = family(sessions[place]).and_then(|family| families.get(&family));
        fork.or(first).copied().filter(|parent| *parent != place)
    };
    let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut open = Vec::new();
    for place in 0..sessions.len() {
        match parent(place) {
            Some(above) => children.entry(above).or_default().push(place),
            None => open.push((0, place)),
        }
    }
    open.reverse();
    let mut forest = Vec::with_capacity(sessions.len());
    let mut seen = vec![false; sessions.len()];
    let mut next = 0;
    loop {
        while let Some((depth, place)) = open.pop() {
            seen[place] = true;
            forest.push((depth, place));
            let below = children.remove(&place).unwrap_or_default();
            open.extend(below.into_iter().rev().filter(|at| !seen[*at]).map(|at| (depth + 1, at)));
        }
        // Forks in a circle have no root: the first of them is taken for one.
        match (next..sessions.len()).find(|place| !seen[*place]) {
            Some(place) => {
                open.push((0, place));
                next = place + 1;
            }
            None => return forest,
        }
    }
}

/// Gives what the files of one session of another program have in common.
fn family(meta: &Session) -> Option<(&str, &str)> {
    let foreign = meta.meta.get("import")?.get("foreign")?.as_text()?;
    Some((meta.dialect.as_deref()?, foreign))
}

/// Finds the first session of each family.
fn families<'a>(sessions: &[&'a Session]) -> HashMap<(&'a str, &'a str), usize> {
    let mut families: HashMap<(&str, &str), usize> = HashMap::new();
    for (place, meta) in sessions.iter().enumerate() {
        let Some(family) = family(meta) else {
            continue;
        };
        let first = families.entry(family).or_insert(place);
        let age = |place: usize| (sessions[place].time, &sessions[place].sid);
        if age(place) < age(*first) {
            *first = place;
        }
    }
    families
}

/// Finds all sessions in one pass: the refs of one stand together.
fn find(snapshot: &dyn Snapshot) -> Result<Vec<Found>> {
    let refs = snapshot.references("sessions/")?;
    let mut sessions = Vec::new();
    let mut rest = refs.as_slice();
    while let Some((first, _)) = rest.first() {
        let Some((session, _)) = first.session() else {
            rest = &rest[1..];
            continue;
        };
        let begin = "sessions/".len() + session.len() + 1;
        let prefix = &first.as_str()[..begin];
        let count = rest.iter().take_while(|(name, _)| name.as_str().starts_with(prefix)).count();
        sessions.extend(read(snapshot, session, begin, &rest[..count])?);
        rest = &rest[count..];
    }
    Ok(sessions)
}

/// Picks what a listing needs out of the refs of one session.
fn read(
    snapshot: &dyn Snapshot,
    session: &str,
    begin: usize,
    refs: &[(RefName, RefValue)],
) -> Result<Option<Found>> {
    let get = |rest: &str| {
        refs.iter().find(|(name, _)| &name.as_str()[begin..] == rest).map(|(_, value)| value)
    };
    let id = |rest: &str| match get(rest) {
        Some(RefValue::Id(id)) => Some(*id),
        _ => None,
    };
    let Some(meta) = id("meta") else {
        return Ok(None);
    };
    let direct = match get("HEAD") {
        Some(RefValue::Symbolic(target)) => match target.session() {
            Some((owner, rest)) if owner == session => rest.strip_prefix("heads/"),
            _ => None,
        },
        _ => None,
    };
    let branch = match (direct, get("HEAD")) {
        (Some(branch), _) => Some(branch.to_owned()),
        (None, None) => None,
        (None, Some(_)) => head_branch(snapshot, session)?,
    };
    let end = branch.as_ref().and_then(|branch| id(&format!("heads/{branch}")));
    Ok(Some(Found { meta, end, branch, tip: id("tip") }))
}

/// Gives when something was last said, on any branch.
fn latest_time(snapshot: &dyn Snapshot, found: &Found, end_time: i64) -> Result<i64> {
    match &found.tip {
        Some(tip) if found.end.as_ref() != Some(tip) => {
            Ok(entry_time(snapshot, tip)?.max(end_time))
        }
        _ => Ok(end_time),
    }
}

fn entry_time(snapshot: &dyn Snapshot, id: &Id) -> Result<i64> {
    let topology = snapshot.topology(id)?;
    Ok(topology.ok_or(Error::ObjectMissing { id: *id })?.time)
}

#[cfg(test)]
mod tests;
