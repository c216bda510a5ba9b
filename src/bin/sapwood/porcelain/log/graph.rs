//! Drawing a history newest first: a column for each line of it.
//!
//! Where several lines come to the same entry they are joined on the line above it; where an entry
//! has several parents they part on the line below.

use sapwood::id::Id;

/// The lines that are open, by column: the entry that each comes to next.
#[derive(Default)]
pub(super) struct Graph {
    columns: Vec<Option<Id>>,
}

/// What is drawn for an entry.
pub(super) struct Drawn {
    /// Lines above it.
    pub(super) before: Vec<String>,
    /// What stands before its first line.
    pub(super) at: String,
    /// What stands before its other lines.
    pub(super) below: String,
    /// Lines below it.
    pub(super) after: Vec<String>,
}

impl Graph {
    /// Adds the next entry.
    pub(super) fn add(&mut self, id: Id, parents: &[Id]) -> Drawn {
        let own = self.column(id);
        let mut before = Vec::new();
        for other in own + 1..self.columns.len() {
            if self.columns[other] == Some(id) {
                before.push(self.joined(own, other, '╯'));
                self.columns[other] = None;
            }
        }
        self.trim();
        let at = self.row(|column, open| match (column == own, open) {
            (true, _) => '○',
            (false, true) => '│',
            (false, false) => ' ',
        });
        self.columns[own] = parents.first().copied();
        let below = self.row(|_, open| if open { '│' } else { ' ' });
        let mut after = Vec::new();
        for parent in parents.iter().skip(1) {
            let found = self.columns.iter().position(|open| open.as_ref() == Some(parent));
            match found {
                Some(other) if other != own => after.push(self.joined(own, other, '┤')),
                Some(_) => {}
                None => {
                    let free = self.columns.iter().skip(own + 1).position(Option::is_none);
                    let other = free.map_or(self.columns.len(), |free| own + 1 + free);
                    if other == self.columns.len() {
                        self.columns.push(None);
                    }
                    after.push(self.joined(own, other, '╮'));
                    self.columns[other] = Some(*parent);
                }
            }
        }
        self.trim();
        Drawn { before, at, below, after }
    }

    /// Finds the first column that comes to an entry, or opens one.
    fn column(&mut self, id: Id) -> usize {
        let found = self.columns.iter().position(|open| *open == Some(id));
        let free = || self.columns.iter().position(Option::is_none);
        let column = found.or_else(free).unwrap_or(self.columns.len());
        if column == self.columns.len() {
            self.columns.push(None);
        }
        self.columns[column] = Some(id);
        column
    }

    /// Draws a line from one column to another.
    fn joined(&self, own: usize, other: usize, end: char) -> String {
        let (left, right) = (own.min(other), own.max(other));
        let mut line = String::new();
        for (column, open) in self.columns.iter().enumerate() {
            let within = left < column && column < right;
            line.push(match open {
                _ if column == left => '├',
                _ if column == right => end,
                Some(_) if within => '┼',
                None if within => '─',
                Some(_) => '│',
                None => ' ',
            });
            line.push(if left <= column && column < right { '─' } else { ' ' });
        }
        line.trim_end().to_owned()
    }

    fn row(&self, draw: impl Fn(usize, bool) -> char) -> String {
        let columns = self.columns.iter().enumerate();
        let cells: Vec<String> =
            columns.map(|(column, open)| draw(column, open.is_some()).to_string()).collect();
        cells.join(" ")
    }

    fn trim(&mut self) {
        while self.columns.last() == Some(&None) {
            self.columns.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood::id::Kind;

    fn draw(entries: &[(&str, &[&str])]) -> String {
        let id = |name: &str| Id::of(Kind::Blob, name.as_bytes());
        let mut graph = Graph::default();
        let mut lines = Vec::new();
        for (name, parents) in entries {
            let parents: Vec<Id> = parents.iter().map(|parent| id(parent)).collect();
            let drawn = graph.add(id(name), &parents);
            lines.extend(drawn.before);
            lines.push(format!("{} {name}", drawn.at));
            lines.extend(drawn.after);
        }
        lines.join("\n")
    }

    #[test]
    fn forks_join_above_the_entry_they_share() {
        let forked: [(&str, &[&str]); 4] =
            [("c", &["b"]), ("b", &["a"]), ("d", &["a"]), ("a", &[])];
        assert_eq!(draw(&forked), "○ c\n○ b\n│ ○ d\n├─╯\n○ a");
    }

    #[test]
    fn three_lines_cross_and_free_columns_are_used_again() {
        let entries: [(&str, &[&str]); 6] =
            [("x", &["a"]), ("y", &["b"]), ("z", &["a"]), ("a", &["b"]), ("w", &["b"]), ("b", &[])];
        let expected = "○ x\n│ ○ y\n│ │ ○ z\n├─┼─╯\n○ │ a\n│ │ ○ w\n├─╯ │\n├───╯\n○ b";
        assert_eq!(draw(&entries), expected);
    }

    #[test]
    fn a_merge_parts_below() {
        let merged: [(&str, &[&str]); 4] =
            [("m", &["a", "b"]), ("a", &["r"]), ("b", &["r"]), ("r", &[])];
        assert_eq!(draw(&merged), "○ m\n├─╮\n○ │ a\n│ ○ b\n├─╯\n○ r");
    }
}
