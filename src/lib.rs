//! sapwood: a content-addressable object store for agent conversations and memory.
//!
//! # Nouns
//!
//! - An **object** is immutable bytes with a [kind](id::Kind). Its name is its [`Id`], a hash of
//!   kind, length and content, so the same thing is stored once and nothing changes unnoticed.
//! - A **blob** is raw bytes: a long string lifted out of a message, an attachment.
//! - An [**entry**](object::Entry) is one step of a conversation. It names its parents, and the
//!   first parent is the **path**: follow it, and you have the conversation up to there.
//! - A [**node**](object::Node) is one commit of the memory tree: facts, notes, a card.
//! - An [**event**](object::Event) is one thing that happened to a session and is not a step of a
//!   conversation. Events form a chain.
//! - A **ref** is a name that can be moved: to an object, or to another ref (then it is symbolic).
//! - A **session** is metadata and refs. It points at a conversation and contains nothing.
//! - A **branch** is a ref of a session to an entry; a **label** is one that stays. A branch's
//!   [**record**](session::BranchRecord) says what it is for, and why it was made.
//! - **HEAD** is symbolic: a session's active branch; and for the store, the current session.
//! - The **transcript** is everything a session ever said, in the order in which it was said. Paths
//!   fork and move; the transcript never forks and never shrinks.
//! - A [**context**](session::Context) is what a model is shown at an entry: its path, read by the
//!   types of the entries.
//! - The [**memory**](memory) at an entry is what was learned up to there: the facts from the root
//!   to the nearest node on its path.
//! - A [**verb**](ops) is what people do: switch, fork, merge, undo. Each is one transaction.
//! - A [**store**](store::Store) keeps objects and refs. A [**snapshot**](store::Snapshot) is what
//!   it held at one moment. A [**transaction**](store::Transaction) happens whole or not at all.
//! - An **operation** is what a command did to refs, kept in a log. Plain appends are not in it.
//! - A **revision** is how a person names an object: `main~3`, `@`, `msg:2`, the first digits.
//!
//! # The picture
//!
//! ```text
//!   HEAD ──▸ sessions/s1/HEAD ──▸ sessions/s1/heads/main ──────┐       refs: they move
//!                                 sessions/s1/labels/ok ┐      │
//!                                                       ▾      ▾
//!                                  e1 ◂── e2 ◂── e3 ◂── e4 ◂── e5       entries: they
//!                                         ▴                    │        never change
//!                                         └── e6               ▾
//!                                              ▴               b1       blob: a long string
//!                                              └ sessions/s1/heads/idea
//!
//!   sessions/s1/tip ──▸ where the transcript ends, on any branch
//!   sessions/s1/events ──▸ v2 ──▸ v1                                   events: what happened
//!   sessions/s1/meta ──▸ the session's metadata
//! ```
//!
//! # Reading and writing
//!
//! ```
//! use sapwood::codec::json;
//! use sapwood::{Durability, Repo, session};
//!
//! # fn main() -> sapwood::Result<()> {
//! let repo = Repo::in_memory();
//! let main = session::pin(&repo, Some("s1"), None, 0, "me")?;
//! let hello = json::parse(br#"{"role": "user", "content": "hello"}"#)?;
//! let answer = json::parse(br#"{"role": "assistant", "content": "hi"}"#)?;
//! let ids = session::append(&repo, &main, vec![hello, answer], Durability::Full, 0)?;
//!
//! assert_eq!(repo.resolve("main")?, ids[1]);
//! assert_eq!(repo.resolve("main~1")?, ids[0]);
//! assert_eq!(repo.path(&ids[1])?, [ids[1], ids[0]]);
//! assert_eq!(repo.entry(&ids[0])?.body.get("role"), Some(&"user".into()));
//! # Ok(())
//! # }
//! ```
//!
//! A branch costs one ref, wherever it begins:
//!
//! ```
//! # use sapwood::codec::json;
//! # use sapwood::{Durability, Repo, session, walk};
//! # fn main() -> sapwood::Result<()> {
//! # let repo = Repo::in_memory();
//! let say = |pin: &session::Pin, text: &str| {
//!     let body = json::parse(text.as_bytes())?;
//!     session::append(&repo, pin, vec![body], Durability::Full, 0)
//! };
//! let main = session::pin(&repo, Some("s1"), Some("main"), 0, "me")?;
//! say(&main, r#"{"content": "which colour?"}"#)?;
//! let idea = session::pin(&repo, Some("s1"), Some("idea"), 0, "me")?;
//! say(&idea, r#"{"content": "green"}"#)?;
//! say(&main, r#"{"content": "blue"}"#)?;
//!
//! let (main, idea) = (repo.resolve("main")?, repo.resolve("idea")?);
//! assert_eq!(repo.merge_bases(&main, &idea)?, [repo.resolve("msg:1")?]);
//! assert_eq!(session::transcript(&*repo.snapshot()?, "s1")?.len(), 3);
//! # Ok(())
//! # }
//! ```
//!
//! Objects and refs by hand, in one transaction:
//!
//! ```
//! use sapwood::object::Object;
//! use sapwood::store::{Expected, RefName, RefValue};
//! use sapwood::{Durability, Repo};
//!
//! # fn main() -> sapwood::Result<()> {
//! let repo = Repo::in_memory();
//! let mut transaction = repo.transaction();
//! let id = transaction.put(&Object::Blob(b"hello".to_vec()))?;
//! let name = RefName::new("notes/first")?;
//! transaction.update(name, Expected::Missing, Some(RefValue::Id(id)));
//! transaction.commit(Durability::Full)?;
//!
//! assert_eq!(repo.resolve("notes/first")?, id);
//! assert_eq!(repo.resolve(&id.short(8))?, id);
//! # Ok(())
//! # }
//! ```
//!
//! # Sessions and memory
//!
//! Going back to where a branch began, with what was learned meanwhile, and what a model then sees:
//!
//! ```
//! use sapwood::ops::{self, BranchOptions, ContextOptions, Goal, SwitchOptions, Target};
//! use sapwood::session::{self, Draft, View};
//! use sapwood::store::Operation;
//! use sapwood::{Durability, Repo, memory};
//!
//! # fn main() -> sapwood::Result<()> {
//! let repo = Repo::in_memory();
//! let say = |branch: &str, role: &str, text: &str| {
//!     let pin = session::pin(&repo, Some("s1"), Some(branch), 0, "me")?;
//!     session::append(&repo, &pin, vec![Draft::message(role, text).body], Durability::Full, 0)
//! };
//! let by_me = |command: &str| Operation {
//!     time: 1_700_000_000_000,
//!     actor: "me".to_owned(),
//!     command: command.to_owned(),
//! };
//!
//! say("main", "user", "How do I make lookups fast?")?;
//! let idea = BranchOptions { name: "idea".to_owned(), ..BranchOptions::default() };
//! let there = SwitchOptions::to(Target::default(), Goal::New(Box::new(idea)));
//! ops::switch(&repo, &there, &by_me("switch -c idea"))?;
//! say("idea", "assistant", "Memoize them.")?;
//!
//! let back = SwitchOptions {
//!     facts: vec![memory::fact_from_text("speed=2x")],
//!     ..SwitchOptions::to(Target::default(), Goal::Revision("main".to_owned()))
//! };
//! ops::switch(&repo, &back, &by_me("switch main --fact speed=2x"))?;
//!
//! let snapshot = repo.snapshot()?;
//! let view = View::of(&*snapshot, "s1")?;
//! let known = |branch| memory::resolve(&*snapshot, session::memory_of(&view, branch)?);
//! assert_eq!(known("idea")?[0].sentence(), "speed: 2x");
//! assert!(known("main")?.is_empty(), "it was learned elsewhere");
//! let context = ops::context(&*snapshot, &ContextOptions::default())?;
//! assert_eq!(context.to_markdown(), "## User\n\nHow do I make lookups fast?\n");
//! assert_eq!(session::transcript(&*snapshot, "s1")?.len(), 3, "nothing is lost");
//! # Ok(())
//! # }
//! ```
//!
//! # Layers
//!
//! A module uses only those before it: [`error`], [`id`], [`time`]; [`codec`], [`object`];
//! [`disk`]; [`store`]; [`walk`]; [`repo`]; [`session`]; [`memory`]; [`dialect`]; [`ops`]. The
//! library never prints, prompts, or reads the environment.

pub mod codec;
pub mod dialect;
pub mod disk;
pub mod error;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod id;
pub mod memory;
pub mod object;
pub mod ops;
pub mod repo;
pub mod session;
mod slots;
pub mod store;
mod threads;
pub mod time;
pub mod walk;

pub use error::{Error, Result};
pub use id::{Id, Kind};
pub use object::Object;
pub use repo::{Place, Repo};
pub use store::{Durability, Snapshot, Store};
