//! Input as it really is: every file comes in, is told about, and comes back byte for byte.

use super::*;

fn long() -> bool {
    std::env::var_os("SAPWOOD_TORTURE").is_some()
}

/// Imports a file, expects these oddities, and gets it back; then once more when it has grown.
fn check(bytes: impl AsRef<[u8]>, expected: &[(&str, i64)]) -> Sandbox {
    let sandbox = Sandbox::new();
    let path = sandbox.join("x.jsonl");
    let bytes = bytes.as_ref();
    write(&path, bytes);
    let told = import(&sandbox, &["x.jsonl"]);
    assert_eq!(odds(&told[0]), expected);
    assert_exact(&sandbox, "x", &path);
    assert_sound(&sandbox);
    let before = objects(&sandbox);
    write(&path, bytes);
    assert!(import(&sandbox, &["x.jsonl"]).is_empty(), "nothing is new");
    assert_eq!(objects(&sandbox), before);
    write(&path, [bytes, b"\n", message("z", None, "the last").as_bytes()].concat());
    import(&sandbox, &["x.jsonl"]);
    assert_exact(&sandbox, "x", &path);
    assert_eq!(said(&sandbox, "x").last().unwrap(), "the last");
    assert_sound(&sandbox);
    sandbox
}

/// A file with two messages and something else between them.
fn between(middle: impl AsRef<[u8]>) -> Vec<u8> {
    let first = header("x") + &message("a1", None, "one");
    let last = message("a2", Some("a1"), "two");
    [first.as_bytes(), middle.as_ref(), last.as_bytes()].concat()
}

#[test]
fn torn_lines() {
    check(between("{\"type\":\"message\",\"id\":\"b\n"), &[("torn", 3)]);
    let half = "{\"type\":\"message\",\"id\":\"b1\",\"mess";
    let welded = half.to_owned() + &message("b1", Some("a1"), "whole");
    check(between(welded), &[("torn", 3), ("welded", 3)]);
}

#[test]
fn torn_ends() {
    let whole = between("");
    for end in [whole.len() - 30, whole.len() - 2] {
        check(&whole[..end], &[("torn at the end", 3)]);
    }
    let long = "{\"type\":\"message\",\"text\":\"".to_owned() + &"x".repeat(5000);
    check(
        between("").iter().copied().chain(long.bytes()).collect::<Vec<u8>>(),
        &[("torn at the end", 4)],
    );
}

#[test]
fn welded_lines() {
    let welded = message("b1", Some("a1"), "x").trim_end().to_owned();
    let three = [welded.clone() + &welded + &welded, "\n".to_owned()].concat();
    check(between(three), &[("welded", 3), ("welded", 3), ("welded", 3)]);
    let apart = welded.clone() + " \t " + &welded + "  \n";
    check(between(apart), &[("welded", 3), ("welded", 3)]);
}

#[test]
fn blank_lines_and_spaces() {
    check(between("\n\n   \n\t\n \r\n"), &[]);
    check([b"\n\n  \n".to_vec(), between("")].concat(), &[]);
    check([between(""), b"\n\n  ".to_vec()].concat(), &[]);
}

#[test]
fn blanks_that_are_none_in_json() {
    check(between("\u{c}\n\u{a0} \u{85}\n"), &[("not JSON", 3), ("not JSON", 4)]);
}

#[test]
fn carriage_returns() {
    let text = String::from_utf8(between("")).unwrap().replace('\n', "\r\n");
    check(&text, &[]);
    check(text.trim_end(), &[]);
    // Some lines only.
    check(text.replacen("\r\n", "\n", 1), &[]);
}

#[test]
fn byte_order_marks() {
    check([b"\xef\xbb\xbf".to_vec(), between("")].concat(), &[]);
    check(between("\u{feff}"), &[]);
}

#[test]
fn no_json() {
    check(between("Segmentation fault (core dumped)\n"), &[("not JSON", 3)]);
    check(
        between("[1,2,3]\n\"text\"\n17\nnull\n"),
        &[("not JSON", 3), ("not JSON", 4), ("not JSON", 5), ("not JSON", 6)],
    );
}

#[test]
fn invalid_utf_8() {
    check(between(b"{\"type\":\"message\",\"text\":\"\xff\xfe\"}\n"), &[("not UTF-8", 3)]);
    // A character that was cut in the middle, at the end of the file; short and long.
    for count in [10, 3000] {
        let cut = [between(""), b"{\"text\":\"".to_vec(), vec![b'x'; count], vec![0xc3]].concat();
        check(cut, &[("torn at the end", 4)]);
    }
}

#[test]
fn nul_bytes() {
    check(between(b"\0\0\0\0\n"), &[("not JSON", 3)]);
    // A file whose end was never written, as after a loss of power.
    check([between(""), vec![0; 4096]].concat(), &[("torn at the end", 4)]);
}

#[test]
fn numbers_beyond_64_bits_and_in_any_form() {
    let mut numbers = String::from("{\"type\":\"custom\",\"id\":\"n\",\"parentId\":\"a1\",\"n\":[");
    numbers += "123456789012345678901234567890,-9223372036854775809,1e5,1E+05,1.0,1.50,-0,-0.0,";
    numbers += "0.1e-7,1e400,18446744073709551615,3.141592653589793238462643383279]}\n";
    check(between(numbers), &[]);
}

#[test]
fn duplicate_keys_and_halves_of_characters() {
    let custom = "{\"type\":\"custom\",\"id\":\"n\",\"parentId\":\"a1\",";
    let twice = format!("{custom}\"x\":1,\"x\":2}}\n");
    check(between(twice), &[("ambiguous", 3)]);
    let half = format!("{custom}\"x\":\"\\ud83d\"}}\n");
    check(between(half), &[("ambiguous", 3)]);
    let lists = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"messages\":[]}\n";
    check(between(lists), &[("ambiguous", 3)]);
}

#[test]
fn unusual_ways_to_write_the_same() {
    let custom = "{ \"type\" :\"custom\",\t\"id\": \"n\",\"parentId\":\"a1\"  ";
    let escaped = "\"x\":\"\\/\\u0041\\u00e9\\ud83d\\ude00\\b\"";
    check(between(format!("{custom}, {escaped} }}\n")), &[]);
    let empty = "\"x\":{},\"y\":[],\"\":\"\"";
    check(between(format!("{custom},{empty}}}   \n")), &[]);
}

#[test]
fn duplicate_ids() {
    let twin = message("a1", Some("a1"), "again");
    check(between(twin), &[("duplicate id", 3)]);
}

#[test]
fn orphans_and_circles() {
    check(between(message("b", Some("nowhere"), "lost")), &[("orphaned", 3)]);
    let circle = message("b", Some("c"), "b") + &message("c", Some("b"), "c");
    check(between(circle), &[("circular", 4)]);
}

#[test]
fn no_header_and_more_than_one() {
    check(message("a1", None, "one") + &message("a2", Some("a1"), "two"), &[]);
    let sandbox = check(between(header("another")), &[]);
    let told = sandbox.ok(&["session", "show", "x", "--json"]);
    let import = parse(&told).get("meta").unwrap().get("import").cloned().unwrap();
    assert_eq!(text(&import, "foreign"), "x", "the first counts");
}

#[test]
fn unknown_types_and_wrong_ones() {
    let unknown = "{\"type\":\"hologram\",\"id\":\"h\",\"parentId\":\"a1\",\"depth\":3}\n";
    check(between(unknown), &[]);
    let wrong =
        "{\"type\":7,\"id\":{},\"parentId\":[1],\"timestamp\":false,\"message\":null}\n{}\n";
    check(between(wrong), &[]);
}

#[test]
fn deep_nesting() {
    let deep = |levels: usize| {
        let custom = "{\"type\":\"custom\",\"id\":\"n\",\"parentId\":\"a1\",\"x\":";
        format!("{custom}{}1{}}}\n", "[".repeat(levels), "]".repeat(levels))
    };
    check(between(deep(50)), &[]);
    // Deeper than what is read; kept all the same.
    check(between(deep(200)), &[("torn", 3)]);
    check(between(deep(100_000)), &[("torn", 3)]);
}

#[test]
fn very_long_lines() {
    let sizes: &[usize] = if long() { &[2 << 20, 40 << 20, 100 << 20] } else { &[2 << 20] };
    for size in sizes {
        let custom = "{\"type\":\"custom\",\"id\":\"n\",\"parentId\":\"a1\",\"x\":\"";
        let line = format!("{custom}{}\"}}\n", "y".repeat(*size));
        let expected: &[(&str, i64)] = match size >> 20 {
            0..32 => &[],
            32..64 => &[("too long", 3)],
            // It is cut, and what is left of it is short enough to be looked at.
            _ => &[("too long", 3), ("not JSON", 3)],
        };
        check(between(line), expected);
    }
}

#[test]
fn many_values_in_one_file() {
    let count = if long() { 100_000 } else { 5000 };
    let mut all = String::new();
    let mut parent = "a1".to_owned();
    for number in 0..count {
        let id = format!("n{number}");
        all += &message(&id, Some(&parent), "on and on");
        all += if number % 1000 == 7 { "\n" } else { "" };
        parent = id;
    }
    check(between(all), &[]);
}
