//! Records: the one description of an object from which all else follows.
//!
//! A [`Record`] borrows an object's fields under their names on disk, in their order. Encoding,
//! comparing, checking, collecting links and printing all read it, so they cannot disagree.
//! [`Fields`] is the way back: it reads the fields of an encoded map, in the same order.
//!
//! An absent optional field, an empty list and a null are not written.

use std::collections::HashSet;

use crate::codec::Value;
use crate::codec::cbor::{self, Fault, ITEMS_TRUSTED_MAX, Reader};
use crate::error::{Error, Result};
use crate::id::{Id, Kind};

/// Up to how many links are searched for repetitions one by one.
const LINKS_COMPARED_MAX: usize = 16;

/// An object's fields, by their names on disk, in their order.
pub(crate) struct Record<'a>(Vec<(&'static str, Field<'a>)>);

/// What a field holds.
pub(crate) enum Field<'a> {
    Text(&'a str),
    Integer(i64),
    Link(Id),
    Links(&'a [Id]),
    Value(&'a Value),
    Values(&'a [Value]),
    Record(Record<'a>),
    Records(Vec<Record<'a>>),
}

/// Describing.
impl<'a> Record<'a> {
    pub(crate) fn new() -> Record<'a> {
        Record(Vec::with_capacity(6))
    }

    pub(crate) fn text(self, key: &'static str, text: &'a str) -> Record<'a> {
        self.with(key, Field::Text(text))
    }

    pub(crate) fn text_if(self, key: &'static str, text: &'a Option<String>) -> Record<'a> {
        match text {
            Some(text) => self.text(key, text),
            None => self,
        }
    }

    pub(crate) fn integer(self, key: &'static str, integer: i64) -> Record<'a> {
        self.with(key, Field::Integer(integer))
    }

    pub(crate) fn link(self, key: &'static str, id: Id) -> Record<'a> {
        self.with(key, Field::Link(id))
    }

    pub(crate) fn link_if(self, key: &'static str, id: Option<Id>) -> Record<'a> {
        match id {
            Some(id) => self.link(key, id),
            None => self,
        }
    }

    pub(crate) fn links(self, key: &'static str, ids: &'a [Id]) -> Record<'a> {
        match ids {
            [] => self,
            _ => self.with(key, Field::Links(ids)),
        }
    }

    pub(crate) fn value(self, key: &'static str, value: &'a Value) -> Record<'a> {
        match value {
            Value::Null => self,
            _ => self.with(key, Field::Value(value)),
        }
    }

    pub(crate) fn value_if(self, key: &'static str, value: &'a Option<Value>) -> Record<'a> {
        match value {
            Some(value) => self.with(key, Field::Value(value)),
            None => self,
        }
    }

    pub(crate) fn values(self, key: &'static str, values: &'a [Value]) -> Record<'a> {
        match values {
            [] => self,
            _ => self.with(key, Field::Values(values)),
        }
    }

    pub(crate) fn record_if(self, key: &'static str, record: Option<Record<'a>>) -> Record<'a> {
        match record {
            Some(record) => self.with(key, Field::Record(record)),
            None => self,
        }
    }

    pub(crate) fn records(self, key: &'static str, records: Vec<Record<'a>>) -> Record<'a> {
        match records.is_empty() {
            true => self,
            false => self.with(key, Field::Records(records)),
        }
    }

    fn with(mut self, key: &'static str, field: Field<'a>) -> Record<'a> {
        self.0.push((key, field));
        self
    }
}

/// Reading what was described.
impl Record<'_> {
    /// Gives the fields in order.
    pub(crate) fn fields(&self) -> &[(&'static str, Field<'_>)] {
        &self.0
    }

    /// Says what keeps the values in it from being kept, if anything does.
    pub(crate) fn fault(&self) -> Option<String> {
        self.0.iter().find_map(|(key, field)| {
            let fault = match field {
                Field::Value(value) => value.fault(),
                Field::Values(values) => values.iter().find_map(Value::fault),
                Field::Record(record) => record.fault(),
                Field::Records(records) => records.iter().find_map(Record::fault),
                _ => None,
            };
            fault.map(|fault| format!("in {key}: {fault}"))
        })
    }

    /// Gives the first of what the object follows.
    pub(crate) fn first_parent(&self) -> Option<Id> {
        let follows = |key: &str| matches!(key, "parents" | "priors");
        self.0.iter().find_map(|(key, field)| match field {
            Field::Links(ids) if follows(key) => ids.first().copied(),
            _ => None,
        })
    }

    /// Lists every link once, in order of appearance.
    pub(crate) fn all_links(&self) -> Vec<Id> {
        let mut links = Vec::new();
        self.collect_links(&mut links);
        if links.len() > LINKS_COMPARED_MAX {
            let mut seen = HashSet::with_capacity(links.len());
            links.retain(|id| seen.insert(*id));
            return links;
        }
        let mut once = 0;
        for place in 0..links.len() {
            if !links[..once].contains(&links[place]) {
                links[once] = links[place];
                once += 1;
            }
        }
        links.truncate(once);
        links
    }

    fn collect_links(&self, links: &mut Vec<Id>) {
        for (_, field) in &self.0 {
            match field {
                Field::Text(_) | Field::Integer(_) => {}
                Field::Link(id) => links.push(*id),
                Field::Links(ids) => links.extend_from_slice(ids),
                Field::Value(value) => value.links(links),
                Field::Values(values) => values.iter().for_each(|value| value.links(links)),
                Field::Record(record) => record.collect_links(links),
                Field::Records(records) => {
                    records.iter().for_each(|record| record.collect_links(links));
                }
            }
        }
    }

    /// Copies everything into a value, for printing.
    pub(crate) fn to_value(&self) -> Value {
        Value::map(self.0.iter().map(|(key, field)| {
            let value = match field {
                Field::Text(text) => Value::from(*text),
                Field::Integer(integer) => Value::Integer(*integer),
                Field::Link(id) => Value::Link(*id),
                Field::Links(ids) => Value::List(ids.iter().copied().map(Value::Link).collect()),
                Field::Value(value) => (*value).clone(),
                Field::Values(values) => Value::List(values.to_vec()),
                Field::Record(record) => record.to_value(),
                Field::Records(list) => Value::List(list.iter().map(Record::to_value).collect()),
            };
            (*key, value)
        }))
    }

    /// Makes sure that nothing in a record keeps it from being kept.
    pub(crate) fn check(&self, kind: Kind) -> Result<()> {
        self.fault().map_or(Ok(()), |why| Err(invalid(kind, why)))
    }

    /// Makes sure, by encoding once more, that bytes are the one encoding of this record.
    pub(crate) fn verify(&self, kind: Kind, content: &[u8]) -> Result<()> {
        cbor::is_encoding(self, content).map_err(|at| {
            let why = format!("its encoding is not the one for its value, from byte {at} on");
            invalid(kind, why)
        })
    }
}

/// A map whose fields are read in order.
///
/// A field that would not have been written, because it says nothing, is refused. What is wrong
/// first is kept until the end, so that who reads an object does it in one go: after that, nothing
/// is read any more, and what is given says nothing.
pub(crate) struct Fields<'a> {
    kind: Kind,
    reader: Reader<'a>,
    /// The key of the next field, if there is one. That it is text is known when it is one of ours.
    key: Option<&'a [u8]>,
    /// How many fields follow that one.
    left: u64,
    /// What was wrong.
    fault: Option<String>,
}

impl<'a> Fields<'a> {
    /// Begins to read content.
    pub(crate) fn open(kind: Kind, content: &'a [u8]) -> Fields<'a> {
        Fields::begin(kind, Reader::new(content))
    }

    fn begin(kind: Kind, reader: Reader<'a>) -> Fields<'a> {
        let mut fields = Fields { kind, reader, key: None, left: 0, fault: None };
        match fields.reader.map_begin() {
            Ok(count) => fields.left = count,
            Err(why) => fields.fail(why),
        }
        fields.next_key();
        fields
    }

    fn next_key(&mut self) {
        self.key = None;
        if self.left > 0 {
            self.left -= 1;
            match self.reader.key() {
                Ok(key) => self.key = Some(key),
                Err(why) => self.fail(why),
            }
        }
    }

    /// Says what is wrong, unless something was before; then nothing more is read.
    #[cold]
    pub(crate) fn fail(&mut self, why: &str) {
        self.fault.get_or_insert_with(|| why.to_owned());
        (self.key, self.left) = (None, 0);
    }

    #[cold]
    fn fail_in(&mut self, key: &str, why: &str) {
        self.fail(&format!("in {key}: {why}"));
    }

    #[cold]
    fn need(&mut self, key: &str, what: &str) {
        self.fail(&format!("{key} must be {what}, in its place"));
    }

    /// Reads the next field if this is its key.
    fn take<T>(&mut self, key: &str, read: Read<'a, T>) -> Option<T> {
        if self.key != Some(key.as_bytes()) {
            return None;
        }
        let field = self.read(key, read);
        self.next_key();
        field
    }

    fn read<T>(&mut self, key: &str, read: Read<'a, T>) -> Option<T> {
        match read(&mut self.reader) {
            Ok(field) => Some(field),
            Err(why) => {
                self.fail_in(key, why);
                None
            }
        }
    }

    pub(crate) fn text(&mut self, key: &str) -> String {
        self.text_if(key).unwrap_or_else(|| {
            self.need(key, "a string");
            String::new()
        })
    }

    pub(crate) fn text_if(&mut self, key: &str) -> Option<String> {
        self.take(key, |reader| reader.text().map(str::to_owned))
    }

    pub(crate) fn integer(&mut self, key: &str) -> i64 {
        self.take(key, Reader::integer).unwrap_or_else(|| {
            self.need(key, "an integer");
            0
        })
    }

    pub(crate) fn link(&mut self, key: &str) -> Id {
        self.link_if(key).unwrap_or_else(|| {
            self.need(key, "a link");
            Id::from_bytes([0; Id::BYTES])
        })
    }

    pub(crate) fn link_if(&mut self, key: &str) -> Option<Id> {
        self.take(key, Reader::link)
    }

    pub(crate) fn links(&mut self, key: &str) -> Vec<Id> {
        self.list(key, |fields| fields.read(key, Reader::link))
    }

    pub(crate) fn value(&mut self, key: &str) -> Value {
        let value = self.value_if(key);
        if matches!(value, Some(Value::Null)) {
            self.need(key, "left out where it is null");
        }
        value.unwrap_or(Value::Null)
    }

    pub(crate) fn value_if(&mut self, key: &str) -> Option<Value> {
        if self.key != Some(key.as_bytes()) {
            return None;
        }
        let value = self.checked(key);
        self.next_key();
        value
    }

    pub(crate) fn values(&mut self, key: &str) -> Vec<Value> {
        self.list(key, |fields| fields.checked(key))
    }

    /// Reads a value, and makes sure that nothing in it keeps it from being kept.
    fn checked(&mut self, key: &str) -> Option<Value> {
        let value = self.read(key, Reader::value)?;
        if self.reader.doubts()
            && let Some(why) = value.fault()
        {
            self.fail_in(key, &why);
            return None;
        }
        Some(value)
    }

    fn list<T>(&mut self, key: &str, mut read: impl FnMut(&mut Self) -> Option<T>) -> Vec<T> {
        if self.key != Some(key.as_bytes()) {
            return Vec::new();
        }
        let count = self.read(key, Reader::list_begin).unwrap_or(0);
        if count == 0 {
            self.need(key, "a list that is not empty");
        }
        let mut items = Vec::with_capacity(count.min(ITEMS_TRUSTED_MAX) as usize);
        for _ in 0..count {
            match read(self) {
                Some(item) => items.push(item),
                None => break,
            }
        }
        self.next_key();
        items
    }

    pub(crate) fn record_if<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Fields<'_>) -> T,
    ) -> Option<T> {
        if self.key != Some(key.as_bytes()) {
            return None;
        }
        let record = self.record(read);
        self.next_key();
        record
    }

    pub(crate) fn records<T>(
        &mut self,
        key: &str,
        mut read: impl FnMut(&mut Fields<'_>) -> T,
    ) -> Vec<T> {
        self.list(key, |fields| fields.record(&mut read))
    }

    /// Reads a map; `None` where something is wrong in it.
    fn record<T>(&mut self, read: impl FnOnce(&mut Fields<'_>) -> T) -> Option<T> {
        let mut fields = Fields::begin(self.kind, self.reader);
        let record = read(&mut fields);
        fields.no_more();
        self.reader = fields.reader;
        match fields.fault {
            None => Some(record),
            Some(why) => {
                self.fail(&why);
                None
            }
        }
    }

    /// Makes sure that nothing is left, and that nothing was wrong.
    pub(crate) fn close(mut self) -> Result<()> {
        self.no_more();
        if let Err(why) = self.reader.end() {
            self.fail(why);
        }
        self.fault.map_or(Ok(()), |why| Err(invalid(self.kind, why)))
    }

    fn no_more(&mut self) {
        if let Some(key) = self.key {
            self.refuse(key);
        }
    }

    #[cold]
    fn refuse(&mut self, key: &[u8]) {
        let key: String = String::from_utf8_lossy(key).chars().take(40).collect();
        self.fail(&format!("the field \"{}\" is not in its place", key.escape_debug()));
    }
}

/// Reads one thing.
type Read<'a, T> = fn(&mut Reader<'a>) -> std::result::Result<T, Fault>;

/// Reports an object that is not what its kind demands.
pub(crate) fn invalid(kind: Kind, why: impl Into<String>) -> Error {
    Error::InvalidObject { kind: kind.name(), why: why.into() }
}
