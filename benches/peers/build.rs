//! Refuses to measure a SQLite that was built without `fdatasync`: it would look slower than it is.

fn main() {
    println!("cargo:rerun-if-env-changed=LIBSQLITE3_FLAGS");
    let flags = std::env::var("LIBSQLITE3_FLAGS").unwrap_or_default();
    assert!(
        flags.contains("-DHAVE_FDATASYNC=1"),
        "LIBSQLITE3_FLAGS lacks -DHAVE_FDATASYNC=1: run cargo from within the project, \
         where .cargo/config.toml sets it"
    );
}
