//! Programs that are measured, built where they are not there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;
use crate::options::project;

const RIPGREP: &str = "rg";

/// Builds the project's own program, and says where it is.
pub fn build_sapwood() -> Result<PathBuf> {
    let built = cargo()
        .args(["build", "--release", "--bin", "sapwood"])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(project())
        .stderr(Stdio::inherit())
        .output()?;
    let program = String::from_utf8_lossy(&built.stdout).lines().find_map(program_of);
    program
        .filter(|_| built.status.success())
        .ok_or_else(|| "the program to measure could not be built".into())
}

/// Finds ripgrep: the one that is installed, else one that is built once, beside this program;
/// `None` if that fails.
pub fn find_ripgrep() -> Option<PathBuf> {
    if runs(Path::new(RIPGREP)) {
        return Some(PathBuf::from(RIPGREP));
    }
    let here = std::env::current_exe().ok()?;
    let root = here.parent()?.join("tools");
    let program = root.join("bin").join(RIPGREP);
    if !runs(&program) {
        eprintln!("ripgrep is not installed: one is built in {}", root.display());
        let mut install = cargo();
        install.args(["install", "--quiet", "--locked", "ripgrep", "--root"]).arg(&root);
        install.status().ok()?;
    }
    runs(&program).then_some(program)
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn runs(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| output.status.success())
}

/// Gives the program that a line of cargo's says it has made. Where that lies is the user's choice.
fn program_of(line: &str) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(line).ok()?;
    message.get("executable")?.as_str().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_where_cargo_says() {
        let library = r#"{"reason":"compiler-artifact","executable":null}"#;
        let program = r#"{"reason":"compiler-artifact","executable":"/elsewhere/sapwood"}"#;
        assert_eq!(program_of(library), None);
        assert_eq!(program_of(program), Some(PathBuf::from("/elsewhere/sapwood")));
    }
}
