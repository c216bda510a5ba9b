//! Commands that answer, fail, hang, print too much, or read nothing.

use super::*;

fn with(line: &str, seconds: f64) -> With {
    let timeout = (seconds > 0.0).then(|| Duration::from_secs_f64(seconds));
    With { with: Some(line.to_owned()), timeout }
}

fn answer(line: &str, input: &str) -> Result<String, String> {
    let setting = Setting { session: Some("s1"), command: "ask", ..Setting::default() };
    let answer = with(line, 0.0).run(setting, input);
    answer.map(|answer| answer.unwrap()).map_err(|failure| failure.message())
}

#[test]
fn what_it_prints_is_taken_without_the_last_newlines() {
    assert_eq!(answer("cat", "a\nb\n\n").unwrap(), "a\nb");
    assert_eq!(answer("printf '%s' \"$SAPWOOD_SESSION $SAPWOOD_COMMAND\"", "").unwrap(), "s1 ask");
    assert_eq!(answer("echo \"[$SAPWOOD_BRANCH$SAPWOOD_DIR]\"", "").unwrap(), "[]");
    assert_eq!(With::default().run(Setting::default(), "x").unwrap(), None);
}

#[test]
fn a_command_that_reads_nothing_is_fine() {
    let long = "x".repeat(1 << 20);
    assert_eq!(answer("echo hi", &long).unwrap(), "hi");
    assert_eq!(answer("exec <&-; echo hi", &long).unwrap(), "hi");
}

#[test]
fn what_goes_wrong_is_said() {
    let cases = [
        ("exit 3", "failed (exit status: 3)"),
        ("echo half; exit 1", "failed (exit status: 1)"),
        ("kill -9 $$", "failed (signal: 9 (SIGKILL))"),
        ("true", "printed nothing"),
        ("printf ' \\n\\n'", "printed nothing"),
        ("printf '\\377'", "printed what is not UTF-8"),
    ];
    for (line, why) in cases {
        assert_eq!(answer(line, "in").unwrap_err(), format!("the command '{line}' {why}"));
    }
}

#[test]
fn a_command_that_hangs_is_ended_with_all_it_started() {
    let directory = tempfile::tempdir().unwrap();
    let mark = directory.path().join("mark");
    let lines = [
        "sleep 60".to_owned(),
        format!("(sleep 1; touch {}) & sleep 60", mark.display()),
        "exec >&-; sleep 60".to_owned(),
    ];
    for line in lines {
        let begin = Instant::now();
        let failure = with(&line, 0.2).run(Setting::default(), "").unwrap_err();
        assert!(failure.message().ends_with("took more than 0.2 s"), "{line}");
        assert!(begin.elapsed() < Duration::from_secs(20), "{line}");
    }
    thread::sleep(Duration::from_millis(1500));
    assert!(!mark.exists());
}

#[test]
fn a_command_that_never_stops_printing_is_ended() {
    let failure = answer("yes", "").unwrap_err();
    assert_eq!(failure, "the command 'yes' printed more than 64 MiB");
}

#[test]
fn times_are_read() {
    assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
    for bad in ["0", "-1", "x", "", "nan", "inf", "1e30"] {
        assert!(seconds(bad).is_err(), "{bad}");
    }
}
