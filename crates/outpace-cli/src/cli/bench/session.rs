//! A bench while it runs: experiment after experiment, each shown as soon as it is measured.

use std::io::Write;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use super::Bench;
use super::choice::Choice;
use super::plan::COMPILING;
use crate::bench::catalogue::ALL;
use crate::bench::destination::Destination;
use crate::bench::destination::open::OpenDestination;
use crate::bench::destination::reader::Wanted;
use crate::bench::experiment::{Experiment, Method};
use crate::bench::results::machine::{Machine, disturbance};
use crate::bench::results::rows::{Results, Row};
use crate::bench::runner::contestant::Contestant;
use crate::bench::runner::timetable::Timetable;
use crate::bench::runner::{self, Plan};
use crate::bench::toolchain;
use crate::bench::view::block::Block;
use crate::bench::view::columns;
use crate::bench::view::html;
use crate::bench::view::markdown;
use crate::bench::view::summary::{self, summary};
use crate::fps::canvas::StandardStream;
use crate::platform::{interrupts, scratch, signals};
use crate::trace;
use crate::user::failure::{Failure, Outcome};
use crate::user::output::{print, write};
use crate::user::progress::Progress;
use crate::user::screen::{Screen, takes_escapes};

/// A bench while it runs.
pub(super) struct Session<'a> {
    bench: &'a Bench,
    results: Results,
    /// The report so far.
    blocks: Vec<Block>,
    screen: Screen,
    progress: Progress,
    /// Rungs and destinations that the user has named, and that are not available here.
    missing: Vec<Failure>,
    /// Experiments for which a quick bench had no time.
    left_out: Vec<&'static str>,
    began: Instant,
}

impl<'a> Session<'a> {
    pub(super) fn new(bench: &'a Bench, began: Instant) -> Self {
        Self {
            bench,
            results: Results {
                command: command(),
                machine: Machine::this(),
                rows: Vec::new(),
            },
            blocks: Vec::new(),
            screen: Screen::of_stdout(),
            progress: Progress::new(),
            missing: Vec::new(),
            left_out: Vec::new(),
            began,
        }
    }

    pub(super) fn run(&mut self, chosen: &[Choice]) -> Outcome {
        // First of all, since compilers take seconds to tell their versions.
        if self.try_destinations(chosen) {
            self.save()?;
            return Ok(ExitCode::FAILURE);
        }
        self.results.machine.compilers = toolchain::all();
        self.say(Block::Origin(self.results.origin()))?;
        if let Some(warning) = disturbance(Duration::from_millis(300)) {
            self.say(Block::Warning(warning))?;
        }
        let contestants = self.contestants(chosen);
        let mut timetable = self.bench.timetable(chosen, self.began);
        for (choice, contestants) in chosen.iter().zip(contestants) {
            if interrupts::came() {
                break;
            }
            self.experiment(choice, contestants, &mut timetable)?;
        }
        self.progress.erase();
        if let [first, ..] = self.left_out[..] {
            self.say(Block::Closing(format!(
                "Left out of the quick bench: {}. Each has its time by itself, as in outpace bench {first}.",
                self.left_out.join(", ")
            )))?;
        }
        if self.bench.quick {
            let experiments: Vec<&'static Experiment> =
                chosen.iter().map(|choice| choice.experiment).collect();
            let columns = self.screen.columns.min(100);
            let lines = summary(&experiments, &self.results.rows, columns);
            self.say(Block::Summary(lines))?;
        }
        self.save()?;
        if interrupts::came() {
            let has_figures = self.results.rows.iter().any(|row| row.runs > 0);
            let text = if has_figures {
                "these are the figures so far"
            } else {
                "there are no figures yet"
            };
            let _ = writeln!(std::io::stderr(), "outpace: interrupted: {text}");
            return Ok(interrupts::status());
        }
        for missing in &self.missing {
            missing.report();
        }
        let rows = &self.results.rows;
        let has_failed = rows.iter().any(|row| row.failed.is_some());
        let is_empty = self.missing.is_empty()
            && !rows.is_empty()
            && rows.iter().all(|row| row.skipped.is_some());
        if is_empty {
            let _ = writeln!(
                std::io::stderr(),
                "outpace: nothing was measured, for the reasons above"
            );
        }
        Ok(if has_failed || is_empty || !self.missing.is_empty() {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        })
    }

    /// Opens the destinations that the user has named, and reports at once those that are not available. Returns whether
    /// none is available: then there is no measurement.
    fn try_destinations(&mut self, chosen: &[Choice]) -> bool {
        let mut closed = Vec::new();
        for to in &self.bench.to {
            if interrupts::came() {
                break;
            }
            // A real terminal takes a moment to open.
            if *to != Destination::Tty {
                self.progress.show(&format!("opening {to}"), 0.0);
            }
            if let Err(reason) = OpenDestination::probe(to, self.bench.size.unwrap_or_default()) {
                self.progress.erase();
                self.lacks(to, &reason).report();
                closed.push((to, reason));
            }
        }
        self.progress.erase();
        let nowhere = closed.len() == self.bench.to.len() && !closed.is_empty();
        // The exports have the reason, too.
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

    /// Notes that a destination which the user has named is not available here.
    fn lacks(&mut self, to: &Destination, reason: &str) -> Failure {
        let missing = Failure::failed(format!("--to {to}"), reason).remedy(remedy(to));
        if !self.missing.contains(&missing) {
            self.missing.push(missing.clone());
        }
        missing
    }

    /// The contestants of each experiment, compiled before anything is measured.
    fn contestants(&self, chosen: &[Choice]) -> Vec<Vec<Contestant>> {
        let quick = self.bench.quick;
        let until = quick.then(|| Instant::now() + COMPILING);
        let of_choice = |choice: &Choice| {
            let experiment = choice.experiment;
            Contestant::all(experiment, quick, |rung| {
                let asked = choice.named.contains(&rung.name);
                // The baseline always takes part.
                let wanted = choice.rungs.contains(&rung.name) || choice.is_baseline(rung);
                wanted && (asked || !self.bench.leaves_out(experiment, rung))
            })
        };
        let mut contestants: Vec<_> = chosen.iter().map(of_choice).collect();
        let all: Vec<_> = contestants.iter_mut().flatten().collect();
        let count = all.len();
        Contestant::make_ready(all, until, |ready| {
            self.progress.show("compiling", ready as f64 / count as f64);
        });
        self.progress.erase();
        contestants
    }

    fn experiment(
        &mut self,
        choice: &Choice,
        contestants: Vec<Contestant>,
        timetable: &mut Timetable,
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
                self.series(experiment, contestants, &to, &plan)?;
            }
        }
        let rows = &self.results.rows[first..];
        let conclusion = experiment.conclude(rows);
        if let Some(table) = columns::together(experiment, rows) {
            self.say(Block::Table(table))?;
        }
        self.say(Block::Conclusion(conclusion))
    }

    /// Measures contestants at one destination, and shows their table.
    fn series(
        &mut self,
        experiment: &'static Experiment,
        contestants: &[Contestant],
        to: &Destination,
        plan: &Plan,
    ) -> Result<(), Failure> {
        let name = format!("{} to {to}", experiment.name);
        if *to != Destination::Tty {
            self.progress.show(&name, 0.0);
        }
        let outcome = runner::run(experiment, contestants, to, plan, &mut |text, done| {
            // This terminal is busy being measured.
            if *to != Destination::Tty {
                self.progress.show(&format!("{name}: {text}"), done);
            }
        });
        self.progress.erase();
        if let Some(reason) = &outcome.unavailable
            && self.bench.to.contains(to)
        {
            self.lacks(to, reason);
        }
        if outcome.rows.is_empty() {
            let is_known = self.left_out.last() == Some(&experiment.name);
            if !is_known && !interrupts::came() {
                self.left_out.push(experiment.name);
            }
            return Ok(());
        }
        let table = columns::table(experiment, &to.to_string(), &outcome.rows);
        self.say(Block::Table(table))?;
        for warning in outcome.warnings {
            self.say(Block::Warning(warning))?;
        }
        self.results.rows.extend(outcome.rows);
        self.save()?;
        if let (Some(directory), Method::Timed(_)) = (&self.bench.profile, experiment.method) {
            self.profile(directory, experiment, contestants, to, plan)?;
        }
        Ok(())
    }

    /// Runs each contestant once more, and writes its profile.
    fn profile(
        &mut self,
        directory: &Path,
        experiment: &Experiment,
        contestants: &[Contestant],
        to: &Destination,
        plan: &Plan,
    ) -> Result<(), Failure> {
        for contestant in contestants {
            if interrupts::came() {
                break;
            }
            let name = format!("{} to {to}: recording {}", experiment.name, contestant.name);
            self.progress.show(&name, 0.0);
            let file = directory.join(format!("{}.json", contestant.name));
            let recorded = profile(contestant, to, plan);
            self.progress.erase();
            match recorded {
                Ok(profile) => write(&file, &profile)?,
                Err(reason) => self.say(Block::Warning(format!("{name}: {reason}")))?,
            }
        }
        Ok(())
    }

    /// Shows a block, and keeps it for the exports.
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
            let cards = summary::cards(ALL, &self.results.rows);
            write(path, &html::document("outpace bench", &cards, &self.blocks))?;
        }
        Ok(())
    }
}

/// The command as it was typed, but for its path.
fn command() -> String {
    let words = std::env::args().skip(1).map(|word| format!(" {word}"));
    "outpace".to_owned() + &words.collect::<String>()
}

/// The remedy for a destination that cannot be opened.
fn remedy(to: &Destination) -> &'static str {
    match to {
        Destination::Tty if !takes_escapes() => {
            "set TERM to your terminal's name, such as TERM=xterm-256color, or --to pty"
        }
        Destination::Tty => "run it in a terminal, or measure one that outpace opens: --to pty",
        Destination::Emulator(_) => {
            "install it, or name another terminal; --to pty needs no program"
        }
        _ => "name another destination; outpace bench --help lists them",
    }
}

/// A recording of one run, as a profile of about a megabyte.
fn profile(contestant: &Contestant, to: &Destination, plan: &Plan) -> Result<String, String> {
    const MARKERS: usize = 6_000;
    let reason = |error: std::io::Error| error.to_string();
    let scratch = scratch().map_err(reason)?;
    let destination = OpenDestination::open(to, plan.size, &scratch)?;
    // Before the thread that reads is started, which would get the signals otherwise.
    let _children = interrupts::hear_of_children();
    let sink = destination.sink(Wanted::default()).map_err(reason)?;
    let mut command = contestant.command(plan.messages.unwrap_or(0), plan.time)?;
    runner::ignore_settings(&mut command);
    signals::pass_on_to(&mut command);
    let (measured, end) = sink.split();
    match contestant.rung.stream {
        StandardStream::Stdout => command.stdout(measured),
        StandardStream::Stderr => command.stderr(measured).stdout(Stdio::null()),
    };
    let profile = trace::profile_of(command, MARKERS).map_err(reason)?;
    end.finish().map_err(reason)?;
    serde_json::to_string(&profile).map_err(|error| error.to_string())
}
