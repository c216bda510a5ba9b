//! Which store is found, and when one is made.

use super::*;

#[test]
fn init_makes_a_store_once() {
    let sandbox = Sandbox::new();
    let root = sandbox.path().display().to_string();
    let say = |args: &[&str]| sandbox.ok(args).replace(&root, "ROOT");
    assert_eq!(say(&["init"]), "Initialized empty sapwood store in ROOT/.sapwood/");
    assert_eq!(say(&["init"]), "Reinitialized existing sapwood store in ROOT/.sapwood/");
    assert_eq!(say(&["init", "a/b"]), "Initialized empty sapwood store in ROOT/a/b/.sapwood/");
    assert_eq!(say(&["--store", "c", "init"]), "Initialized empty sapwood store in ROOT/c/");
    assert_eq!(say(&["init", "-q", "d"]), "");
    insta::assert_snapshot!(
        say(&["init", "--json", "d"]),
        @r#"{"v":1,"path":"ROOT/d/.sapwood","existed":true}"#
    );
    sandbox.fails(2, &["--store", "c", "init", "d"]);
}

#[test]
fn the_nearest_store_upwards_is_used() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    std::fs::create_dir_all(sandbox.join("deep/er")).unwrap();
    assert_eq!(sandbox.ok(&["-C", "deep/er", "rev-list", "--count", "HEAD"]), "1");
    sandbox.ok(&["-C", "deep", "init", "-q"]);
    sandbox.fails(3, &["-C", "deep/er", "rev-list", "HEAD"]);
    assert_eq!(
        sandbox.ok(&["-C", "deep/er", "--store", "../..", "rev-list", "--count", "HEAD"]),
        "1"
    );
    sandbox.fails(7, &["-C", "nowhere", "rev-list", "HEAD"]);
}

#[test]
fn the_flag_comes_before_the_environment_and_that_before_the_directory() {
    let sandbox = Sandbox::with_store();
    for name in ["flag", "environment"] {
        sandbox.ok(&["--store", name, "init", "-q"]);
    }
    let run = |args: &[&str]| {
        let mut command = sandbox.command(args);
        finish(command.env("SAPWOOD_DIR", sandbox.join("environment")), b"{\"a\":1}\n").code
    };
    assert_eq!(run(&["append", "--stdin"]), 0);
    assert_eq!(run(&["--store", "flag", "rev-parse", "HEAD"]), 3);
    assert_eq!(run(&["rev-parse", "HEAD"]), 0);
    sandbox.fails(3, &["rev-parse", "HEAD"]);
}

#[test]
fn the_user_s_own_store_is_made_on_first_write_and_never_by_reading() {
    let sandbox = Sandbox::new();
    let err = sandbox.fails(3, &["rev-list", "HEAD"]);
    assert!(
        err.starts_with("error: no sapwood store at ") && err.contains("sapwood init"),
        "{err}"
    );
    sandbox.fails(3, &["update-ref", "-d", "x"]);
    assert!(!sandbox.join("home/.sapwood").exists());
    sandbox.feed_ok(&["append", "--stdin"], "{\"a\":1}\n");
    assert!(sandbox.join("home/.sapwood").exists() && !sandbox.join(".sapwood").exists());
    assert_eq!(sandbox.ok(&["rev-list", "--count", "HEAD"]), "1");
    sandbox.fails(3, &["--store", "elsewhere", "rev-list", "HEAD"]);
    let ran = sandbox.feed(&["--store", "elsewhere", "append", "--stdin"], "{\"a\":1}\n");
    assert_eq!(ran.code, 3);
}

#[test]
fn nothing_is_laid_out_over_the_remains_of_a_store() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    let current = sandbox.join(".sapwood/current");
    let manifest = std::fs::read(&current).unwrap();
    std::fs::remove_file(&current).unwrap();
    for args in [&["rev-parse", "main"][..], &["init"]] {
        let err = sandbox.fails(6, args);
        assert!(err.contains("current is damaged: it is missing"), "{err}");
    }
    std::fs::write(&current, manifest).unwrap();
    assert_eq!(sandbox.ok(&["rev-list", "--count", "main"]), "1");
}

#[test]
fn a_store_that_was_left_half_made_is_finished() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    std::fs::remove_file(sandbox.join(".sapwood/format")).unwrap();
    sandbox.fails(3, &["rev-parse", "main"]);
    sandbox.ok(&["init"]);
    assert_eq!(sandbox.ok(&["rev-list", "--count", "main"]), "1");
}

#[test]
fn a_store_that_cannot_be_opened_is_not_passed_over() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.join(".sapwood")).unwrap();
    let ran = sandbox.feed(&["append", "--stdin"], "{}\n");
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(!sandbox.join("home/.sapwood").exists(), "the message went elsewhere");
}
