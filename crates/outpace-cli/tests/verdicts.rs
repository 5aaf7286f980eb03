//! How right `trace` is: every program of the corpus, on a terminal, into a pipe and into a file, with and without
//! privileges, several times; then a row for each promise, beside its target.
//!
//! ```text
//! cargo test --release -p outpace-cli --test verdicts -- --ignored --nocapture
//! ```
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `OUTPACE_ROUNDS` | runs of each program | 3 |
//! | `OUTPACE_LINES` | lines that each prints | 200,000 |
//! | `OUTPACE_PROGRAM` | a part of the names of the programs that are wanted | all |
//! | `OUTPACE_AS` | `root` or `user` alone | both |
//! | `OUTPACE_TO` | `terminal`, `pipe` or `file` alone | all |
//! | `OUTPACE_CORPUS` | the directory of another corpus | `bench/corpus` |
//! | `OUTPACE_REPORTS` | a directory for the findings of each run | none |
//!
//! The cost of trace is measured by `trace_in_the_default_mode_costs_next_to_nothing` of the test `targets`. No figure fails the
//! test: the times are for the reader to judge, on a machine without other work.
//!
//! The truth of an estimate: the part of the program's time that the advice saves, traced on the same destination (of the medians
//! of the rounds, or of three runs where they are short), in the time of the run that is judged. A verdict is wrong if it names
//! calls as the limit where the advice gains no time, or no limit where the advice gains a quarter. A program that is its own
//! remedy has nothing to gain, however its times differ. A processor that is shared changes its speed from one second to the
//! next: a run and its remedied one are repeated, ten times at most, where a loop of the same length took a tenth longer before
//! or after them, or where the machine's host took a twentieth of the time; and each run is compared with its own time.

mod corpus;
mod scripted;

use corpus::{Mode, Program, To, named, trace};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

fn setting<T: std::str::FromStr>(name: &str, default: T) -> T {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Runs that are shorter than this differ by as much as the advice may save: the truth is of so many of them.
const SHORT_NS: f64 = 100e6;
const RUNS_OF_SHORT: usize = 3;

/// By how much the processor's speed may differ before and after what is compared, the part of the time that the machine's host may
/// take from it beside two of the kernel's units, and how often that is tried.
const SAME_SPEED: f64 = 1.1;
const STOLEN: f64 = 0.05;
const TRIES: usize = 10;

/// So many of so many.
#[derive(Default)]
struct Part {
    of_them: usize,
    all: usize,
}

impl Part {
    fn count(&mut self, holds: bool) {
        self.of_them += usize::from(holds);
        self.all += 1;
    }

    fn share(&self) -> f64 {
        self.of_them as f64 / self.all.max(1) as f64
    }
}

/// The figures of all programs.
#[derive(Default)]
struct Table {
    wrong: Vec<String>,
    useless: Vec<String>,
    runs: usize,
    advised: usize,
    cannot_tell: Part,
    no_verdict: Part,
    inside: Part,
    narrow: Part,
    /// The same, of the time that is left.
    narrow_left: Part,
    same: Part,
    /// Runs beside remedied ones at another speed of the processor.
    changing: usize,
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn now_ns(findings: &Value) -> f64 {
    findings["verdict"]["now_ns"].as_f64().unwrap()
}

fn write_calls(findings: &Value) -> u64 {
    findings["tree"]["write_calls"].as_u64().unwrap()
}

/// How long a loop of always the same length takes: the least of several, as other work may interrupt one.
fn loop_ns() -> f64 {
    let time = |_| {
        let began = Instant::now();
        std::hint::black_box((0..2_000_000_u64).fold(1, |sum: u64, n| {
            std::hint::black_box(sum.wrapping_mul(31) ^ n)
        }));
        began.elapsed().as_nanos() as f64
    };
    (0..5).map(time).fold(f64::INFINITY, f64::min)
}

/// The time that the host of a virtual machine took from its processors until now, which the kernel counts in hundredths of a second
/// (`steal` in proc(5)).
fn stolen_ns() -> f64 {
    let times = std::fs::read_to_string("/proc/stat").unwrap();
    let stolen = times.split_whitespace().nth(8).unwrap();
    stolen.parse::<f64>().unwrap() * 1e7
}

/// What `run` measures while the processor keeps its speed, and whether it did not in any try.
fn at_one_speed<T>(most: usize, mut run: impl FnMut() -> T) -> (T, bool) {
    let mut before = loop_ns();
    let mut tries = 1;
    loop {
        let (began, stolen_before_ns) = (Instant::now(), stolen_ns());
        let measured = run();
        let most_stolen_ns = 2e7 + STOLEN * began.elapsed().as_nanos() as f64;
        let is_stolen = stolen_ns() - stolen_before_ns > most_stolen_ns;
        let after = loop_ns();
        let changed = is_stolen || before.max(after) > SAME_SPEED * before.min(after);
        if !changed || tries == most {
            return (measured, changed);
        }
        before = after;
        tries += 1;
    }
}

/// The program that a program becomes by its advice, if there is another.
fn remedy<'a>(program: &Program, to: To, programs: &'a [Program]) -> Option<&'a Program> {
    // A shell's writes stay as many where no other process makes them.
    if program.run[0] == "sh" && to != To::Terminal {
        return None;
    }
    let name = &program.remedy.as_ref()?[to as usize];
    let found = programs.iter().find(|other| other.name == *name);
    found.filter(|remedy| remedy.is_ready())
}

impl Table {
    /// Judges the runs of one program on one destination, beside those of its remedy.
    fn judge(&mut self, program: &Program, to: To, runs: &[Value], remedied: Option<&[Value]>) {
        let name = format!("{} to {to:?}", program.name);
        for findings in runs {
            self.runs += 1;
            self.judge_names(&name, program, to, findings);
        }
        let limits: Vec<&str> = runs
            .iter()
            .map(|run| run["verdict"]["limit"].as_str().unwrap())
            .collect();
        let usual = limits
            .iter()
            .max_by_key(|limit| limits.iter().filter(|other| other == limit).count());
        for limit in &limits {
            self.same.count(Some(&limit) == usual.as_ref());
            self.no_verdict.count(*limit == "unknown");
        }
        let mut line = format!("{name:<28} {:<24}", limits.join(" "));
        if let Some(remedied) = remedied {
            let truth = median(remedied.iter().map(now_ns).collect());
            let now = median(runs.iter().map(now_ns).collect());
            line += &format!(" {:>8.1} -> {:>8.1} ms:", now / 1e6, truth / 1e6);
            let is_its_own = program.remedy.as_ref();
            let is_its_own = is_its_own.is_some_and(|names| names[to as usize] == program.name);
            let saved = [(1.0 - truth / now).max(0.0), 0.0][usize::from(is_its_own)];
            for findings in runs {
                let ends = &findings["verdict"]["blocks_save_interval_ns"];
                let (low, high) = (ends[0].as_f64().unwrap(), ends[1].as_f64().unwrap());
                let now = now_ns(findings);
                let is_inside = (low..=high).contains(&(saved * now));
                self.inside.count(is_inside);
                let texts = findings["verdict"]["text"].as_array().unwrap();
                let states_it = |text: &Value| {
                    let text = text.as_str().unwrap();
                    let what = ["Block buffering", "Larger blocks"];
                    what.iter()
                        .any(|what| text.starts_with(&format!("{what} would save")))
                };
                if texts.iter().any(states_it) {
                    self.narrow.count(high <= 2.0 * low);
                    self.narrow_left.count(now - low <= 2.0 * (now - high));
                }
                let mark = if is_inside { "" } else { "!" };
                line += &format!(" saves {:.1} to {:.1}{mark}", low / 1e6, high / 1e6);
            }
            let usual = usual.copied().unwrap_or_default();
            let misses_it = usual == "none" && truth < 0.75 * now && !is_its_own;
            if misses_it || (usual == "calls" && truth > now) {
                self.wrong.push(format!(
                    "{name}: {usual}, but {:.1} ms became {:.1}",
                    now / 1e6,
                    truth / 1e6
                ));
            }
            let advice = runs[0]["verdict"]["remedies"][0].as_str();
            if let Some(advice) = advice.filter(|_| usual == "calls") {
                self.advised += 1;
                let (before, after) = (write_calls(&runs[0]), write_calls(&remedied[0]));
                if program.run[0] != "sh" && after * 2 > before {
                    self.useless
                        .push(format!("{name}: {before} calls, {after} after {advice:?}"));
                }
            }
        }
        println!("{line}");
    }

    /// The process, its language and its buffering.
    fn judge_names(&mut self, name: &str, program: &Program, to: To, findings: &Value) {
        let streams = findings["streams"].as_array().unwrap().iter();
        let calls = |stream: &&Value| stream["calls"].as_u64().unwrap();
        let (own, others): (Vec<&Value>, Vec<&Value>) =
            streams.partition(|stream| stream["language"] == *program.language);
        // One that ended before it was looked at has a name, of 15 bytes at most, but no language: that cannot be told. A script may have
        // become a program that it is told.
        let is_named = |stream: &&&Value| {
            let name = stream["program"].as_str().unwrap();
            let is_it = |word: &String| {
                let file = Path::new(word).file_name().and_then(OsStr::to_str);
                file.is_some_and(|it| it == name || (name.len() == 15 && it.starts_with(name)))
            };
            stream["language"] == "unrecognised" && program.run.iter().any(is_it)
        };
        let others = others.iter().filter(|stream| !is_named(stream));
        let by_others: u64 = others.map(calls).sum();
        // The scripts that start an interpreter write little; a shell script is several programs.
        if program.run[0] != "sh" && by_others * 10 > write_calls(findings).max(1000) {
            self.wrong
                .push(format!("{name}: {by_others} writes are credited to others"));
        }
        let expected = &program.buffering[to as usize];
        if expected.is_empty() {
            return;
        }
        let found = own
            .into_iter()
            .max_by_key(calls)
            .map_or("unknown".to_owned(), named);
        let cannot_tell = ["unknown", "small writes"].contains(&&*found);
        self.cannot_tell.count(cannot_tell);
        let too_few = ["too few writes", "nothing written"].contains(&&*found);
        if !cannot_tell && !too_few && found != *expected {
            self.wrong
                .push(format!("{name}: {found} instead of {expected}"));
        }
    }

    fn print(&self) {
        let row = |what: &str, figure: String, target: &str, met: bool| {
            let met = if met { "met" } else { "missed" };
            println!("| {what} | {figure} | {target} | {met} |");
        };
        let share = |part: &Part| format!("{:.3} of {}", part.share(), part.all);
        println!("\n| what | found | target | |\n|---|---|---|---|");
        row(
            "wrong process, language, buffering or verdict",
            format!("{} of {} runs", self.wrong.len(), self.runs),
            "0",
            self.wrong.is_empty(),
        );
        println!(
            "| runs between which the processor changed its speed | {} | | |",
            self.changing
        );
        row(
            "\"cannot tell\" how it is buffered",
            share(&self.cannot_tell),
            "at most 0.1",
            self.cannot_tell.share() <= 0.1,
        );
        row(
            "no verdict",
            share(&self.no_verdict),
            "at most 0.1",
            self.no_verdict.share() <= 0.1,
        );
        row(
            "advice that does not save half of the calls",
            format!("{} of {}", self.useless.len(), self.advised),
            "0",
            self.useless.is_empty(),
        );
        row(
            "truth in the interval",
            share(&self.inside),
            "at least 0.9",
            self.inside.share() >= 0.9,
        );
        row(
            "the interval's ends within a factor of 2",
            share(&self.narrow),
            "at least 0.75",
            self.narrow.share() >= 0.75,
        );
        row(
            "the ends of the time that is left, which is not stated, within a factor of 2",
            share(&self.narrow_left),
            "none",
            true,
        );
        row(
            "verdict from run to run the same",
            share(&self.same),
            "at least 0.98",
            self.same.share() >= 0.98,
        );
        for wrong in self.wrong.iter().chain(&self.useless) {
            println!("- {wrong}");
        }
    }
}

#[test]
#[ignore = "measures"]
fn how_right_trace_is_about_the_corpus() {
    let (rounds, lines) = (
        setting("OUTPACE_ROUNDS", 3),
        setting("OUTPACE_LINES", 200_000),
    );
    let text = |name| setting(name, String::new());
    let [wanted, by, only_to, reports] = [
        "OUTPACE_PROGRAM",
        "OUTPACE_AS",
        "OUTPACE_TO",
        "OUTPACE_REPORTS",
    ]
    .map(text);
    let programs = corpus::programs();
    for (who, mode) in [("root", Mode::Sampled), ("user", Mode::SampledAsUser)] {
        if !by.is_empty() && by != who || (who == "user" && !scripted::installed("setpriv")) {
            continue;
        }
        println!("\n## As {who}, {lines} lines, {rounds} rounds\n");
        let mut table = Table::default();
        for program in programs
            .iter()
            .filter(|program| program.name.contains(&wanted) && program.is_ready())
        {
            for to in To::ALL {
                if !format!("{to:?}").to_lowercase().contains(&only_to) {
                    continue;
                }
                let remedy = remedy(program, to, &programs);
                // In turn, so that what else the machine does is the same for both.
                let (mut runs, mut remedied) = (Vec::new(), Vec::new());
                for round in 0..rounds {
                    let named = &program.name;
                    let keep = |program: &Program, part: &str| {
                        let findings = trace(program, mode, to, lines);
                        if !reports.is_empty() {
                            let name = format!("{who}-{named}-{to:?}-{round}{part}.json");
                            std::fs::write(Path::new(&reports).join(name), findings.to_string())
                                .unwrap();
                        }
                        findings
                    };
                    let tries = if remedy.is_some() { TRIES } else { 1 };
                    let (run, changed) = at_one_speed(tries, || {
                        let run = keep(program, "");
                        (run, remedy.map(|remedy| keep(remedy, "-remedied")))
                    });
                    table.changing += usize::from(changed && remedy.is_some());
                    runs.push(run.0);
                    remedied.extend(run.1);
                }
                while let Some(remedy) = remedy
                    && remedied.len() < RUNS_OF_SHORT
                    && now_ns(&remedied[0]) < SHORT_NS
                {
                    remedied.push(trace(remedy, mode, to, lines));
                }
                let remedied = remedy.is_some().then_some(&remedied[..]);
                table.judge(program, to, &runs, remedied);
            }
        }
        table.print();
    }
    println!(
        "| lines of `trace`, tests not counted | {} | at most 5000 | |",
        lines_of_trace()
    );
    println!(
        "| a program of 70 ms, traced / alone | {:.2} | about 1 | |",
        of_70_ms(rounds)
    );
}

/// Lines of Rust in `src/trace` that are neither empty nor comments nor tests.
fn lines_of_trace() -> usize {
    let mut left = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/trace")];
    let mut lines = 0;
    while let Some(path) = left.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            left.extend(entries.map(|entry| entry.unwrap().path()));
            continue;
        }
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let end = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
        let code = text[..end].lines().map(str::trim);
        lines += code
            .filter(|line| !line.is_empty() && !line.starts_with("//"))
            .count();
    }
    lines
}

/// The whole time of `outpace trace` on a program that sleeps for 70 ms, by that of the program.
fn of_70_ms(rounds: usize) -> f64 {
    let time = |command: &mut Command| {
        let began = Instant::now();
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(status.unwrap().success());
        began.elapsed().as_secs_f64()
    };
    let ratios = (0..rounds).map(|_| {
        let traced = time(scripted::outpace("trace").args(["sleep", "0.07"]));
        traced / time(Command::new("sleep").arg("0.07"))
    });
    median(ratios.collect())
}
