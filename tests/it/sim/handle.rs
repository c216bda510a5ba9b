//! An open file of a simulated disk.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicU64, Ordering};

use sapwood::disk::DiskFile;

use super::SimDisk;
use super::faults::{Fault, Op};
use super::files::{Change, NodeId};

/// A handle; it keeps its file, named or not, and gives its lock back at the end.
#[derive(Debug)]
pub(super) struct SimFile {
    disk: SimDisk,
    node: NodeId,
    handle: u64,
    is_writable: bool,
    sync_failures_seen: AtomicU64,
}

impl SimFile {
    /// Opens a file; failures of syncs before now are not its own.
    pub(super) fn new(
        disk: &SimDisk,
        node: NodeId,
        handle: u64,
        is_writable: bool,
        sync_failures: u64,
    ) -> SimFile {
        SimFile {
            disk: disk.clone(),
            node,
            handle,
            is_writable,
            sync_failures_seen: AtomicU64::new(sync_failures),
        }
    }

    fn check_mode(&self) -> io::Result<()> {
        if !self.is_writable {
            return Err(ErrorKind::PermissionDenied.into());
        }
        Ok(())
    }
}

impl DiskFile for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.state();
        state.begin_file(Op::Read, self.node)?;
        let content = &state.files.file(self.node).content;
        let rest = content.get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.state();
        let fault = state.begin_file(Op::Write, self.node)?;
        self.check_mode()?;
        let mut count = bytes.len() as u64;
        match fault {
            Some(Fault::Crash) => count = state.random.below(count + 1),
            Some(_) if count > 1 => count = 1 + state.random.below(count - 1),
            _ => {}
        }
        let now = state.files.file(self.node).content.len() as u64;
        let end_max = now.saturating_add(state.free_bytes());
        let fits = count.min(end_max.saturating_sub(offset));
        if fits > 0 {
            let bytes = bytes[..fits as usize].into();
            state.files.file(self.node).change(Change::Write { offset, bytes });
        }
        match fault {
            Some(Fault::Crash) => Err(Fault::Crash.error()),
            _ if fits == 0 && count > 0 => Err(Fault::Enospc.error()),
            _ => Ok(fits as usize),
        }
    }

    fn len(&self) -> io::Result<u64> {
        let mut state = self.disk.state();
        state.begin_file(Op::Read, self.node)?;
        Ok(state.files.file(self.node).content.len() as u64)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.begin_file(Op::SetLen, self.node)?;
        self.check_mode()?;
        let now = state.files.file(self.node).content.len() as u64;
        if bytes.saturating_sub(now) > state.free_bytes() {
            return Err(Fault::Enospc.error());
        }
        state.files.file(self.node).change(Change::SetLen(bytes));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        let fault = state.begin_file(Op::SyncData, self.node)?;
        let file = state.files.file(self.node);
        match fault {
            Some(fault) => file.fail_sync(fault),
            None => file.sync(),
        }
        let seen = self.sync_failures_seen.swap(file.sync_failures, Ordering::Relaxed);
        match file.sync_fault {
            Some(fault) if seen < file.sync_failures => Err(fault.error()),
            _ => Ok(()),
        }
    }

    fn try_lock(&self) -> io::Result<bool> {
        let mut state = self.disk.state();
        state.faults.check()?;
        let lock = &mut state.files.file(self.node).lock;
        Ok(*lock.get_or_insert(self.handle) == self.handle)
    }

    fn unlock(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        state.faults.check()?;
        state.files.file(self.node).lock.take_if(|handle| *handle == self.handle);
        Ok(())
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        state.files.file(self.node).lock.take_if(|handle| *handle == self.handle);
    }
}
