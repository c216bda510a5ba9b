//! `docs/FORMAT.md`, as a reader of bytes needs it: the tables of offsets and lengths.

use std::collections::HashMap;
use std::path::Path;

/// The page's text.
pub(crate) struct Page(String);

/// A table of the page: the fields of a record of fixed length.
pub(crate) struct Layout {
    heading: String,
    fields: HashMap<String, Field>,
    bytes: usize,
}

struct Field {
    offset: usize,
    bytes: usize,
    /// What the page says that it always holds.
    literal: Option<String>,
}

impl Page {
    pub(crate) fn load() -> Page {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/FORMAT.md");
        Page(std::fs::read_to_string(path).unwrap())
    }

    /// Gives what stands between a heading and the next one.
    pub(crate) fn section(&self, heading: &str) -> Vec<&str> {
        let is_heading = |line: &str| line.starts_with('#');
        let mut lines = self.0.lines();
        let found = lines.any(|line| is_heading(line) && title(line) == heading);
        assert!(found, "no heading '{heading}'");
        lines.take_while(|line| !is_heading(line)).collect()
    }

    /// Gives the first block between fences under a heading.
    pub(crate) fn block(&self, heading: &str) -> Vec<&str> {
        let section = self.section(heading).into_iter();
        let after = section.skip_while(|line| !line.starts_with("```")).skip(1);
        after.take_while(|line| !line.starts_with("```")).collect()
    }

    /// Reads the table of fields under a heading; they must follow one another without gaps.
    pub(crate) fn layout(&self, heading: &str) -> Layout {
        let mut layout = Layout { heading: heading.to_owned(), fields: HashMap::new(), bytes: 0 };
        for line in self.section(heading) {
            let Some((offset, bytes, name, literal)) = row(line) else {
                continue;
            };
            assert_eq!(offset, layout.bytes, "{heading}: {name}");
            layout.bytes += bytes;
            let field = Field { offset, bytes, literal };
            assert!(layout.fields.insert(name, field).is_none(), "{line}");
        }
        assert!(layout.bytes > 0, "no table under '{heading}'");
        layout
    }
}

impl Layout {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn field(&self, name: &str) -> &Field {
        let found = self.fields.get(name);
        found.unwrap_or_else(|| panic!("{}: no field '{name}'", self.heading))
    }

    /// Gives the bytes of a field.
    pub(crate) fn get<'a>(&self, record: &'a [u8], name: &str) -> &'a [u8] {
        let field = self.field(name);
        &record[field.offset..field.offset + field.bytes]
    }

    /// Gives the bytes before a field.
    pub(crate) fn before<'a>(&self, record: &'a [u8], name: &str) -> &'a [u8] {
        &record[..self.field(name).offset]
    }

    /// Reads a field as a number.
    pub(crate) fn number(&self, record: &[u8], name: &str) -> u64 {
        let mut wide = [0; 8];
        let bytes = self.get(record, name);
        wide[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(wide)
    }

    /// Checks a field that always holds the same text.
    pub(crate) fn check_literal(&self, record: &[u8], name: &str) {
        let literal = self.field(name).literal.as_deref();
        let literal = literal.unwrap_or_else(|| panic!("{}: no text", self.heading));
        assert_eq!(self.get(record, name), literal.as_bytes());
    }
}

fn title(line: &str) -> String {
    line.trim_start_matches('#').trim().replace('`', "")
}

/// Splits `| 8 | 4 | `name`: what it is |`.
fn row(line: &str) -> Option<(usize, usize, String, Option<String>)> {
    let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
    let offset = cells.next()?.parse().ok()?;
    let bytes = cells.next()?.parse().ok()?;
    let mut words = cells.next()?.strip_prefix('`')?.split('`');
    let name = words.next()?.to_owned();
    let literal = words.nth(1).map(str::to_owned);
    Some((offset, bytes, name, literal))
}
