//! `outpace bench`.

mod choice;
mod plan;
mod session;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;

use crate::bench::destination::Destination;
use crate::bench::destination::size::Size;
use crate::bench::experiment::Method;
use crate::platform::interrupts;
use crate::user::action::Action;
use crate::user::failure::{Failure, Outcome, require_proc};
use crate::user::output::{check_writable, distinct, file, print};
use crate::user::quantity::whole;
use crate::user::screen::Screen;
use choice::Choice;
use session::Session;

/// More would take days.
pub(super) const MOST_MESSAGES: u64 = 1_000_000_000_000;

/// Measure what output costs, by published experiments and outpace's own
#[derive(Args)]
pub(crate) struct Bench {
    /// Experiments, or some of their rungs [default: all]; --list shows them
    #[arg(value_name = "EXPERIMENT[/RUNG]")]
    experiments: Vec<String>,
    /// Destinations, comma-separated [default: the experiment's own]: null, pipe, pipe:512KiB,
    /// file, tmpfs, pty (reads at once), pty:1MB/s, pty:stalled (reads nothing for a second),
    /// tty (this terminal), xterm, alacritty, kitty, foot, wezterm, konsole, urxvt, st,
    /// xterm/tmux, xterm/screen, tmux, xterm.js (VS Code's engine)
    #[arg(long, value_name = "DEST", value_delimiter = ',')]
    to: Vec<Destination>,
    /// Run each rung N times
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1..=u16::MAX.into()))]
    runs: Option<u16>,
    /// Run each rung N times before, without counting
    #[arg(long, value_name = "N", value_parser = whole::<u16>(0..=u16::MAX.into()))]
    warmup: Option<u16>,
    /// Write N messages in each run [default: as many as fit the time]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=MOST_MESSAGES))]
    messages: Option<u64>,
    /// Load a server from N connections; several numbers, a row each [default: 8,1; --quick: 8]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = whole::<u16>(1..=1000))]
    connections: Vec<u16>,
    /// Columns and rows of the terminals that are opened [default: 80x24, for pictures 200x60]
    #[arg(long, value_name = "COLUMNSxROWS")]
    size: Option<Size>,
    /// Take a minute for everything, less exact: one compiler of each language, no real terminals; end
    /// with a summary of ten lines
    #[arg(long)]
    quick: bool,
    /// Wait a second between the steps of `when`, for watching
    #[arg(long)]
    slow: bool,
    /// Show the experiments with their rungs and run nothing
    #[arg(long)]
    list: bool,
    /// Print commands that compare the rungs with hyperfine and run nothing
    #[arg(long, conflicts_with = "list")]
    hyperfine: bool,
    /// Write a profile of each rung of `calls` for the Firefox Profiler (profiler.firefox.com) to this
    /// directory: stdout.json and stderr.json
    #[arg(long, value_name = "DIR")]
    profile: Option<PathBuf>,
    /// Write the rows to a file as JSON, each as soon as it is measured
    #[arg(long, value_name = "FILE", value_parser = file())]
    export_json: Option<PathBuf>,
    /// Write the tables and conclusions to a file
    #[arg(long, value_name = "FILE", value_parser = file())]
    export_markdown: Option<PathBuf>,
    /// Write the same as a page for a browser
    #[arg(long, value_name = "FILE", value_parser = file())]
    export_html: Option<PathBuf>,
}

impl Action for Bench {
    const NAME: &'static str = "bench";

    fn run(self) -> Outcome {
        let chosen = Choice::of(&self.experiments)?;
        if self.list {
            print(&list(&chosen, Screen::of_stdout_or_endless()))?;
            return Ok(ExitCode::SUCCESS);
        }
        if self.hyperfine {
            let commands = hyperfine(&chosen, self.messages);
            if commands.is_empty() {
                let cause = "none of these experiments can be compared in that way";
                return Err(Failure::usage("--hyperfine", cause)
                    .remedy("such as: outpace bench lines --hyperfine"));
            }
            print(&commands)?;
            return Ok(ExitCode::SUCCESS);
        }
        let began = Instant::now();
        require_proc()?;
        self.has_use_for_options(&chosen)?;
        distinct(&[
            ("--export-json", &self.export_json),
            ("--export-markdown", &self.export_markdown),
            ("--export-html", &self.export_html),
        ])?;
        if let Some(directory) = &self.profile {
            std::fs::create_dir_all(directory).map_err(|error| {
                Failure::failed(directory.display(), error).remedy("name a directory")
            })?;
        }
        for path in [&self.export_json, &self.export_markdown, &self.export_html]
            .into_iter()
            .flatten()
        {
            check_writable(path)?;
        }
        interrupts::watch();
        Session::new(&self, began).run(&chosen)
    }
}

impl Bench {
    /// Refuses an option that changes none of the chosen experiments.
    fn has_use_for_options(&self, chosen: &[Choice]) -> Result<(), Failure> {
        let any = |is_meant: fn(Method) -> bool| {
            let mut methods = chosen.iter().map(|choice| choice.experiment.method);
            methods.any(is_meant)
        };
        let records = any(|method| matches!(method, Method::Timed(_)));
        let waits = any(|method| matches!(method, Method::Arrival(_)));
        let connects = any(|method| matches!(method, Method::Requests(_)));
        let is_connected = !self.connections.is_empty();
        for (option, is_given, has_use, example) in [
            (
                "--profile",
                self.profile.is_some(),
                records,
                "calls --profile DIR",
            ),
            ("--slow", self.slow, waits, "when --slow"),
            (
                "--connections",
                is_connected,
                connects,
                "server --connections 1",
            ),
        ] {
            if is_given && !has_use {
                return Err(Failure::usage(option, "changes none of these experiments")
                    .remedy(format!("such as: outpace bench {example}")));
            }
        }
        Ok(())
    }
}

/// Each experiment with its sources and its rungs: wrapped at the width of a terminal, else a line each.
fn list(chosen: &[Choice], screen: Screen) -> String {
    let mut text = String::new();
    for choice in chosen {
        let experiment = choice.experiment;
        text += &screen.item(
            experiment.name,
            experiment.name.len(),
            experiment.question,
            0,
        );
        for source in experiment.sources {
            text += &screen.item("from:", 5, &source.to_string(), 2);
        }
        let names = choice.rungs().map(|rung| rung.name.len());
        let width = names.max().unwrap_or(0) + experiment.name.len() + 1;
        for rung in choice.rungs() {
            let name = format!("{}/{}", experiment.name, rung.name);
            let about = format!("{} ({})", rung.about, rung.origin);
            text += &screen.item(&name, width, &about, 2);
        }
    }
    text
}

fn hyperfine(chosen: &[Choice], messages: Option<u64>) -> String {
    let mut text = String::new();
    for choice in chosen
        .iter()
        .filter(|choice| matches!(choice.experiment.method, Method::Work))
    {
        let experiment = choice.experiment;
        let messages = messages.unwrap_or(experiment.messages);
        let rungs: Vec<&str> = choice
            .rungs()
            .filter(|rung| rung.fails.is_none() && rung.draws.is_none())
            .map(|rung| rung.name)
            .collect();
        text += &format!(
            "hyperfine --shell=none --output=pipe --parameter-list rung {} \\\n  \
             'outpace rung {}/{{rung}} --messages {messages}'\n",
            rungs.join(","),
            experiment.name,
        );
    }
    text
}
