//! What a walk asks of a pack, answered by its graph.
//!
//! The stored graph is asked first. If it is missing or damaged or contradicts itself, one is made
//! from the objects, once, in memory, and nobody above notices but by the time it takes.
//!
//! Invariant: a walk always ends. Along first parents the depth goes down by one at each step, or,
//! where it is not known, no more steps are taken than there are rows.

use std::path::PathBuf;
use std::sync::Arc;

use super::super::graph::{GRAPH_MAGIC, GRAPH_VERSION, Graph, GraphBuilder, Order, Parent};
use super::super::paged::PagedWriter;
use super::{Pack, PackFile};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object;
use crate::store::Topology;

/// Where a path within a pack ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathEnd {
    /// At an object without parents.
    Root,
    /// At the limit.
    Limit,
    /// At this parent, which is not in the pack and not in the result.
    Outside(Id),
}

impl PathEnd {
    /// Gives the parent outside the pack where the path goes on, if it does.
    pub(crate) fn outside(self) -> Option<Id> {
        match self {
            PathEnd::Outside(parent) => Some(parent),
            PathEnd::Root | PathEnd::Limit => None,
        }
    }
}

/// How many first parents lie before an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// This many.
    Known(u64),
    /// This many more than lie before an object outside the pack.
    Beyond {
        /// How many steps it is to that object.
        steps: u64,
        /// That object.
        parent: Id,
    },
}

impl Pack {
    /// Gives an object's place in the history.
    ///
    /// `depth_of` is asked for an object outside the pack where the graph does not know the depth,
    /// which is so when it was missing or damaged.
    pub(crate) fn topology(
        &self,
        row: u32,
        depth_of: &mut dyn FnMut(&Id) -> Result<Option<u64>>,
    ) -> Result<Topology> {
        let mut topology = self.outline(row)?;
        topology.depth = match self.depth(row)? {
            Depth::Known(depth) => depth,
            Depth::Beyond { steps, parent } => depth_of(&parent)?
                .and_then(|depth| depth.checked_add(steps))
                .ok_or(Error::ObjectMissing { id: parent })?,
        };
        Ok(topology)
    }

    /// Gives an object's place in the history but for its depth, which is left at zero.
    pub(crate) fn outline(&self, row: u32) -> Result<Topology> {
        self.with_graph(row, |graph| self.outline_by(graph, row))
    }

    pub(super) fn outline_by(&self, graph: &Graph, row: u32) -> Result<Topology> {
        let said = graph.row(row)?;
        let further = graph.further(row, &said)?;
        let mut parents = Vec::with_capacity(1 + further.len());
        for parent in std::iter::once(said.first).chain(further) {
            match parent {
                Parent::None => {}
                Parent::Row(row) => parents.push(self.index.id(row)?),
                Parent::Outside(place) => parents.push(graph.outside(place)?),
            }
        }
        Ok(Topology {
            kind: said.kind,
            label: self.label_by(graph, row, said.label)?,
            parents,
            time: said.time,
            depth: 0,
        })
    }

    /// Gives an object's label.
    pub(crate) fn label(&self, row: u32) -> Result<Arc<str>> {
        self.with_graph(row, |graph| self.label_by(graph, row, graph.row(row)?.label))
    }

    fn label_by(&self, graph: &Graph, row: u32, number: Option<u16>) -> Result<Arc<str>> {
        match number {
            Some(number) => graph.label(number),
            None => Ok(Arc::from(self.decode(row)?.label)),
        }
    }

    /// Gives how many first parents lie before an object.
    pub(crate) fn depth(&self, row: u32) -> Result<Depth> {
        self.with_graph(row, |graph| self.depth_by(graph, row))
    }

    pub(super) fn depth_by(&self, graph: &Graph, mut row: u32) -> Result<Depth> {
        for steps in 0..u64::from(self.len()) {
            let (parent, depth) = graph.step(row)?;
            if let Some(depth) = depth {
                return Ok(Depth::Known(u64::from(depth) + steps));
            }
            match parent {
                Parent::None => return Ok(Depth::Known(steps)),
                Parent::Row(next) => row = next,
                Parent::Outside(place) => {
                    return Ok(Depth::Beyond { steps: steps + 1, parent: graph.outside(place)? });
                }
            }
        }
        Err(graph.damaged(row, "a circle of parents"))
    }

    /// Follows first parents within the pack from a row (included), and gives up to `limit` rows.
    pub(crate) fn path(&self, row: u32, limit: usize) -> Result<(Vec<u32>, PathEnd)> {
        self.with_graph(row, |graph| {
            let mut rows = Vec::new();
            let end = self.follow(graph, row, limit, &mut rows)?;
            Ok((rows, end))
        })
    }

    fn follow(
        &self,
        graph: &Graph,
        mut row: u32,
        limit: usize,
        rows: &mut Vec<u32>,
    ) -> Result<PathEnd> {
        if limit == 0 {
            return Ok(PathEnd::Limit);
        }
        let mut expected = None;
        for count in 1..=u64::from(self.len()) {
            let (parent, depth) = graph.step(row)?;
            if expected.is_some_and(|expected| depth != Some(expected)) {
                return Err(graph.damaged(row, "a depth that is not its child's less one"));
            }
            rows.push(row);
            match parent {
                Parent::None => return Ok(PathEnd::Root),
                _ if count >= limit as u64 => return Ok(PathEnd::Limit),
                Parent::Outside(place) => return Ok(PathEnd::Outside(graph.outside(place)?)),
                Parent::Row(next) => row = next,
            }
            expected = match depth {
                Some(0) => return Err(graph.damaged(row, "a root with a parent")),
                Some(depth) => Some(depth - 1),
                None => None,
            };
        }
        Err(graph.damaged(row, "a circle of parents"))
    }

    /// Asks the stored graph, or the one made in memory if that has no answer.
    fn with_graph<T>(&self, row: u32, mut ask: impl FnMut(&Graph) -> Result<T>) -> Result<T> {
        if self.rebuilt_graph.get().is_none()
            && let Some(graph) = self.stored_graph()
        {
            match ask(graph) {
                Err(Error::Corrupt { path, .. }) if path == graph.path() => {}
                answer => return answer,
            }
        }
        let graph = match self.rebuilt_graph.get() {
            Some(graph) => graph,
            None => {
                let graph = self.rebuild_graph()?;
                self.rebuilt_graph.get_or_init(|| graph)
            }
        };
        match ask(graph) {
            // The row's own object says best what is wrong with it.
            Err(error) => Err(self.decode(row).err().unwrap_or(error)),
            answer => answer,
        }
    }

    fn stored_graph(&self) -> Option<&Graph> {
        let graph = self.stored_graph.get_or_init(|| {
            Graph::open(self.disk.as_ref(), &self.graph_path(), &self.info.id, self.len()).ok()
        });
        graph.as_ref()
    }

    /// Makes the graph from the objects; those that can't be read are marked so.
    pub(super) fn rebuild_graph(&self) -> Result<Graph> {
        let payload = self.graph_payload(&mut |_| Ok(None))?;
        Graph::from_memory(&self.graph_path(), payload, &self.info.id, self.len())
    }

    /// Says whether the stored graph does not open, or is damaged where this handle had to do
    /// without it.
    pub(crate) fn needs_graph(&self) -> bool {
        let stored = Graph::open(self.disk.as_ref(), &self.graph_path(), &self.info.id, self.len());
        match stored {
            Ok(stored) => self.rebuilt_graph.get().is_some() && stored.check().is_err(),
            Err(_) => true,
        }
    }

    /// Writes the graph anew from the objects, durably, for maintenance.
    ///
    /// A crash leaves the old file or the new one. This handle goes on with what it has.
    pub(crate) fn heal_graph(
        &self,
        depth_of: &mut dyn FnMut(&Id) -> Result<Option<u64>>,
    ) -> Result<()> {
        let path = self.graph_path();
        let mut writer = PagedWriter::create(Arc::clone(&self.disk), &path)?;
        writer.write(&self.graph_payload(depth_of)?)?;
        writer.finish(GRAPH_MAGIC, GRAPH_VERSION, &path)?;
        let synced = self.disk.sync_dir(&self.dir);
        synced.map_err(Error::io("sync", &self.dir))
    }

    fn graph_payload(
        &self,
        depth_of: &mut dyn FnMut(&Id) -> Result<Option<u64>>,
    ) -> Result<Vec<u8>> {
        let mut builder = GraphBuilder::default();
        let mut order = vec![0u32; self.len() as usize];
        let mut added = 0;
        for block in 0..self.blocks() {
            let raw = self.load(block);
            for row in self.block_rows(block)? {
                let outline = raw.as_ref().ok().and_then(|raw| {
                    let span = self.span(raw, *row, &self.index.position(*row).ok()?).ok()?;
                    let outline = object::outline(span.kind, &raw[span.content]).ok()?;
                    Some((span.kind, outline))
                });
                match outline {
                    Some((kind, said)) => {
                        let unknown = |_: &Id| None;
                        builder.add(kind, &said.label, said.time, &said.parents, &unknown)?;
                    }
                    None => builder.add_unreadable(),
                }
                order[*row as usize] = added;
                added += 1;
            }
        }
        let order = Order { numbers: &order, rows: &[] };
        let mut payload = Vec::new();
        builder.build(&self.info.id, &order, &mut |id| self.find(id), depth_of, &mut |bytes| {
            payload.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(payload)
    }

    pub(super) fn graph_path(&self) -> PathBuf {
        PackFile::Graph.path(&self.dir, &self.info.id)
    }

    /// Visits the outside parents of rows whose depth the stored graph gives, each with that depth.
    pub(crate) fn depths_beyond(&self, visit: &mut dyn FnMut(&Id, u32)) -> Result<()> {
        let path = self.graph_path();
        let stored = Graph::open(self.disk.as_ref(), &path, &self.info.id, self.len())?;
        for row in 0..self.len() {
            if let (Parent::Outside(place), Some(depth)) = stored.step(row)? {
                visit(&stored.outside(place)?, depth);
            }
        }
        Ok(())
    }

    fn decode(&self, row: u32) -> Result<object::Outline> {
        let position = self.index.position(row)?;
        let raw = self.load(position.block)?;
        let span = self.span(&raw, row, &position)?;
        object::outline(span.kind, &raw[span.content])
    }
}
