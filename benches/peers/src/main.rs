//! Measures sapwood against its peers: SQLite, and the bare system calls.
//!
//! ```text
//!   cargo run --release --manifest-path benches/peers/Cargo.toml -- [--quick]
//! ```
//!
//! All contestants of a workload run in turn within each round, on one file system, so that what
//! disturbs one disturbs all; a ratio is the median of the rounds' ratios. What is written: a table
//! on stdout, and (unless `--quick`) `docs/BENCHMARKS.md` with `docs/benchmarks/peers.json`.
//!
//! A new row is a file under `workload/` with one function `run`, named in [`WORKLOADS`].
//!
//! Not here: benchmarks of parts of sapwood among themselves.

mod alone;
mod machine;
mod measure;
mod options;
mod peer;
mod report;
mod sample;
mod workload;

use std::error::Error;
use std::process::ExitCode;

use measure::Section;
use options::Options;

/// What everything here fails with.
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// A workload: its name for `--only`, and what measures it.
type Workload = (&'static str, fn(&Options) -> Result<Vec<Section>>);

const WORKLOADS: &[Workload] = &[
    ("append", workload::append::run),
    ("crowd", workload::crowd::run),
    ("walk", workload::walk::run),
    ("get", workload::get::run),
    ("open", workload::open::run),
    ("commands", workload::commands::run),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((first, rest)) if first == "peer" => peer::serve(rest),
        Some((first, rest)) if first == "alone" => alone::run(rest),
        _ => measure_all(arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure_all(arguments: Vec<String>) -> Result<()> {
    let options = Options::parse(arguments)?;
    let machine = machine::describe(&options);
    let mut sections = Vec::new();
    for (name, run) in WORKLOADS {
        if options.wants(name) {
            eprintln!("measuring {name}");
            for section in run(&options)? {
                print!("{}", report::text(&section));
                sections.push(section);
            }
        }
    }
    if let Some(out) = &options.out {
        report::write(out, &machine, &sections)?;
        eprintln!("written: {}", out.join("BENCHMARKS.md").display());
    }
    Ok(())
}
