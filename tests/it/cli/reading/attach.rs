//! `attach` and `attachments`.

use super::*;

#[test]
fn files_are_kept_by_name_and_stored_once() {
    let (sandbox, _) = forked();
    std::fs::write(sandbox.join("face.png"), [0xff, 0, 7]).unwrap();
    std::fs::write(sandbox.join("large"), vec![1; 300 << 10]).unwrap();
    let blob = sandbox.ok(&["attach", "face.png", "face.png", "--card", "node"]);
    assert_eq!(sandbox.feed_ok(&["attach", "again", "-"], [0xff, 0, 7]), blob);
    let large = sandbox.ok(&["attach", "large", "large"]);
    assert_eq!(
        sandbox.ok(&["attachments"]),
        format!(
            "{0}      3 bytes again\n{0}      3 bytes face.png\n{1}   300.00 KiB large",
            &blob[..8],
            &large[..8]
        )
    );
    assert_eq!(sandbox.ok(&["cat-file", "-s", "attachments/large"]), (300 << 10).to_string());
    assert_eq!(sandbox.ok(&["rev-parse", "attachments/face.png"]), blob);
    let card = sandbox.ok(&["show", "records/node"]);
    assert!(card.contains(&format!(r#"card={{"attachments":{{"face.png":"{blob}"}}}}"#)), "{card}");
    assert!(sandbox.ok(&["transcript"]).contains(" attach name=face.png blob="));

    sandbox.ok(&["attach", "-d", "again"]);
    assert!(!sandbox.ok(&["attachments"]).contains("again"));
    let json = sandbox.ok(&["attach", "-d", "large", "--json"]);
    assert_eq!(
        json,
        format!(r#"{{"v":1,"session":"s1","name":"large","was":"{large}","blob":null}}"#)
    );
    insta::assert_snapshot!(sandbox.fails(3, &["attach", "-d", "again"]), @r"
    error: there is no attachment 'again'
    hint: 'sapwood attachments' lists those there are
    ");
    sandbox.fails(7, &["attach", "x", "nowhere"]);
    sandbox.fails(1, &["attach", "x", "face.png", "--card", "nowhere"]);
    sandbox.fails(3, &["attach", "a..b", "face.png"]);
    sandbox.fails(2, &["attach", "x"]);
}
