//! Pages of hostile sessions hold only the tags and attributes that we write.

use super::*;
use crate::codec::Value;
use crate::ops::export::tests::tell;
use crate::repo::Repo;
use crate::session;
use crate::store::Durability;

/// The tags of a page and their attributes.
const TAGS: &[(&str, &[&str])] = &[
    ("html", &["lang"]),
    ("head", &[]),
    ("meta", &["charset", "http-equiv", "content", "name"]),
    ("title", &[]),
    ("style", &[]),
    ("body", &[]),
    ("a", &["class", "href", "rel"]),
    ("header", &["class"]),
    ("h1", &[]),
    ("h2", &[]),
    ("h4", &[]),
    ("h5", &[]),
    ("h6", &[]),
    ("dl", &["class"]),
    ("dt", &[]),
    ("dd", &[]),
    ("div", &["class", "id", "role", "aria-label", "tabindex"]),
    ("label", &[]),
    ("input", &["type", "id", "checked"]),
    ("main", &["id"]),
    ("section", &["class", "id"]),
    ("article", &["class", "id"]),
    ("details", &["class", "id", "open"]),
    ("summary", &[]),
    ("span", &["class", "title"]),
    ("time", &["datetime"]),
    ("strong", &[]),
    ("em", &[]),
    ("del", &[]),
    ("code", &[]),
    ("pre", &["tabindex"]),
    ("p", &["class"]),
    ("ul", &["class"]),
    ("ol", &["start"]),
    ("li", &["class"]),
    ("blockquote", &[]),
    ("hr", &[]),
    ("table", &[]),
    ("tr", &[]),
    ("th", &[]),
    ("td", &[]),
    ("figure", &[]),
    ("img", &["alt", "src"]),
    ("nav", &["class", "id", "aria-label"]),
];
const EMPTY: [&str; 4] = ["meta", "input", "hr", "img"];

/// Reads a page as a browser does, and fails at anything that we do not write.
#[track_caller]
fn check_page(page: &str) {
    let mut rest = page.strip_prefix("<!doctype html>").unwrap();
    let mut open: Vec<&str> = Vec::new();
    while let Some(at) = rest.find('<') {
        let end = at + rest[at..].find('>').unwrap();
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closed in order");
            continue;
        }
        let name = tag.split(' ').next().unwrap();
        let known = TAGS.iter().find(|(known, _)| *known == name);
        let (_, attributes) = known.unwrap_or_else(|| panic!("<{tag}>"));
        check_attributes(tag[name.len()..].trim(), attributes);
        if name == "style" {
            rest = rest.strip_prefix('\n').unwrap().strip_prefix(STYLE).unwrap();
        }
        open.extend(Some(name).filter(|name| !EMPTY.contains(name)));
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(!page.chars().any(|sign| sign.is_control() && !"\n\t".contains(sign)));
}

#[track_caller]
fn check_attributes(mut text: &str, known: &[&str]) {
    while !text.is_empty() {
        let end = text.find(['=', ' ']).unwrap_or(text.len());
        let name = &text[..end];
        assert!(known.contains(&name), "{text}");
        let Some(rest) = text[end..].strip_prefix("=\"") else {
            text = text[end..].trim_start();
            continue;
        };
        let (value, rest) = rest.split_once('"').unwrap();
        match name {
            "href" => assert!(
                ["#", "http://", "https://", "mailto:"].iter().any(|good| value.starts_with(good)),
                "{value}"
            ),
            "src" => assert!(value.starts_with("data:image/"), "{value}"),
            "class" | "id" => assert!(
                value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"- ".contains(&byte)),
                "{value}"
            ),
            _ => {}
        }
        text = rest.trim_start();
    }
}

fn page(repo: &Repo) -> String {
    let mut out = Vec::new();
    html(&*repo.snapshot().unwrap(), "s", Scope::Session, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const HOSTILE: [&str; 12] = [
    "<script>alert(1)</script>",
    "</script></style></title></details></article><script>x",
    "\" onmouseover=\"alert(1)\" x='",
    "' onfocus='x' autofocus",
    "<img src=x onerror=alert(1)>",
    "<!-- <![CDATA[ ]]> --><?php",
    "[x](javascript:alert(1)) ![y](data:text/html;base64,AAAA) [z](https://a\"onclick=x)",
    "<https://x/\"onclick=y> http://x/'><script>",
    "```\"><script>\n<script>never closed",
    "| <b> | \" |\n|---|---|\n| <i> | ' |\n\n# <u>\n> <s>\n1. <q>\n- <a href=x>",
    "\u{202e}\0\u{1b}]0;x\u{7}\u{85}\u{2028}<b>",
    "`` <b> ` **<b>* [<b>](",
];

#[test]
fn nothing_that_is_said_is_markup() {
    for hostile in HOSTILE {
        let text = || Value::from(hostile);
        let block = |pairs: Vec<(&str, Value)>| Value::map(pairs);
        let call = |id: Value| {
            let input = Value::map([(hostile, text())]);
            block(vec![("type", "tool_use".into()), ("id", id), ("name", text()), ("input", input)])
        };
        let result = block(vec![
            ("type", "tool_result".into()),
            ("tool_use_id", text()),
            ("name", text()),
            ("content", text()),
        ]);
        let image = |kind: &str, data: &str| {
            let (kind, data) = (kind.into(), data.into());
            block(vec![("type", "image".into()), ("mimeType", kind), ("data", data)])
        };
        let content = |blocks: Vec<Value>| {
            let fields = [("role", text()), ("model", text()), ("content", Value::List(blocks))];
            Value::map(fields)
        };
        let thinking = block(vec![("type", "thinking".into()), ("thinking", text())]);
        let address = Value::map([("url", text())]);
        let address = block(vec![("type", "image_url".into()), ("image_url", address)]);
        let label: String = hostile.chars().filter(|sign| !sign.is_control()).take(40).collect();
        let bodies = vec![
            content(vec![text(), thinking, call(text()), call("open".into())]),
            content(vec![result.clone()]),
            content(vec![result, image(hostile, "AAAA"), image("image/png", hostile), address]),
            content(vec![block(vec![("type", text())])]),
            Value::map([("role", "user".into()), ("content", text())]),
            Value::map([("type", "compaction".into()), ("summary", text())]),
            Value::map([("type", label.as_str().into()), (hostile, text())]),
            Value::map([("type", "bash_execution".into()), ("command", text())]),
            Value::map([("type", "custom_message".into()), ("content", text())]),
        ];
        let branch = "a \"<b onclick='x'>";
        let repo = tell(&[("main", &[r#"{"role":"user","content":"begin"}"#])]);
        for branch in [branch, "main"] {
            let pin = session::pin(&repo, Some("s"), Some(branch), 0, "tester").unwrap();
            session::append(&repo, &pin, bodies.clone(), Durability::Full, i64::MAX).unwrap();
        }
        name_it(&repo, hostile);
        check_page(&page(&repo));
    }
}

/// Gives the session a hostile name, place and so on.
fn name_it(repo: &Repo, text: &str) {
    repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = session::Change::on(snapshot, "s", 0)?;
        let meta = change.meta()?;
        for field in
            [&mut meta.name, &mut meta.cwd, &mut meta.provider, &mut meta.status, &mut meta.dialect]
        {
            *field = Some(text.to_owned());
        }
        change.finish(None)
    })
    .unwrap();
}

#[test]
fn a_page_says_what_was_said() {
    let repo = tell(&[(
        "main",
        &[
            r#"{"role":"user","content":"Look <here>"}"#,
            r#"{"role":"assistant","model":"m-1","usage":{"input":1200,"output":30},
                "content":[{"type":"thinking","thinking":"hm"},
                {"type":"tool_use","id":"c","name":"ls","input":{"command":"ls -l"}}]}"#,
            r#"{"role":"tool","tool_call_id":"c","isError":true,"content":"no"}"#,
            r#"{"role":"assistant","model":"m-1","content":"Done."}"#,
        ],
    )]);
    let page = page(&repo);
    check_page(&page);
    let parts = [
        "<title>Look &lt;here&gt;</title>",
        "<p>Look &lt;here&gt;</p>",
        "<span class=\"model\">m-1</span> <span class=\"usage\">in 1,200 · out 30</span>",
        "<details class=\"thinking\">",
        "<details class=\"call failed\"><summary><span class=\"tool\">ls</span> \
         <span class=\"gist\">ls -l</span> <span class=\"state\">error</span></summary>",
        "<p class=\"label\">Result</p>\n<div class=\"code\"><pre tabindex=\"0\"><code>no",
        "<article class=\"assistant more\"",
    ];
    let found: Vec<_> = parts.iter().map(|part| page.find(part)).collect();
    assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{found:?} {page}");
}

#[test]
fn markdown_is_rendered() {
    let cases = [
        ("a\nb\n\nc", "<p>a\nb</p>\n<p>c</p>\n"),
        ("# A #\n###### B", "<h4>A</h4>\n<h6>B</h6>\n"),
        (
            "a\n- b\n  c\n  - d\n- e",
            "<p>a</p>\n<ul>\n<li><p>b\nc</p>\n<ul>\n<li><p>d</p>\n</li>\n\
            </ul>\n</li>\n<li><p>e</p>\n</li>\n</ul>\n",
        ),
        (
            "3. a\n\n   b\n4. c\n\nd",
            "<ol start=\"3\">\n<li><p>a</p>\n<p>b</p>\n</li>\n\
            <li><p>c</p>\n</li>\n</ol>\n<p>d</p>\n",
        ),
        ("- [x] a", "<ul>\n<li>☑ <p>a</p>\n</li>\n</ul>\n"),
        (
            "> a\n>> b",
            "<blockquote>\n<p>a</p>\n<blockquote>\n<p>b</p>\n</blockquote>\n\
            </blockquote>\n",
        ),
        ("***", "<hr>\n"),
        (
            "x\n|a|b|\n|-|:-:|\n|`1|2`|",
            "<p>x</p>\n<div class=\"table\" tabindex=\"0\"><table>\n\
            <tr><th>a</th><th>b</th></tr>\n<tr><td><code>1|2</code></td><td></td></tr>\n\
            </table></div>\n",
        ),
        (
            "~~~\n```\n~~~\nb",
            "<div class=\"code\"><pre tabindex=\"0\"><code>```</code></pre></div>\n\
            <p>b</p>\n",
        ),
        (
            "```rs x\n  <a>\n",
            "<div class=\"code\"><span class=\"language\">rs</span>\
            <pre tabindex=\"0\"><code>  &lt;a&gt;</code></pre></div>\n",
        ),
    ];
    for (text, expected) in cases {
        let mut out = String::new();
        prose::prose(&mut out, text);
        assert_eq!(out, expected, "{text:?}");
    }
}

#[test]
fn deep_and_long_text_is_no_trouble() {
    for part in ["> ", "- ", "1. ", "\t- ", "|a|\n|-|\n", "```\n", "#", "- a\n\n\n", ">\n"] {
        let mut out = String::new();
        prose::prose(&mut out, &part.repeat(200_000 / part.len()));
        assert!(!out.is_empty(), "{part:?}");
    }
}
