//! Messages to store: JSON of a given length, made of words, the same in every run. And whole
//! sessions with the shape of those that people had.

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use crate::Result;

const SYLLABLES: [&str; 32] = [
    "ba", "con", "der", "el", "fi", "ga", "hol", "in", "jo", "ker", "lum", "ma", "nor", "o", "per",
    "qui", "ras", "se", "ti", "un", "ver", "wa", "xe", "yor", "ze", "tion", "ing", "ment", "al",
    "ist", "ous", "ly",
];

/// How many phrases there are.
const PHRASES: usize = 600;

/// Numbers that look random and are the same in every run.
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    /// Begins a sequence.
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// Gives the next number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }
}

/// Makes a message of about so many bytes. No two writers' or numbers' messages are the same.
pub fn message(writer: usize, number: usize, bytes: usize) -> String {
    let mut dice = Dice::new((writer as u64) << 40 | number as u64);
    let role = ["user", "assistant"][number % 2];
    let time = 1_760_000_000_000 + number as u64 * 1000;
    let mut text = String::with_capacity(bytes + 16);
    write!(text, r#"{{"type":"message","role":"{role}","timestamp":{time},"writer":{writer},"#)
        .and_then(|()| write!(text, r#""number":{number},"content":""#))
        .expect("a string takes what is written to it");
    while text.len() + 2 < bytes {
        push_phrase(&mut text, dice.below(PHRASES).min(dice.below(PHRASES)));
    }
    text.push_str("\"}");
    text
}

/// Adds one of the phrases that all conversations are made of, the first ones far more often.
///
/// With so many of them, zstd at level 3 makes a fifth of 64 KiB of messages, as it does of
/// sessions that people had.
fn push_phrase(text: &mut String, phrase: usize) {
    let mut words = Dice::new(phrase as u64);
    for _ in 0..4 + words.below(12) {
        let mut word = Dice::new(words.below(2000) as u64);
        for _ in 0..1 + word.below(3) {
            text.push_str(SYLLABLES[word.below(SYLLABLES.len())]);
        }
        text.push(' ');
    }
}

/// Makes the messages of one writer.
pub fn messages(writer: usize, count: usize, bytes: usize) -> Vec<String> {
    (0..count).map(|number| message(writer, number, bytes)).collect()
}

/// Makes a fact that a node of memory holds: every third one supersedes another.
pub fn fact(number: usize) -> String {
    let key = number - number / 3;
    format!(r#"{{"key":"fact-{key}","value":"what was learned the {number}th time"}}"#)
}

/// The lengths of lines: the share of lines that are shorter, and the length.
const LENGTHS: [(f64, f64); 5] =
    [(0.0, 300.0), (0.5, 1_100.0), (0.9, 6_000.0), (0.99, 51_000.0), (1.0, 160_000.0)];
/// How many messages a session has.
const SESSION_MESSAGES: usize = 120;
/// Every so many sessions, one is a copy of the begin of another, and goes on by itself.
const FORK_EVERY: usize = 6;
/// Of so many results of tools, one has been there before.
const REPEAT_EVERY: usize = 3;

/// Draws the length of a line.
fn line_bytes(dice: &mut Dice) -> usize {
    let share = dice.below(1_000_000) as f64 / 1e6;
    let next = LENGTHS.iter().position(|(until, _)| *until > share).unwrap_or(LENGTHS.len() - 1);
    let ((from, least), (until, most)) = (LENGTHS[next - 1], LENGTHS[next]);
    (least * (most / least).powf((share - from) / (until - from))) as usize
}

/// Writes session files of so many bytes in all, in the form of Claude Code, and names them.
pub fn sessions(dir: &Path, bytes: u64) -> Result<Vec<PathBuf>> {
    let mut dice = Dice::new(6);
    let mut files = Vec::new();
    let mut sessions: Vec<Vec<String>> = Vec::new();
    let mut results: Vec<String> = Vec::new();
    let mut written = 0;
    while written < bytes {
        let number = sessions.len();
        let mut lines = Vec::new();
        if number % FORK_EVERY == FORK_EVERY - 1 {
            let of = &sessions[dice.below(number)];
            lines.extend_from_slice(&of[..of.len() / 2]);
        }
        while lines.len() < SESSION_MESSAGES {
            let place = lines.len();
            lines.push(session_line(number, place, &mut dice, &mut results));
        }
        let path = dir.join(format!("session-{number:05}.jsonl"));
        let mut out = BufWriter::new(std::fs::File::create(&path)?);
        for line in &lines {
            writeln!(out, "{line}")?;
            written += line.len() as u64 + 1;
        }
        out.flush()?;
        files.push(path);
        sessions.push(lines);
    }
    Ok(files)
}

/// Makes a line of a session: a question, then calls of tools and their results in turn.
fn session_line(
    session: usize,
    place: usize,
    dice: &mut Dice,
    results: &mut Vec<String>,
) -> String {
    let uuid = |place: usize| format!("{session:08x}-0000-4000-8000-{place:012x}");
    let parent = match place {
        0 => "null".to_owned(),
        _ => format!("\"{}\"", uuid(place - 1)),
    };
    let time =
        sapwood::time::format(1_760_000_000_000 + (session * 10_000 + place * 7) as i64 * 100);
    let call = |place: usize| format!("toolu_{session:06x}{place:06x}");
    let (kind, content) = match place % 3 {
        0 => ("user", format!("\"{}\"", words(dice, 250))),
        1 => {
            let (text, id) = (words(dice, 250), call(place));
            let file = format!("src/module_{}.rs", dice.below(40));
            let input = format!(r#"{{"file_path":"{file}"}}"#);
            let tool =
                format!(r#"{{"type":"tool_use","id":"{id}","name":"Read","input":{input}}}"#);
            ("assistant", format!(r#"[{{"type":"text","text":"{text}"}},{tool}]"#))
        }
        _ => {
            let text = result(dice, results);
            let id = call(place - 1);
            let result =
                format!(r#"{{"tool_use_id":"{id}","type":"tool_result","content":"{text}"}}"#);
            ("user", format!("[{result}]"))
        }
    };
    let uuid = uuid(place);
    let head = r#""isSidechain":false,"userType":"external","cwd":"/home/ada/project""#;
    let sid = format!("{session:08x}-1111-4000-8000-000000000000");
    let message = format!(r#"{{"role":"{kind}","content":{content}}}"#);
    format!(
        r#"{{"parentUuid":{parent},{head},"sessionId":"{sid}","version":"2.0.1","type":"{kind}","#
    ) + &format!(r#""message":{message},"uuid":"{uuid}","timestamp":"{time}"}}"#)
}

/// Makes words of the length of a line, less what a line holds beside them.
fn words(dice: &mut Dice, beside: usize) -> String {
    let bytes = line_bytes(dice).saturating_sub(beside + 150).max(40);
    let mut text = String::with_capacity(bytes + 64);
    while text.len() < bytes {
        push_phrase(&mut text, dice.below(PHRASES).min(dice.below(PHRASES)));
    }
    text
}

/// Makes the result of a tool, or takes one that was there before.
fn result(dice: &mut Dice, results: &mut Vec<String>) -> String {
    if !results.is_empty() && dice.below(REPEAT_EVERY) == 0 {
        return results[dice.below(results.len())].clone();
    }
    let text = words(dice, 200);
    results.push(text.clone());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_lengths_of_those_that_people_had() {
        let mut dice = Dice::new(1);
        let mut lengths: Vec<usize> = (0..20_000).map(|_| line_bytes(&mut dice)).collect();
        lengths.sort_unstable();
        let near = |share: usize, wanted: f64| {
            let ratio = lengths[share * 200] as f64 / wanted;
            assert!((0.9..1.1).contains(&ratio), "{share} %: {}", lengths[share * 200]);
        };
        near(50, 1_100.0);
        near(90, 6_000.0);
        near(99, 51_000.0);
    }

    #[test]
    fn sessions_are_json_and_some_begin_as_others_do() {
        let dir = std::env::temp_dir().join(format!("sapwood-sessions-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let files = sessions(&dir, 4 << 20).unwrap();
        let texts: Vec<String> =
            files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
        std::fs::remove_dir_all(&dir).unwrap();
        for line in texts[0].lines() {
            sapwood::codec::json::parse(line.as_bytes()).unwrap();
        }
        let first = |text: &str| text.lines().next().unwrap().to_owned();
        let fork = first(&texts[FORK_EVERY - 1]);
        assert!(texts[..FORK_EVERY - 1].iter().any(|text| first(text) == fork));
    }
}
