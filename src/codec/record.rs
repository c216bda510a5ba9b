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
/// A field that would not have been written, because it says nothing, is refused.
pub(crate) struct Fields<'a> {
    kind: Kind,
    reader: Reader<'a>,
    /// The key of the next field, if there is one. That it is text is known when it is one of ours.
    key: Option<&'a [u8]>,
    /// How many fields follow that one.
    left: u64,
}

impl<'a> Fields<'a> {
    /// Begins to read content.
    pub(crate) fn open(kind: Kind, content: &'a [u8]) -> Result<Fields<'a>> {
        Fields::begin(kind, Reader::new(content))
    }

    fn begin(kind: Kind, mut reader: Reader<'a>) -> Result<Fields<'a>> {
        let left = reader.map_begin().map_err(|why| invalid(kind, why))?;
        let mut fields = Fields { kind, reader, key: None, left };
        fields.next_key()?;
        Ok(fields)
    }

    fn next_key(&mut self) -> Result<()> {
        self.key = None;
        if self.left > 0 {
            self.left -= 1;
            self.key = Some(self.reader.key().map_err(|why| invalid(self.kind, why))?);
        }
        Ok(())
    }

    /// Reads the next field if this is its key.
    fn take_with<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Option<T>> {
        if self.key != Some(key.as_bytes()) {
            return Ok(None);
        }
        let field = read(self)?;
        self.next_key()?;
        Ok(Some(field))
    }

    fn take<T>(&mut self, key: &str, read: Read<'a, T>) -> Result<Option<T>> {
        self.take_with(key, |fields| fields.read(key, read))
    }

    fn read<T>(&mut self, key: &str, read: Read<'a, T>) -> Result<T> {
        read(&mut self.reader).map_err(|why| invalid(self.kind, format!("in {key}: {why}")))
    }

    fn need(&self, key: &str, what: &str) -> Error {
        invalid(self.kind, format!("{key} must be {what}, in its place"))
    }

    pub(crate) fn text(&mut self, key: &str) -> Result<String> {
        self.text_if(key)?.ok_or_else(|| self.need(key, "a string"))
    }

    pub(crate) fn text_if(&mut self, key: &str) -> Result<Option<String>> {
        self.take(key, |reader| reader.text().map(str::to_owned))
    }

    pub(crate) fn integer(&mut self, key: &str) -> Result<i64> {
        self.take(key, Reader::integer)?.ok_or_else(|| self.need(key, "an integer"))
    }

    pub(crate) fn link(&mut self, key: &str) -> Result<Id> {
        self.link_if(key)?.ok_or_else(|| self.need(key, "a link"))
    }

    pub(crate) fn link_if(&mut self, key: &str) -> Result<Option<Id>> {
        self.take(key, Reader::link)
    }

    pub(crate) fn links(&mut self, key: &str) -> Result<Vec<Id>> {
        self.list(key, |fields| fields.read(key, Reader::link))
    }

    pub(crate) fn value(&mut self, key: &str) -> Result<Value> {
        match self.value_if(key)? {
            Some(Value::Null) => Err(self.need(key, "left out where it is null")),
            value => Ok(value.unwrap_or(Value::Null)),
        }
    }

    pub(crate) fn value_if(&mut self, key: &str) -> Result<Option<Value>> {
        self.take_with(key, |fields| fields.checked(key))
    }

    pub(crate) fn values(&mut self, key: &str) -> Result<Vec<Value>> {
        self.list(key, |fields| fields.checked(key))
    }

    /// Reads a value, and makes sure that nothing in it keeps it from being kept.
    fn checked(&mut self, key: &str) -> Result<Value> {
        let value = self.read(key, Reader::value)?;
        let fault = if self.reader.doubts() { value.fault() } else { None };
        match fault {
            None => Ok(value),
            Some(why) => Err(invalid(self.kind, format!("in {key}: {why}"))),
        }
    }

    fn list<T>(
        &mut self,
        key: &str,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let list = self.take_with(key, |fields| {
            let count = fields.read(key, Reader::list_begin)?;
            if count == 0 {
                return Err(fields.need(key, "a list that is not empty"));
            }
            let mut items = Vec::with_capacity(count.min(ITEMS_TRUSTED_MAX) as usize);
            for _ in 0..count {
                items.push(read(fields)?);
            }
            Ok(items)
        })?;
        Ok(list.unwrap_or_default())
    }

    pub(crate) fn record_if<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Fields<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.take_with(key, |fields| fields.record(read))
    }

    pub(crate) fn records<T>(
        &mut self,
        key: &str,
        mut read: impl FnMut(&mut Fields<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.list(key, |fields| fields.record(&mut read))
    }

    fn record<T>(&mut self, read: impl FnOnce(&mut Fields<'_>) -> Result<T>) -> Result<T> {
        let mut fields = Fields::begin(self.kind, self.reader)?;
        let record = read(&mut fields)?;
        fields.no_more()?;
        self.reader = fields.reader;
        Ok(record)
    }

    /// Makes sure that nothing is left.
    pub(crate) fn close(&mut self) -> Result<()> {
        self.no_more()?;
        self.reader.end().map_err(|why| invalid(self.kind, why))
    }

    fn no_more(&self) -> Result<()> {
        let Some(key) = self.key else {
            return Ok(());
        };
        let key: String = String::from_utf8_lossy(key).chars().take(40).collect();
        let why = format!("the field \"{}\" is not in its place", key.escape_debug());
        Err(invalid(self.kind, why))
    }
}

/// Reads one thing.
type Read<'a, T> = fn(&mut Reader<'a>) -> std::result::Result<T, Fault>;

/// Reports an object that is not what its kind demands.
pub(crate) fn invalid(kind: Kind, why: impl Into<String>) -> Error {
    Error::InvalidObject { kind: kind.name(), why: why.into() }
}
