//! The few colours that are used, each for one thing.

use anstyle::{AnsiColor, Color, Style};

const fn colored(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(color)))
}

/// An object's id, or an operation's number.
pub(crate) const ID: Style = colored(AnsiColor::Yellow);
/// A ref's name.
pub(crate) const REF: Style = colored(AnsiColor::Green);
/// What went wrong.
pub(crate) const ERROR: Style = colored(AnsiColor::Red).bold();
/// What to look out for.
pub(crate) const WARNING: Style = colored(AnsiColor::Magenta);
/// What to do about it.
pub(crate) const HINT: Style = colored(AnsiColor::Cyan);
