//! Stands in for the local store until it is there: memory, replayed from one file.

#![allow(missing_docs, dead_code)]

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood::codec::{Value, json};
use sapwood::disk::Disk;
use sapwood::error::{Error, Result};
use sapwood::id::{Id, Kind};
use sapwood::object::NewObject;
use sapwood::store::memory::MemoryStore;
use sapwood::store::{
    Durability, Expected, Operation, RefName, RefUpdate, RefValue, Snapshot, Store, Transaction,
};

#[derive(Default)]
pub(crate) struct Options {
    pub(crate) read_only: bool,
    pub(crate) allow_network: bool,
}

#[derive(Debug)]
pub(crate) struct LocalStore {
    memory: MemoryStore,
    path: PathBuf,
}

#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) journal_objects: u64,
    pub(crate) journal_bytes: u64,
    pub(crate) loose_objects: u64,
    pub(crate) loose_bytes: u64,
    pub(crate) packed_objects: u64,
    pub(crate) packs: u64,
    pub(crate) pack_bytes: u64,
}
pub(crate) struct PackRefsReport {
    pub(crate) refs: u64,
}
#[derive(Default)]
pub(crate) struct RepackReport {
    pub(crate) objects: u64,
    pub(crate) packs_before: u64,
    pub(crate) packs_after: u64,
    pub(crate) bytes_before: u64,
    pub(crate) bytes_after: u64,
}
pub(crate) struct UnpackReport {
    pub(crate) objects: u64,
}
pub(crate) struct PackedObject {
    pub(crate) id: Id,
    pub(crate) kind: Kind,
    pub(crate) bytes: u64,
    pub(crate) block: u64,
    pub(crate) offset: u64,
}
#[derive(Default)]
pub(crate) struct FsckOptions {}
pub(crate) enum Severity {
    Error,
    Warning,
}
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    pub(crate) what: &'static str,
    pub(crate) object: Option<Id>,
    pub(crate) file: Option<PathBuf>,
    pub(crate) why: String,
}
pub(crate) struct FsckReport {
    pub(crate) findings: Vec<Finding>,
    pub(crate) objects: u64,
    pub(crate) refs: u64,
    pub(crate) files: u64,
}
pub(crate) fn fsck(disk: Arc<dyn Disk>, path: &Path, _: FsckOptions) -> Result<FsckReport> {
    let store = LocalStore::open(disk, path, Options::default())?;
    Ok(FsckReport {
        findings: Vec::new(),
        objects: store.count_objects()?.journal_objects,
        refs: store.pack_refs()?.refs,
        files: 2,
    })
}

impl LocalStore {
    pub(crate) fn init(
        disk: Arc<dyn Disk>,
        path: &Path,
        options: Options,
    ) -> Result<(LocalStore, bool)> {
        let existed = disk.len(&path.join("format")).is_ok();
        if !existed {
            disk.create_dir(path).map_err(Error::io("create", path))?;
            std::fs::write(path.join("format"), "stub").map_err(Error::io("write", path))?;
            std::fs::write(path.join("log"), "").map_err(Error::io("write", path))?;
        }
        Ok((LocalStore::open(disk, path, options)?, existed))
    }
    pub(crate) fn open(disk: Arc<dyn Disk>, path: &Path, _: Options) -> Result<LocalStore> {
        if disk.len(&path.join("format")).is_err() {
            return Err(Error::NotAStore { path: path.into() });
        }
        let memory = MemoryStore::new();
        let log = std::fs::read(path.join("log")).map_err(Error::io("read", path))?;
        for line in log
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let transaction = read(&json::parse(line)?)?;
            memory.commit(Durability::Full, &mut |_| Ok(transaction.clone()))?;
        }
        Ok(LocalStore {
            memory,
            path: path.into(),
        })
    }
    pub(crate) fn pack_refs(&self) -> Result<PackRefsReport> {
        let refs = self.snapshot()?.references("")?.len() as u64;
        Ok(PackRefsReport { refs })
    }
    pub(crate) fn repack(&self) -> Result<RepackReport> {
        Ok(RepackReport::default())
    }
    pub(crate) fn unpack(&self, _: Option<&str>) -> Result<UnpackReport> {
        Ok(UnpackReport { objects: 0 })
    }
    pub(crate) fn count_objects(&self) -> Result<Counts> {
        let mut counts = Counts::default();
        self.snapshot()?.for_each(&mut |_, _| {
            counts.journal_objects += 1;
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        Ok(counts)
    }
    pub(crate) fn verify_pack(&self, _: &str) -> Result<Vec<PackedObject>> {
        Ok(Vec::new())
    }
    fn keep(&self, transaction: &Transaction) -> Result<()> {
        let mut line = Vec::new();
        json::write(&write(transaction), &mut line);
        line.push(b'\n');
        let path = self.path.join("log");
        let file = std::fs::OpenOptions::new().append(true).open(&path);
        file.and_then(|mut file| file.write_all(&line))
            .map_err(Error::io("write", path))
    }
}

impl Store for LocalStore {
    fn snapshot(&self) -> Result<Arc<dyn Snapshot>> {
        self.memory.snapshot()
    }
    fn commit(
        &self,
        durability: Durability,
        plan: &mut dyn FnMut(&dyn Snapshot) -> Result<Transaction>,
    ) -> Result<()> {
        let mut last = None;
        self.memory.commit(durability, &mut |snapshot| {
            let transaction = plan(snapshot)?;
            last = Some(transaction.clone());
            Ok(transaction)
        })?;
        self.keep(&last.expect("it was planned"))
    }
    fn put_blob(&self, source: &mut dyn Read, _: u64) -> Result<Id> {
        let mut content = Vec::new();
        source
            .read_to_end(&mut content)
            .map_err(Error::io("read", "blob"))?;
        let object = NewObject::blob(content)?;
        self.put_alone(&object)?;
        Ok(object.id)
    }
    fn put_alone(&self, object: &NewObject) -> Result<()> {
        self.commit(Durability::Full, &mut |_| {
            Ok(Transaction {
                objects: vec![object.clone()],
                ..Transaction::default()
            })
        })
    }
    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

fn write(transaction: &Transaction) -> Value {
    let objects = transaction.objects.iter().map(|object| {
        let mut hex = String::new();
        object
            .content
            .iter()
            .for_each(|byte| write!(hex, "{byte:02x}").expect("memory"));
        Value::List(vec![object.kind.name().into(), hex.into()])
    });
    let refs = transaction.refs.iter().map(|update| {
        let new = update
            .new
            .as_ref()
            .map_or(Value::Null, |new| new.to_string().into());
        Value::List(vec![update.name.as_str().into(), new])
    });
    let operation = transaction
        .operation
        .as_ref()
        .map_or(Value::Null, |operation| {
            Value::List(vec![
                operation.time.into(),
                operation.actor.as_str().into(),
                operation.command.as_str().into(),
            ])
        });
    Value::List(vec![
        Value::List(objects.collect()),
        Value::List(refs.collect()),
        operation,
    ])
}

fn read(value: &Value) -> Result<Transaction> {
    let parts = value.as_list().expect("list");
    let mut transaction = Transaction::default();
    for object in parts[0].as_list().expect("list") {
        let fields = object.as_list().expect("list");
        let hex = fields[1].as_text().expect("text").as_bytes();
        let digit = |byte: u8| (byte as char).to_digit(16).expect("hex") as u8;
        let content = hex
            .chunks(2)
            .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
            .collect();
        let kind = fields[0].as_text().expect("text").parse()?;
        transaction.objects.push(NewObject::parse(kind, content)?);
    }
    for update in parts[1].as_list().expect("list") {
        let fields = update.as_list().expect("list");
        let new = match fields[1].as_text() {
            None => None,
            Some(text) => Some(match text.strip_prefix("ref: ") {
                Some(name) => RefValue::Symbolic(RefName::new(name)?),
                None => RefValue::Id(text.parse()?),
            }),
        };
        transaction.refs.push(RefUpdate {
            name: RefName::new(fields[0].as_text().expect("text"))?,
            expected: Expected::Any,
            new,
        });
    }
    if let Some(fields) = parts[2].as_list() {
        transaction.operation = Some(Operation {
            time: fields[0].as_i64().expect("number"),
            actor: fields[1].as_text().expect("text").to_owned(),
            command: fields[2].as_text().expect("text").to_owned(),
        });
    }
    Ok(transaction)
}
