//! What goes under the writer lock, and what when it is free.

use std::io;
use std::path::Path;
use std::sync::Mutex;

use super::*;
use crate::disk::{Disk, OpenMode, OverOs};

/// A disk that notes what is removed, and whether anybody has the writer lock then.
#[derive(Debug)]
struct Watched {
    lock: PathBuf,
    removed: Mutex<Vec<(PathBuf, bool)>>,
}

impl OverOs for Watched {
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let is_locked = !OsDisk.open(&self.lock, OpenMode::OpenOrCreate)?.try_lock()?;
        OsDisk.remove(path)?;
        self.removed.lock().unwrap().push((path.to_owned(), is_locked));
        Ok(())
    }
}

#[test]
fn writers_wait_only_for_what_they_may_name_next() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(dir.path());
    let disk = Arc::new(Watched { lock: layout.lock(), removed: Mutex::default() });
    let options = Options { background: false, ..Options::default() };
    let store = LocalStore::init(Arc::clone(&disk) as _, dir.path(), options).unwrap().0;
    let transaction = Transaction { objects: objects(1).to_vec(), ..Transaction::default() };
    store.commit(Durability::Full, &mut |_| Ok(transaction.clone())).unwrap();
    let sealed = layout.segment(store.inner.state().open_segment().sequence);
    store.inner.close_journal().unwrap();
    store.inner.seal(PackOptions::default()).unwrap();

    let (next, beside) = (layout.segment(99), dir.path().join("current.0123456789abcdef.tmp"));
    let (pack, log) = (layout.pack_dir().join("pack-old.pack"), layout.log(99));
    let left = [&next, &beside, &pack, &log, &layout.packed_refs(99)];
    left.iter().for_each(|path| std::fs::write(path, "x").unwrap());
    disk.removed.lock().unwrap().clear();
    store.inner.sweep().unwrap();
    let removed: HashSet<_> = disk.removed.lock().unwrap().drain(..).collect();
    let locked = [next, beside].map(|path| (path, true));
    let free = [sealed, pack, log, layout.packed_refs(99)].map(|path| (path, false));
    assert_eq!(removed, locked.into_iter().chain(free).collect());
}
