//! Measures sapwood against what people would use instead.
//!
//! ```text
//!   cargo run --release --manifest-path benches/peers/Cargo.toml -- [--quick] [--folder DIR]
//! ```
//!
//! All contestants of a workload run in turn within each round, on one file system, so that what
//! disturbs one disturbs all; a ratio is the median of the rounds' ratios. Each runs in a process
//! of its own, whose greatest memory stands beside the time. What is written: a table on stdout,
//! and (unless `--only` is given) `docs/BENCHMARKS.md`, with plots and `peers.json` in
//! `docs/benchmarks`.
//!
//! A new workload is a file under `workload/` with the functions `run`, which compares, and `work`,
//! which does what is measured in a process of its own. A new peer is a file under `peer/`.
//!
//! Not here: benchmarks of parts of sapwood among themselves (`benches/layers.rs`).

mod machine;
mod measure;
mod options;
mod peer;
mod programs;
mod report;
mod sample;
mod workload;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use options::Options;

/// What everything here fails with.
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((first, rest)) if first == "serve" => peer::serve(rest),
        Some((first, rest)) if first == "work" => workload::work(rest),
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
    let mut machine = machine::describe(&options);
    let mut sections = Vec::new();
    let begun = Instant::now();
    for workload in workload::ALL {
        if !options.wants(workload.name) {
            continue;
        }
        eprintln!("measuring {}, {:.0} s after the begin", workload.name, seconds(begun));
        for mut section in (workload.run)(&options)? {
            section.demand_median_peer();
            print!("{}", report::text(&section));
            sections.push(section);
        }
    }
    machine.push(("time of the run", format!("{:.0} s", seconds(begun))));
    std::fs::remove_dir_all(&options.dir)?;
    if let Some(out) = &options.out {
        report::write(out, &machine, &sections)?;
        eprintln!("written: {}", out.join("BENCHMARKS.md").display());
    }
    Ok(())
}

fn seconds(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64()
}
