//! `outpace rung EXPERIMENT/RUNG`: writes only that rung's bytes.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::panic::{self, PanicHookInfo};
use std::process::{self, ExitCode};
use std::sync::Mutex;
use std::time::Duration;

use clap::Args;

use super::bench::MOST_MESSAGES;
use crate::bench::catalogue;
use crate::bench::experiment::clock::{REPORT, Span};
use crate::bench::experiment::{Method, Rung, Work};
use crate::bench::runner::contestant::Contestant;
use crate::platform::{descriptors, signals};
use crate::user::action::Action;
use crate::user::failure::{Failure, Outcome};
use crate::user::quantity::whole;

/// An hour, in milliseconds.
const LONGEST_PAUSE: u64 = 3_600_000;

/// Write only one rung's bytes to stdout, for hyperfine, strace or perf
#[derive(Args)]
pub(crate) struct WriteRung {
    /// Experiment and rung, such as ladder/turbo-c, or ladder/turbo-c.clang for one compiler's
    #[arg(value_name = "EXPERIMENT/RUNG")]
    rung: String,
    /// Write N messages [default: the experiment's published number]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=MOST_MESSAGES))]
    messages: Option<u64>,
    /// Milliseconds to wait between the steps of `when` or between pictures, or to draw in `calls`
    /// [default: 1000, between pictures 0, of `calls` 5000]
    #[arg(long, value_name = "MS", value_parser = whole::<u64>(0..=LONGEST_PAUSE))]
    pause: Option<u64>,
}

impl Action for WriteRung {
    const NAME: &'static str = "rung";

    fn run(self) -> Outcome {
        let (experiment, rung) = catalogue::find_rung(&self.rung)?;
        let messages = self.messages.unwrap_or(experiment.messages);
        let pause = match (self.pause, experiment.method_of(rung)) {
            (Some(milliseconds), _) => Duration::from_millis(milliseconds),
            (None, Method::Timed(timed)) => timed.time,
            (None, Method::Frames) => Duration::ZERO,
            (None, _) => Duration::from_secs(1),
        };
        match rung.work {
            Work::Here(work) => here(&self.rung, rung, Span::new(messages, pause), work),
            Work::Source(_) => {
                let name = self.rung.split_once('/').map_or("", |(_, name)| name);
                let error = match Contestant::named(experiment, rung, name)
                    .and_then(|contestant| contestant.command(messages, pause))
                {
                    Ok(mut command) => command.exec().to_string(),
                    Err(reason) => reason,
                };
                Err(Failure::failed(&self.rung, error))
            }
        }
    }
}

/// Runs a rung for a bench without the argument parser, so that its process is no heavier than a small program's.
/// `None`: any other command line, for the parser.
pub(crate) fn directly(arguments: &[OsString]) -> Option<Outcome> {
    let arguments: Vec<&str> = arguments
        .iter()
        .skip(1)
        .map_while(|word| word.to_str())
        .collect();
    let ["rung", name, "--messages", messages, rest @ ..] = &arguments[..] else {
        return None;
    };
    let pause = match rest {
        [] => Duration::ZERO,
        ["--pause", milliseconds] => Duration::from_millis(milliseconds.parse().ok()?),
        _ => return None,
    };
    let messages = messages.parse().ok()?;
    let (experiment, rung) = name.split_once('/')?;
    let rung = catalogue::find(experiment).ok()?.rung(rung)?;
    let Work::Here(work) = rung.work else {
        return None;
    };
    Some(here(name, rung, Span::new(messages, pause), work))
}

fn here(name: &str, rung: &Rung, span: Span, work: fn(&mut Span) -> io::Result<()>) -> Outcome {
    descriptors::poll_as_others();
    panic::set_hook(Box::new(ended_by_print));
    let failed = |error: io::Error| match error.raw_os_error() {
        Some(libc::ENOTTY | libc::ENXIO) => {
            Failure::failed(name, "it draws, and its output is not a terminal")
                .remedy("run it in a terminal")
        }
        // It may be of the input.
        _ if rung.reads.is_some() => Failure::failed(name, error),
        _ => Failure::failed(rung.stream.name(), error),
    };
    match std::env::var_os(REPORT) {
        Some(path) => {
            let report = span.clocked(work).map_err(failed)?;
            std::fs::write(path, report).map_err(failed)?;
        }
        None => {
            // Without a reader SIGPIPE ends it, as it ends other programs.
            signals::set_default(libc::SIGPIPE);
            let mut span = span;
            work(&mut span).map_err(failed)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends the program when the `println!` of a rung panics because its stream takes no more, std's and outpace's alike.
/// Threads that a rung begins come here, too, and the first of them reports.
fn ended_by_print(panicked: &PanicHookInfo) {
    static FIRST: Mutex<()> = Mutex::new(());
    let text = panicked.payload().downcast_ref::<String>();
    let failed = text
        .and_then(|text| text.strip_prefix("failed printing to "))
        .and_then(|rest| rest.split_once(": "));
    match failed {
        Some((stream, cause)) => {
            let _held_to_the_end = FIRST.lock();
            Failure::failed(stream, cause).report();
            process::exit(1);
        }
        // The usual text: what panicked, and where.
        None => eprintln!("{panicked}"),
    }
}
