//! Behaviour, from outside.

mod cli;
