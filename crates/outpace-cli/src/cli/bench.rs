//! `outpace bench`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::Args;

use crate::bench::catalogue::{self, ALL};
use crate::bench::destination::reader::Wanted;
use crate::bench::destination::size::Size;
use crate::bench::destination::venue::Venue;
use crate::bench::destination::{self, Destination};
use crate::bench::experiment::{Experiment, Method, Origin, Rung};
use crate::bench::results::figures::Figures;
use crate::bench::results::machine::{Machine, disturbance};
use crate::bench::results::rows::{Results, Row};
use crate::bench::runner::contestant::{Compiling, Contestant};
use crate::bench::runner::timetable::Timetable;
use crate::bench::runner::{self, Plan};
use crate::bench::view::block::Block;
use crate::bench::view::columns;
use crate::bench::view::html;
use crate::bench::view::markdown;
use crate::bench::view::summary::summary;
use crate::fps::canvas::StandardStream;
use crate::platform::{interrupts, scratch};
use crate::trace;
use crate::user::action::Action;
use crate::user::failure::{Failure, Outcome, require_proc};
use crate::user::output::{print, write};
use crate::user::progress::Progress;
use crate::user::quantity::whole;
use crate::user::screen::Screen;

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
    /// Run each rung so many times
    #[arg(long, value_name = "N", value_parser = whole::<u16>(1..=u16::MAX.into()))]
    runs: Option<u16>,
    /// Run each so many times before, without counting
    #[arg(long, value_name = "N", value_parser = whole::<u16>(0..=u16::MAX.into()))]
    warmup: Option<u16>,
    /// Write so many messages in each run [default: as many as fit the time]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=MOST_MESSAGES))]
    messages: Option<u64>,
    /// Load a server from so many connections, a row each [default: 8,1; --quick: 8]
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
    #[arg(long)]
    hyperfine: bool,
    /// Write a profile of each rung of `calls` for the Firefox Profiler (profiler.firefox.com) to this
    /// directory: stdout.json and stderr.json
    #[arg(long, value_name = "DIR")]
    profile: Option<PathBuf>,
    /// Write the rows to a file as JSON, each as soon as it is measured
    #[arg(long, value_name = "FILE")]
    export_json: Option<PathBuf>,
    /// Write the tables and conclusions to a file
    #[arg(long, value_name = "FILE")]
    export_markdown: Option<PathBuf>,
    /// Write the same as a page for a browser
    #[arg(long, value_name = "FILE")]
    export_html: Option<PathBuf>,
}

impl Action for Bench {
    const NAME: &'static str = "bench";

    fn run(self) -> Outcome {
        let chosen = self.chosen()?;
        if self.list {
            print(&list(&chosen, Screen::of_stdout_or_endless()))?;
            return Ok(ExitCode::SUCCESS);
        }
        if self.hyperfine {
            print(&hyperfine(&chosen, self.messages))?;
            return Ok(ExitCode::SUCCESS);
        }
        let began = Instant::now();
        require_proc()?;
        if let Some(directory) = &self.profile {
            if !chosen
                .iter()
                .any(|choice| matches!(choice.experiment.method, Method::Timed(_)))
            {
                return Err(
                    Failure::usage("--profile", "no experiment that can be recorded")
                        .remedy("record the experiment `calls`"),
                );
            }
            std::fs::create_dir_all(directory).map_err(|error| {
                Failure::usage(directory.display(), error).remedy("name a directory")
            })?;
        }
        for path in [&self.export_json, &self.export_markdown, &self.export_html]
            .into_iter()
            .flatten()
        {
            writable(path)?;
        }
        interrupts::watch();
        let mut session = BenchRun {
            results: Results {
                command: command(),
                machine: Machine::this(),
                rows: Vec::new(),
            },
            blocks: Vec::new(),
            screen: Screen::of_stdout(),
            missing: Vec::new(),
            left_out: Vec::new(),
            began,
            bench: &self,
        };
        session.run(&chosen)
    }
}

impl Bench {
    /// The experiments and rungs that the user asked for, each experiment once.
    fn chosen(&self) -> Result<Vec<Choice>, Failure> {
        if self.experiments.is_empty() {
            return Ok(ALL
                .iter()
                .map(|experiment| Choice::all_of(experiment))
                .collect());
        }
        let mut chosen: Vec<Choice> = Vec::new();
        for name in &self.experiments {
            let choice = if name.contains('/') {
                let (experiment, rung) = catalogue::find_rung(name)?;
                Choice {
                    experiment,
                    rungs: vec![rung.name],
                    named: vec![rung.name],
                }
            } else {
                Choice::all_of(catalogue::find(name)?)
            };
            match chosen
                .iter_mut()
                .find(|other| other.experiment.name == choice.experiment.name)
            {
                Some(other) => {
                    other.rungs.extend(choice.rungs);
                    other.named.extend(choice.named);
                }
                None => chosen.push(choice),
            }
        }
        Ok(chosen)
    }

    /// How much to measure of one experiment at one destination, in about so much time.
    fn plan(
        &self,
        choice: &Choice,
        method: Method,
        budget: Duration,
        until: Option<Instant>,
    ) -> Plan {
        let connections = match (&self.connections[..], self.quick) {
            ([], true) => runner::CONNECTIONS[..1].to_vec(),
            ([], false) => runner::CONNECTIONS.to_vec(),
            (given, _) => given.to_vec(),
        };
        let servers = choice.rungs.len() * connections.len();
        let default_runs = match method {
            Method::Programs if self.quick => 2,
            Method::Arrival(_) | Method::Programs => 3,
            Method::Requests(_) => runner::runs_within(budget, servers, self.quick),
            Method::Timed(_) if self.quick => 2,
            Method::Timed(_) => 3,
            Method::Frames if self.quick => 3,
            _ if self.quick => 5,
            _ => 10,
        };
        let pause = match (self.slow, self.quick) {
            (true, _) => 1_000,
            (false, true) => 12,
            (false, false) => 100,
        };
        let default_warmup = match method {
            // Verifying warms up.
            Method::Arrival(_)
            | Method::Requests(_)
            | Method::Timed(_)
            | Method::Frames
            | Method::Programs => 0,
            Method::Work | Method::Process | Method::Terminal => usize::from(!self.quick),
        };
        let size = match method {
            Method::Frames if !self.quick => Size {
                columns: 200,
                rows: 60,
            },
            _ => Size::USUAL,
        };
        Plan {
            runs: self.runs.map_or(default_runs, usize::from),
            warmup: self.warmup.map_or(default_warmup, usize::from),
            budget,
            messages: self.messages,
            connections,
            pause: Duration::from_millis(pause),
            time: match method {
                Method::Timed(timed) if !self.quick => timed.time,
                _ => Duration::from_millis(400),
            },
            size: self.size.unwrap_or(size),
            brief: self.quick,
            until,
        }
    }

    /// The time for everything, and the longest that one series needs.
    fn timetable(&self, chosen: &[Choice], began: Instant) -> Timetable {
        let weight = chosen
            .iter()
            .map(|choice| {
                let series = self.destinations(choice.experiment).len() as u32;
                series * self.weight(choice.experiment.method)
            })
            .sum();
        if self.quick {
            let left = QUICK.saturating_sub(began.elapsed());
            Timetable::new(left, weight, Duration::from_millis(1_200))
        } else {
            Timetable::new(
                Duration::from_secs(18 * 60),
                weight,
                Duration::from_secs(50),
            )
        }
    }

    /// When no more is begun, unless the user has said how much to measure.
    fn end(&self, began: Instant) -> Option<Instant> {
        let decides = self.runs.is_none() && self.messages.is_none();
        (self.quick && decides).then_some(began + LAST)
    }

    fn destinations(&self, experiment: &Experiment) -> Vec<Destination> {
        if !self.to.is_empty() {
            return self.to.clone();
        }
        let read = |name: &&str| {
            name.parse()
                .expect("an experiment's destinations are valid")
        };
        let all = experiment.to.iter().map(read);
        // A real terminal takes longer to open than all the rest; and to wait for one that does not read
        // takes a second for each rung.
        let stalled = Destination::Pty(destination::ReadPace::Stalled);
        let slow = |to: &Destination| {
            to.kind() == "terminal"
                || (matches!(experiment.method, Method::Frames) && *to == stalled)
        };
        let most = match experiment.method {
            // Each run of a language starts it twice, which is most of its time.
            Method::Programs if self.quick => 1,
            _ => usize::MAX,
        };
        all.filter(|to| !self.quick || !slow(to))
            .take(most)
            .collect()
    }

    /// Whether a rung is left to the whole bench, unless it was asked for by name.
    fn leaves_out(&self, experiment: &Experiment, rung: &Rung) -> bool {
        let is_repeated = matches!(experiment.method, Method::Programs)
            && (rung.is_relayed || matches!(rung.stream, StandardStream::Stderr));
        // Other bytes, compared among themselves: a further question.
        let is_aside = rung.message.is_some() && rung.baseline.is_some();
        self.quick && (is_repeated || is_aside || rung.takes_long)
    }

    /// How much longer a series measured so takes than most do.
    fn weight(&self, method: Method) -> u32 {
        match method {
            // Dozens of programs, each started a dozen times, however short the time is.
            Method::Programs if self.quick => 8,
            Method::Requests(_) | Method::Frames => 3,
            Method::Work
            | Method::Process
            | Method::Terminal
            | Method::Programs
            | Method::Arrival(_)
            | Method::Timed(_) => 1,
        }
    }
}

/// The time for all of a quick bench, of which compiling takes so much at most; and when it begins no more.
const QUICK: Duration = Duration::from_secs(50);
const COMPILING: Duration = Duration::from_secs(8);
const LAST: Duration = Duration::from_secs(57);

/// An experiment with those of its rungs that are wanted.
struct Choice {
    experiment: &'static Experiment,
    rungs: Vec<&'static str>,
    /// Those that the user asked for by name.
    named: Vec<&'static str>,
}

impl Choice {
    fn all_of(experiment: &'static Experiment) -> Self {
        Self {
            experiment,
            rungs: experiment.rungs.iter().map(|rung| rung.name).collect(),
            named: Vec::new(),
        }
    }

    /// Whether any of the chosen rungs is compared with this one.
    fn is_baseline(&self, rung: &Rung) -> bool {
        self.rungs()
            .any(|chosen| self.experiment.baseline_of(chosen) == rung.name)
    }

    fn rungs(&self) -> impl Iterator<Item = &'static Rung> {
        self.experiment
            .rungs
            .iter()
            .filter(|rung| self.rungs.contains(&rung.name))
    }
}

/// A bench while it runs.
struct BenchRun<'a> {
    bench: &'a Bench,
    results: Results,
    /// All that was said so far.
    blocks: Vec<Block>,
    screen: Screen,
    /// Rungs and destinations that the user asked for by name and that cannot run here.
    missing: Vec<Failure>,
    /// What a quick bench had no time for.
    left_out: Vec<&'static str>,
    began: Instant,
}

impl BenchRun<'_> {
    fn run(&mut self, chosen: &[Choice]) -> Outcome {
        self.say(Block::Origin(self.results.origin()))?;
        if let Some(warning) = disturbance(Duration::from_millis(300)) {
            self.say(Block::Warning(warning))?;
        }
        let progress = Progress::new();
        let nowhere = self.try_destinations(chosen, &progress);
        let chosen = if nowhere { &[] } else { chosen };
        let contestants = self.contestants(chosen, &progress);
        let mut timetable = self.bench.timetable(chosen, self.began);
        for (choice, contestants) in chosen.iter().zip(contestants) {
            if interrupts::came() {
                break;
            }
            self.experiment(choice, contestants, &mut timetable, &progress)?;
        }
        progress.erase();
        if let [first, ..] = self.left_out[..] {
            self.say(Block::Closing(format!(
                "Left out of the quick bench: {}. Each has its time by itself, as in outpace bench {first}.",
                self.left_out.join(", ")
            )))?;
        }
        if self.bench.quick {
            let experiments: Vec<&'static Experiment> =
                chosen.iter().map(|choice| choice.experiment).collect();
            let lines = summary(
                &experiments,
                &self.results.rows,
                self.screen.columns.min(100),
            );
            self.say(Block::Summary(lines))?;
        }
        self.save()?;
        if interrupts::came() {
            let has_figures = self.results.rows.iter().any(|row| row.runs > 0);
            let text = if has_figures {
                "these are the figures of what had been run"
            } else {
                "before there was a figure"
            };
            let _ = writeln!(std::io::stderr(), "outpace: interrupted: {text}");
            return Ok(interrupts::status());
        }
        let failed = self
            .results
            .rows
            .iter()
            .filter(|row| row.failed.is_some())
            .count();
        for missing in &self.missing {
            missing.report();
        }
        let rows = &self.results.rows;
        let is_empty = self.missing.is_empty()
            && !rows.is_empty()
            && rows.iter().all(|row| row.skipped.is_some());
        if is_empty {
            let _ = writeln!(
                std::io::stderr(),
                "outpace: nothing was measured, for the reasons above"
            );
        }
        Ok(if failed == 0 && self.missing.is_empty() && !is_empty {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    /// Opens what the user asked for before anything is compiled for it. Returns whether none of it can be had, in
    /// which case there is nothing to measure.
    fn try_destinations(&mut self, chosen: &[Choice], progress: &Progress) -> bool {
        let mut closed = Vec::new();
        for to in &self.bench.to {
            if interrupts::came() {
                break;
            }
            // A real terminal takes a moment to open.
            if *to != Destination::Tty {
                progress.show(&format!("opening {to}"), 0.0);
            }
            match Venue::probe(to, self.bench.size.unwrap_or(Size::USUAL)) {
                Ok(()) => {}
                Err(reason) => {
                    self.lacks(to, &reason);
                    closed.push((to, reason));
                }
            }
        }
        progress.erase();
        let nowhere = closed.len() == self.bench.to.len() && !closed.is_empty();
        // Rows say so, too.
        let choices = chosen.iter().filter(|_| nowhere);
        for (choice, (to, reason)) in
            choices.flat_map(|choice| closed.iter().map(move |it| (choice, it)))
        {
            let rows = choice.rungs().map(|rung| Row {
                experiment: choice.experiment.name.to_owned(),
                rung: rung.name.to_owned(),
                to: to.to_string(),
                skipped: Some(reason.clone()),
                ..Row::default()
            });
            self.results.rows.extend(rows);
        }
        nowhere
    }

    /// Notes that a destination cannot be had here which the user asked for by name.
    fn lacks(&mut self, to: &Destination, reason: &str) {
        let missing = Failure::failed(format!("--to {to}"), reason).remedy(remedy(to));
        if !self.missing.contains(&missing) {
            self.missing.push(missing);
        }
    }

    /// The contestants of each experiment, compiled before anything is measured.
    fn contestants(&self, chosen: &[Choice], progress: &Progress) -> Vec<Vec<Contestant>> {
        let compiling = if self.bench.quick {
            Compiling::Until(Instant::now() + COMPILING)
        } else {
            Compiling::Thorough
        };
        let of_choice = |choice: &Choice| {
            let experiment = choice.experiment;
            Contestant::all(experiment, compiling, |rung| {
                let asked = choice.named.contains(&rung.name);
                // The baseline always takes part.
                let wanted = choice.rungs.contains(&rung.name) || choice.is_baseline(rung);
                wanted && (asked || !self.bench.leaves_out(experiment, rung))
            })
        };
        let mut contestants: Vec<_> = chosen.iter().map(of_choice).collect();
        let all: Vec<_> = contestants.iter_mut().flatten().collect();
        let count = all.len();
        Contestant::make_ready(all, compiling, |ready| {
            progress.show("compiling", ready as f64 / count as f64);
        });
        progress.erase();
        contestants
    }

    fn experiment(
        &mut self,
        choice: &Choice,
        contestants: Vec<Contestant>,
        timetable: &mut Timetable,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let experiment = choice.experiment;
        let destinations = self.bench.destinations(experiment);
        let until = self.bench.end(self.began);
        if destinations.is_empty() || until.is_some_and(|until| Instant::now() > until) {
            self.left_out.push(experiment.name);
            return Ok(());
        }
        let (pictures, others): (Vec<_>, Vec<_>) = contestants
            .into_iter()
            .partition(|contestant| contestant.rung.draws.is_some());
        self.say(Block::Heading(experiment))?;
        let first = self.results.rows.len();
        for contestant in pictures.iter().chain(&others) {
            if let Some(reason) = contestant.obstacle()
                && choice.named.contains(&contestant.rung.name)
            {
                let rung = format!("{}/{}", experiment.name, contestant.rung.name);
                let missing = Failure::failed(rung, reason)
                    .remedy("install what is missing, or leave that rung out");
                self.missing.push(missing);
            }
        }
        for to in destinations {
            if interrupts::came() {
                break;
            }
            for contestants in [&others, &pictures] {
                let Some(first) = contestants.first() else {
                    continue;
                };
                let method = experiment.method_of(first.rung);
                let draws = first.rung.draws.is_some();
                let beside_the_point = draws && !to.is_terminal();
                if beside_the_point && self.bench.to.is_empty() {
                    continue;
                }
                let share = timetable.share(self.bench.weight(method));
                let plan = self.bench.plan(choice, method, share, until);
                self.series(experiment, contestants, &to, &plan, progress)?;
            }
        }
        let rows = &self.results.rows[first..];
        let conclusion = (experiment.conclusion)(&Figures::new(experiment.name, rows));
        if let Some(table) = columns::together(experiment, rows) {
            self.say(Block::Table(table))?;
        }
        self.say(Block::Conclusion(conclusion))
    }

    /// Contestants at one destination.
    fn series(
        &mut self,
        experiment: &'static Experiment,
        contestants: &[Contestant],
        to: &Destination,
        plan: &Plan,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let name = format!("{} to {to}", experiment.name);
        if *to != Destination::Tty {
            progress.show(&name, 0.0);
        }
        let outcome = runner::run(experiment, contestants, to, plan, &mut |text, done| {
            // This terminal is busy being measured.
            if *to != Destination::Tty {
                progress.show(&format!("{name}: {text}"), done);
            }
        });
        progress.erase();
        if let Some(reason) = &outcome.unavailable
            && self.bench.to.contains(to)
        {
            let reason = reason.clone();
            self.lacks(to, &reason);
        }
        if outcome.rows.is_empty() {
            let is_known = self.left_out.last() == Some(&experiment.name);
            if !is_known && !interrupts::came() {
                self.left_out.push(experiment.name);
            }
            return Ok(());
        }
        self.say(Block::Table(columns::table(
            experiment,
            &to.to_string(),
            &outcome.rows,
        )))?;
        for warning in outcome.warnings {
            self.say(Block::Warning(warning))?;
        }
        self.results.rows.extend(outcome.rows);
        self.save()?;
        if let (Some(directory), Method::Timed(_)) = (&self.bench.profile, experiment.method) {
            self.profile(directory, experiment, contestants, to, plan, progress)?;
        }
        Ok(())
    }

    /// Records each of an experiment's rungs once more.
    fn profile(
        &mut self,
        directory: &Path,
        experiment: &Experiment,
        contestants: &[Contestant],
        to: &Destination,
        plan: &Plan,
        progress: &Progress,
    ) -> Result<(), Failure> {
        for contestant in contestants {
            if interrupts::came() {
                break;
            }
            let name = format!("{} to {to}: recording {}", experiment.name, contestant.name);
            progress.show(&name, 0.0);
            let file = directory.join(format!("{}.json", contestant.name));
            let recorded = profile(contestant, to, plan);
            progress.erase();
            match recorded {
                Ok(profile) => write(&file, &profile)?,
                Err(reason) => self.say(Block::Warning(format!("{name}: {reason}")))?,
            }
        }
        Ok(())
    }

    /// To the screen, and kept for the exports.
    fn say(&mut self, block: Block) -> Result<(), Failure> {
        print(&block.to_screen(self.screen))?;
        self.blocks.push(block);
        Ok(())
    }

    fn save(&self) -> Result<(), Failure> {
        if let Some(path) = &self.bench.export_json {
            self.results.write(path)?;
        }
        if let Some(path) = &self.bench.export_markdown {
            write(path, &markdown::document(&self.blocks))?;
        }
        if let Some(path) = &self.bench.export_html {
            let cards = html::cards(ALL, &self.results.rows);
            write(path, &html::document("outpace bench", &cards, &self.blocks))?;
        }
        Ok(())
    }
}

/// The command as it was typed, but for its path.
fn command() -> String {
    let words = std::env::args().skip(1);
    ["outpace".to_owned()]
        .into_iter()
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The remedy for a destination that cannot be opened.
fn remedy(to: &Destination) -> &'static str {
    match to {
        Destination::Tty => "run it in a terminal, or measure one that outpace opens: --to pty",
        Destination::Emulator(_) => {
            "install it, or name another terminal; --to pty needs no program"
        }
        _ => "name another destination; outpace bench --help lists them",
    }
}

/// Finds out before the measuring rather than after it.
fn writable(path: &Path) -> Result<(), Failure> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .map(drop)
        .map_err(|error| {
            Failure::usage(path.display(), error).remedy("name a file that can be written")
        })
}

/// Each experiment with where it is from and with its rungs: for a terminal broken at its width, else a line each.
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
            let origin = match rung.origin {
                Origin::Published(Some(seconds)) => format!("published, {seconds} s"),
                Origin::Published(None) => "published".to_owned(),
                Origin::Outpace => "outpace".to_owned(),
                Origin::Added => "for comparison".to_owned(),
            };
            let name = format!("{}/{}", experiment.name, rung.name);
            text += &screen.item(&name, width, &format!("{} ({origin})", rung.about), 2);
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

/// A recording of one run, as a profile. It has as many markers as a megabyte holds.
fn profile(contestant: &Contestant, to: &Destination, plan: &Plan) -> Result<String, String> {
    const MARKERS: usize = 6_000;
    let said = |error: std::io::Error| error.to_string();
    let scratch = scratch().map_err(said)?;
    let venue = Venue::open(to, plan.size, &scratch)?;
    let sink = venue.sink(Wanted::default()).map_err(said)?;
    let mut command = contestant.command(plan.messages.unwrap_or(0), plan.time)?;
    runner::ignore_wishes(&mut command);
    let (measured, end) = sink.split();
    match contestant.rung.stream {
        StandardStream::Stdout => command.stdout(measured),
        StandardStream::Stderr => command.stderr(measured).stdout(Stdio::null()),
    };
    let profile = trace::profile_of(command, MARKERS).map_err(said)?;
    end.finish().map_err(said)?;
    serde_json::to_string(&profile).map_err(|error| error.to_string())
}
