//! What sessions took: messages, tokens and cost, by model and branch; objects and bytes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;

use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::Entry;
use crate::ops::scan::scan;
use crate::session::{Forest, Message, View};
use crate::store::Snapshot;

/// What some entries took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Entries.
    pub entries: u64,
    /// Those that are messages.
    pub messages: u64,
    /// Tokens, where known.
    pub tokens: i64,
    /// Money, where known.
    pub cost: f64,
    /// Bytes of the entries and of the blobs they link.
    pub bytes: u64,
}

/// What the path of a branch took.
#[derive(Clone, Debug, PartialEq)]
pub struct BranchStats {
    /// The session.
    pub session: String,
    /// The branch.
    pub branch: String,
    /// From the root to its end.
    pub tally: Tally,
}

/// What sessions took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// How many sessions.
    pub sessions: u64,
    /// Every entry once.
    pub total: Tally,
    /// The messages of each model, every one once.
    pub models: BTreeMap<String, Tally>,
    /// Each branch.
    pub branches: Vec<BranchStats>,
    /// Entries and blobs, every one once.
    pub objects: u64,
    /// What a copy of its path for each branch would take beyond that.
    pub saved_bytes: u64,
}

/// What is kept of an entry while it is counted.
struct Row {
    tally: Tally,
    model: Option<String>,
    links: Vec<Id>,
    /// The answer that it is part of.
    of: Option<String>,
}

/// Counts what sessions took. Each entry is read once.
pub fn stats(snapshot: &dyn Snapshot, sessions: &[String]) -> Result<Stats> {
    let mut stats = Stats { sessions: sessions.len() as u64, ..Stats::default() };
    let mut rows: HashMap<Id, Row> = HashMap::new();
    let mut forests = Vec::with_capacity(sessions.len());
    for session in sessions {
        let forest = Forest::of(&View::of(snapshot, session)?)?;
        let fresh: Vec<Id> =
            forest.ids().iter().copied().filter(|id| !rows.contains_key(id)).collect();
        let _ = scan(&fresh, &|id| read(snapshot, id), &mut |id, row| {
            rows.insert(*id, row);
            Ok(ControlFlow::Continue(()))
        })?;
        count_answers_once(&forest, &mut rows);
        forests.push(forest);
    }
    let blobs = blobs(snapshot, &rows)?;
    stats.objects = (rows.len() + blobs.len()) as u64;
    stats.total.bytes = blobs.values().sum();
    for row in rows.values_mut() {
        stats.total.add(&row.tally);
        if let Some(model) = &row.model {
            stats.models.entry(model.clone()).or_default().add(&row.tally);
        }
        row.tally.bytes += row.links.iter().filter_map(|link| blobs.get(link)).sum::<u64>();
    }
    let mut on_branches = HashSet::new();
    for (session, forest) in sessions.iter().zip(&forests) {
        let view = View::of(snapshot, session)?;
        branches(&view, forest, &rows, &mut stats, &mut on_branches)?;
    }
    let copies: u64 = stats.branches.iter().map(|branch| branch.tally.bytes).sum();
    let once: u64 = on_branches.iter().map(|id| rows[id].tally.bytes).sum();
    stats.saved_bytes = copies.saturating_sub(once);
    Ok(stats)
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.entries += other.entries;
        self.messages += other.messages;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost += other.cost;
        self.bytes += other.bytes;
    }
}

fn read(snapshot: &dyn Snapshot, id: &Id) -> Result<Row> {
    let stored = snapshot.get(id)?.ok_or(Error::ObjectMissing { id: *id })?;
    let entry = Entry::decode(&stored.content)?;
    let mut links = Vec::new();
    entry.body.links(&mut links);
    entry.raw.iter().for_each(|raw| raw.links(&mut links));
    links.sort_unstable();
    links.dedup();
    let message = Message::read(&entry.label, &entry.body);
    let usage = message.as_ref().map(|message| message.usage.clone()).unwrap_or_default();
    let tally = Tally {
        entries: 1,
        messages: u64::from(message.is_some()),
        tokens: usage.tokens.unwrap_or(0),
        cost: usage.cost.unwrap_or(0.0),
        bytes: stored.content.len() as u64,
    };
    Ok(Row { tally, model: message.and_then(|message| message.model), links, of: usage.of })
}

/// Drops what an answer took from all of its parts but the first.
fn count_answers_once(forest: &Forest, rows: &mut HashMap<Id, Row>) {
    for (place, id) in forest.ids().iter().enumerate().rev() {
        let above = forest.parent(place).and_then(|above| rows[&forest.ids()[above]].of.clone());
        if let Some(row) = rows.get_mut(id).filter(|row| row.of.is_some() && row.of == above) {
            (row.tally.tokens, row.tally.cost) = (0, 0.0);
        }
    }
}

/// Finds how long each blob is that some entry links.
fn blobs(snapshot: &dyn Snapshot, rows: &HashMap<Id, Row>) -> Result<HashMap<Id, u64>> {
    let unique: HashSet<Id> = rows.values().flat_map(|row| row.links.iter().copied()).collect();
    let linked: Vec<Id> = unique.into_iter().filter(|id| !rows.contains_key(id)).collect();
    let mut blobs = HashMap::new();
    let read = |id: &Id| {
        let stored = snapshot.get(id)?.ok_or(Error::ObjectMissing { id: *id })?;
        Ok((stored.kind == Kind::Blob).then_some(stored.content.len() as u64))
    };
    let _ = scan(&linked, &read, &mut |id, bytes| {
        blobs.extend(bytes.map(|bytes| (*id, bytes)));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(blobs)
}

/// Adds up the path of each branch of a session.
fn branches(
    view: &View<'_>,
    forest: &Forest,
    rows: &HashMap<Id, Row>,
    stats: &mut Stats,
    on_branches: &mut HashSet<Id>,
) -> Result<()> {
    let mut sums: Vec<Tally> = Vec::with_capacity(forest.ids().len());
    for (place, id) in forest.ids().iter().enumerate() {
        let mut sum = forest.parent(place).map(|parent| sums[parent]).unwrap_or_default();
        sum.add(&rows[id].tally);
        sums.push(sum);
    }
    for (branch, end) in view.branches()? {
        let place = forest.place(&end);
        let tally = place.map(|place| sums[place]).unwrap_or_default();
        stats.branches.push(BranchStats { session: view.id().to_owned(), branch, tally });
        let mut next = place;
        while let Some(place) = next
            && on_branches.insert(forest.ids()[place])
        {
            next = forest.parent(place);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json;
    use crate::repo::Repo;
    use crate::session;
    use crate::store::Durability;

    #[test]
    fn shared_entries_count_once_and_on_each_branch() {
        let repo = Repo::in_memory();
        let say = |branch: &str, text: &str| {
            let pin = session::pin(&repo, Some("s"), Some(branch), 0, "tester").unwrap();
            let body = json::parse(text.as_bytes()).unwrap();
            session::append(&repo, &pin, vec![body], Durability::Full, 0).unwrap();
        };
        let long = "long ".repeat(400);
        say("main", &format!(r#"{{"role":"user","content":"{long}"}}"#));
        say(
            "a",
            r#"{"role":"assistant","content":"x","metadata":{"model":"m","cost":0.5,"tokens":7}}"#,
        );
        say(
            "b",
            r#"{"role":"assistant","content":"y","metadata":{"model":"n","cost":0.25,"tokens":3}}"#,
        );
        say("b", r#"{"type":"custom","x":1}"#);
        let stats = stats(&*repo.snapshot().unwrap(), &["s".to_owned()]).unwrap();
        assert_eq!((stats.total.entries, stats.total.messages, stats.objects), (4, 3, 5));
        assert_eq!((stats.total.tokens, stats.total.cost), (10, 0.75));
        assert_eq!(stats.models["m"].cost, 0.5);
        let branches: Vec<_> = stats
            .branches
            .iter()
            .map(|b| (b.branch.as_str(), b.tally.entries, b.tally.tokens))
            .collect();
        assert_eq!(branches, [("a", 2, 7), ("b", 3, 3), ("main", 1, 0)]);
        assert!(stats.saved_bytes > 2 * 2000 && stats.saved_bytes < 3 * 2000, "{stats:?}");
    }

    #[test]
    fn an_answer_in_several_parts_counts_once() {
        let repo = Repo::in_memory();
        let pin = session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
        let part = |id: &str, text: &str| {
            let text = format!(
                r#"{{"type":"assistant","message":{{"id":"{id}","role":"assistant","model":"m",
                "content":"{text}","usage":{{"input_tokens":3,"output_tokens":4}}}}}}"#
            );
            json::parse(text.as_bytes()).unwrap()
        };
        let parts = vec![part("m1", "a"), part("m1", "b"), part("m1", "c"), part("m2", "d")];
        session::append(&repo, &pin, parts, Durability::Full, 0).unwrap();
        let stats = stats(&*repo.snapshot().unwrap(), &["s".to_owned()]).unwrap();
        assert_eq!((stats.total.messages, stats.total.tokens), (4, 14));
        assert_eq!((stats.models["m"].tokens, stats.branches[0].tally.tokens), (14, 14));
    }
}
