//! Damage to every file but the journal.

use super::*;
use Severity::{Error as Bad, Notice, Warning};

/// The damage and what it gives.
pub(super) const CASES: &[Case] = &[
    Case {
        name: "format",
        damage: |world| flip(&world.layout.format(), |_| 0),
        expected: &[("format-damaged", Bad)],
    },
    Case {
        name: "manifest flipped: the rest is checked all the same",
        damage: |world| flip(&world.layout.current(), |bytes| bytes / 2),
        expected: &[("manifest-damaged", Bad)],
    },
    Case {
        name: "manifest missing, and a loose file damaged",
        damage: |world| {
            fs::remove_file(world.layout.current()).unwrap();
            flip(&world.layout.loose(&large().id), |bytes| bytes / 2);
        },
        expected: &[("file-missing", Bad), ("loose-damaged", Bad)],
    },
    Case {
        name: "manifest of an older time",
        damage: |world| {
            let mark = DurableMark::open(&OsDisk, world.layout.synced()).unwrap();
            let position = Position { sequence: 99, offset: 64 };
            mark.set(position).unwrap();
        },
        expected: &[("manifest-behind", Bad)],
    },
    Case {
        name: "pack",
        damage: |world| flip(&world.pack_file("pack"), |bytes| bytes / 2),
        expected: &[("pack-damaged", Bad)],
    },
    Case {
        name: "pack cut",
        damage: |world| {
            let path = world.pack_file("pack");
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        },
        expected: &[("pack-damaged", Bad)],
    },
    Case {
        name: "pack missing",
        damage: |world| fs::remove_file(world.pack_file("pack")).unwrap(),
        expected: &[("file-missing", Bad)],
    },
    Case {
        name: "index",
        damage: |world| flip(&world.pack_file("idx"), |bytes| bytes / 2),
        expected: &[("index-damaged", Bad)],
    },
    Case {
        name: "index missing",
        damage: |world| fs::remove_file(world.pack_file("idx")).unwrap(),
        expected: &[("file-missing", Bad)],
    },
    Case {
        name: "graph",
        damage: |world| flip(&world.pack_file("graph"), |_| 70),
        expected: &[("graph-damaged", Warning)],
    },
    Case {
        name: "graph missing",
        damage: |world| fs::remove_file(world.pack_file("graph")).unwrap(),
        expected: &[("graph-missing", Warning)],
    },
    Case {
        name: "graph with the wrong depth of a parent in another pack",
        damage: |world| {
            let dir = world.layout.pack_dir();
            let info = world.manifest().packs[1];
            let pack = Pack::open_checked(Arc::new(OsDisk), &dir, &info).unwrap();
            pack.heal_graph(&mut |_| Ok(Some(99))).unwrap();
        },
        expected: &[("graph-damaged", Warning)],
    },
    Case {
        name: "loose file",
        damage: |world| flip(&world.layout.loose(&large().id), |bytes| bytes / 2),
        expected: &[("loose-damaged", Bad)],
    },
    Case {
        name: "loose file under another name",
        damage: |world| {
            let loose = Loose::new(Arc::new(OsDisk), world.layout.clone());
            let other = NewObject::blob(b"other".to_vec()).unwrap();
            loose.put(&other.id, other.kind, &other.content).unwrap();
            let wrong = world.layout.loose(&Id::from_bytes([0xab; 32]));
            fs::create_dir_all(wrong.parent().unwrap()).unwrap();
            fs::rename(world.layout.loose(&other.id), wrong).unwrap();
        },
        expected: &[("loose-damaged", Bad)],
    },
    Case {
        name: "loose file missing",
        damage: |world| fs::remove_file(world.layout.loose(&large().id)).unwrap(),
        expected: &[("dangling-link", Bad)],
    },
    Case {
        name: "refs snapshot",
        damage: |world| {
            let number = world.manifest().refs.unwrap().number;
            flip(&world.layout.packed_refs(number), |_| 3);
        },
        expected: &[("refs-damaged", Bad)],
    },
    Case {
        name: "refs snapshot out of order",
        damage: |world| {
            let number = world.manifest().refs.unwrap().number;
            let path = world.layout.packed_refs(number);
            let head = RefValue::Symbolic(RefName::head());
            let refs = [(branch("zoo"), head.clone()), (branch("ant"), head)];
            let pairs = refs.iter().map(|(name, value)| (name, value));
            let disk: Arc<dyn Disk> = Arc::new(OsDisk);
            let bytes = PackedRefs::write(&disk, &path, pairs).unwrap();
            world.publish(|manifest| manifest.refs.as_mut().unwrap().bytes = bytes);
        },
        expected: &[("refs-damaged", Bad)],
    },
    Case {
        name: "operations",
        damage: |world| {
            let number = world.manifest().logs[0].file.number;
            flip(&world.layout.log(number), |_| 20);
        },
        expected: &[("log-damaged", Bad)],
    },
    Case {
        name: "operations missing",
        damage: |world| {
            let number = world.manifest().logs[0].file.number;
            fs::remove_file(world.layout.log(number)).unwrap();
        },
        expected: &[("file-missing", Bad)],
    },
    Case {
        name: "other operations than the manifest says",
        damage: |world| world.publish(|manifest| manifest.logs[0].operations += 1),
        expected: &[("log-damaged", Bad)],
    },
    Case {
        name: "an operation on what is not there",
        damage: |world| {
            let path = world.layout.log(world.manifest().logs[0].file.number);
            let operation =
                Operation { time: 1, actor: "test".to_owned(), command: "lose".to_owned() };
            let moved = RefMove {
                name: branch("main"),
                old: None,
                new: Some(RefValue::Id(Id::from_bytes([7; 32]))),
            };
            let disk: Arc<dyn Disk> = Arc::new(OsDisk);
            let bytes = OperationLog::write(&disk, &path, &[(operation, vec![moved])]).unwrap();
            world.publish(|manifest| {
                manifest.logs[0].file.bytes = bytes;
                manifest.logs[0].operations = 1;
            });
        },
        expected: &[("dangling-operation", Notice)],
    },
    Case {
        name: "strangers and leftovers",
        damage: |world| {
            let layout = &world.layout;
            for dir in [
                layout.root().to_owned(),
                layout.objects_dir(),
                layout.pack_dir(),
                layout.journal_dir(),
                layout.logs_dir(),
            ] {
                fs::write(dir.join("stranger"), "?").unwrap();
                fs::write(dir.join("x.0123456789abcdef.tmp"), "?").unwrap();
            }
            fs::write(layout.refs_dir().join("HEAD.0123456789abcdef.tmp"), "?").unwrap();
            fs::write(layout.refs_dir().join("packed-0000000000000001"), "?").unwrap();
            fs::write(layout.spare(), [0; 4096]).unwrap();
        },
        expected: &[("leftover", Notice), ("unnamed-file", Notice)],
    },
    Case {
        name: "mirror stale",
        damage: |world| fs::write(world.layout.refs_dir().join("HEAD"), "ref: x\n").unwrap(),
        expected: &[("mirror-stale", Warning)],
    },
    Case {
        name: "mirror missing",
        damage: |world| fs::remove_file(world.layout.refs_dir().join("HEAD")).unwrap(),
        expected: &[("mirror-missing", Warning)],
    },
    Case {
        name: "mirror of no ref",
        damage: |world| {
            let path = world.layout.refs_dir().join("sessions/s/heads/nobody");
            fs::write(path, "?\n").unwrap();
        },
        expected: &[("mirror-stray", Warning)],
    },
    Case {
        name: "mirror with a line of no ref",
        damage: |world| {
            let path = state_with_a_tip(world);
            let (tip, none) = (entry("hello", vec![], &[]).id, format!("{:64}", "-"));
            let text = fs::read_to_string(&path).unwrap();
            fs::write(path, text.replacen(&none, &tip.to_string(), 1)).unwrap();
        },
        expected: &[("mirror-stale", Warning)],
    },
    Case {
        name: "mirror without its line",
        damage: |world| fs::write(state_with_a_tip(world), "").unwrap(),
        expected: &[("mirror-missing", Warning)],
    },
    Case {
        name: "mirror file of before there were lines",
        damage: |world| {
            let path = state_with_a_tip(world);
            let tip = format!("{}\n", entry("hello", vec![], &[]).id);
            fs::write(path.with_file_name("tip"), tip).unwrap();
            fs::remove_file(path).unwrap();
        },
        expected: &[],
    },
    Case {
        name: "mirror file of before, beside the line",
        damage: |world| {
            let path = state_with_a_tip(world);
            fs::write(path.with_file_name("tip"), "?\n").unwrap();
        },
        expected: &[("mirror-stray", Warning)],
    },
];

/// Gives a session a `tip`, and the file that has a line for it.
fn state_with_a_tip(world: &World) -> PathBuf {
    let tip = RefValue::Id(entry("hello", vec![], &[]).id);
    world.force(&[], &[("sessions/s/tip", tip)]);
    world.layout.refs_dir().join("sessions/s/state")
}
