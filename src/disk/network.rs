//! Which file systems are on another machine.

use std::path::Path;

/// Says of most paths, with one call, that they are on a disk of this machine. Where it says no,
/// the list of mounts is to be asked.
#[cfg(target_os = "linux")]
pub(super) fn is_surely_local(path: &Path) -> bool {
    /// ext2 to ext4, XFS, Btrfs, tmpfs, overlayfs, ZFS, F2FS.
    const LOCAL: [u32; 7] =
        [0x0000_ef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1, 0xf2f5_2010];
    rustix::fs::statfs(path).is_ok_and(|found| LOCAL.contains(&(found.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_surely_local(_: &Path) -> bool {
    false
}

/// Finds the mount that a path is on and names its type if that is a network file system.
pub(super) fn network_mount(mounts: &str, path: &Path) -> Option<String> {
    const NETWORK: &[&str] = &[
        "9p",
        "afs",
        "ceph",
        "cifs",
        "fuse.glusterfs",
        "fuse.sshfs",
        "glusterfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "smb3",
        "smbfs",
    ];
    let mut best: Option<(usize, &str)> = None;
    for line in mounts.lines() {
        let (Some(mount), Some((_, rest))) = (line.split(' ').nth(4), line.split_once(" - "))
        else {
            continue;
        };
        let mount = mount.replace("\\040", " ");
        let depth = Path::new(&mount).components().count();
        if path.starts_with(&mount) && best.is_none_or(|(known, _)| depth >= known) {
            best = Some((depth, rest.split(' ').next().unwrap_or_default()));
        }
    }
    best.map(|(_, kind)| kind).filter(|kind| NETWORK.contains(kind)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_mount_decides_whether_a_path_is_on_a_network() {
        let mounts = "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
                      40 22 0:5 / /srv/my\\040share rw shared:1 - nfs4 host:/x rw\n\
                      41 40 8:2 / /srv/my\\040share/local rw - xfs /dev/sdb rw\n";
        let kind = |path: &str| network_mount(mounts, Path::new(path));
        assert_eq!(kind("/home/a"), None);
        assert_eq!(kind("/srv/my share/a"), Some("nfs4".to_owned()));
        assert_eq!(kind("/srv/my share/local/a"), None);
    }
}
