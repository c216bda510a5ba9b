//! Building a transaction: objects in, ids out, refs moved, committed together.

use crate::error::Result;
use crate::id::Id;
use crate::object::{self, Entry, NewObject, Object};
use crate::repo::Repo;
use crate::store::{Durability, Expected, Operation, RefName, RefUpdate, RefValue, Transaction};

/// A transaction in the making. Dropped uncommitted, it leaves nothing behind.
#[derive(Debug)]
pub struct TransactionBuilder {
    repo: Repo,
    transaction: Transaction,
}

impl TransactionBuilder {
    pub(super) fn new(repo: Repo) -> TransactionBuilder {
        TransactionBuilder { repo, transaction: Transaction::default() }
    }

    /// Adds an object, lifting its long strings into blobs, and gives its id.
    pub fn put(&mut self, object: &Object) -> Result<Id> {
        match object {
            Object::Blob(content) => {
                let blob = NewObject::blob(content.clone())?;
                Ok(self.put_encoded(blob))
            }
            other => object::encode_lifted(other.clone(), &mut self.transaction.objects),
        }
    }

    /// Adds an entry, lifting its long strings into blobs, and gives its id.
    pub fn put_entry(&mut self, entry: Entry) -> Result<Id> {
        object::encode_lifted(Object::Entry(entry), &mut self.transaction.objects)
    }

    /// Adds an object that is encoded already, and gives its id.
    pub fn put_encoded(&mut self, object: NewObject) -> Id {
        let id = object.id;
        self.transaction.objects.push(object);
        id
    }

    /// Moves a ref; no new value deletes it.
    pub fn update(
        &mut self,
        name: RefName,
        expected: Expected,
        new: Option<RefValue>,
    ) -> &mut TransactionBuilder {
        let update = RefUpdate { name, expected, new };
        self.transaction.refs.push(update);
        self
    }

    /// Says what the operations log will say of it.
    pub fn operation(&mut self, operation: Operation) -> &mut TransactionBuilder {
        self.transaction.operation = Some(operation);
        self
    }

    /// Commits all of it, or nothing.
    pub fn commit(self, durability: Durability) -> Result<()> {
        let TransactionBuilder { repo, transaction } = self;
        repo.commit(durability, &mut |_| Ok(transaction.clone()))
    }
}
