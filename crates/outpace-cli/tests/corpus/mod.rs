//! The corpus of small programs in `bench/corpus`: built on first use, skipped aloud without its tools.

// Several test programs share this, and none uses all of it.
#![allow(dead_code)]

use super::scripted::{Terminal, installed, scratch, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// One line of `programs.txt`.
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) language: String,
    build: Vec<String>,
    /// The command, without the number of lines.
    pub(crate) run: Vec<String>,
    pub(crate) stream: String,
    /// On a terminal, into a pipe, into a file; empty where no buffering is expected.
    pub(crate) buffering: [String; 3],
    /// Its names where it writes to a terminal, into a pipe and into a file; none when there is none.
    pub(crate) remedy: Option<[String; 3]>,
}

fn directory() -> PathBuf {
    let ours = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/corpus");
    let directory = std::env::var_os("OUTPACE_CORPUS").map_or_else(ours, PathBuf::from);
    directory.canonicalize().unwrap()
}

fn built() -> PathBuf {
    let name = directory().file_name().unwrap().to_owned();
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&built).unwrap();
    built
}

/// Every program of the corpus, built or not.
pub(crate) fn programs() -> Vec<Program> {
    let (sources, built) = (directory(), built());
    let text = std::fs::read_to_string(sources.join("programs.txt")).unwrap();
    let words = |field: &str| -> Vec<String> {
        let place = |word: &str| {
            word.replace("{out}", built.to_str().unwrap())
                .replace("{}", sources.to_str().unwrap())
        };
        field.split_whitespace().map(place).collect()
    };
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split('|').map(str::trim).collect();
            let [
                name,
                language,
                build,
                run,
                stream,
                terminal,
                pipe,
                file,
                remedy,
            ] = fields[..]
            else {
                panic!("{line:?} has {} fields", fields.len());
            };
            Program {
                name: name.to_owned(),
                language: language.to_owned(),
                build: words(build),
                run: words(run),
                stream: stream.to_owned(),
                buffering: [terminal, pipe, file].map(str::to_owned),
                remedy: match remedy.split_whitespace().collect::<Vec<_>>()[..] {
                    [] => None,
                    [one] => Some([one; 3].map(str::to_owned)),
                    [terminal, pipe, file] => Some([terminal, pipe, file].map(str::to_owned)),
                    _ => panic!("{line:?} has neither one remedy nor three"),
                },
            }
        })
        .collect()
}

/// The programs that this test program has built. Two tests may want the same one at the same time, and a file that is
/// being executed cannot be built.
static BUILT: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

impl Program {
    /// A file that says by which command it was built.
    fn stamp(&self) -> PathBuf {
        built().join(format!("{}.built", self.name))
    }

    /// Whether an earlier run has built it so, since a file of the corpus was last changed.
    fn is_built(&self) -> bool {
        let changed = |path: &Path| path.metadata()?.modified();
        let sources = std::fs::read_dir(directory()).unwrap();
        let sources = sources.map(|entry| changed(&entry.unwrap().path()).unwrap());
        std::fs::read_to_string(self.stamp()).is_ok_and(|built| built == self.build.join(" "))
            && changed(&self.stamp()).ok() > sources.max()
    }

    /// Builds it, once; false, and a line that says so, without its tools.
    pub(crate) fn is_ready(&self) -> bool {
        let tools = [
            self.build.first(),
            self.run.first().filter(|run| !run.contains('/')),
        ];
        if !tools.into_iter().flatten().all(|tool| installed(tool)) {
            eprintln!("skipped: {}", self.name);
            return false;
        }
        let mut done = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        if let [tool, arguments @ ..] = &self.build[..]
            && !done.contains(&self.name)
            && !self.is_built()
        {
            let built = Command::new(tool)
                .args(arguments)
                .env("GOFLAGS", "-mod=mod")
                .current_dir(built())
                .stdin(Stdio::null())
                .output()
                .unwrap();
            assert!(
                built.status.success(),
                "{}: {}",
                self.name,
                String::from_utf8_lossy(&built.stderr)
            );
            std::fs::write(self.stamp(), self.build.join(" ")).unwrap();
        }
        done.insert(self.name.clone());
        true
    }
}

/// Where a program writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    Terminal,
    Pipe,
    File,
}

impl To {
    pub(crate) const ALL: [Self; 3] = [Self::Terminal, Self::Pipe, Self::File];
}

/// How a program is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Sampled,
    /// The same, without privileges.
    SampledAsUser,
    Exact,
}

/// `PATH` with a `perf` that fails at once before all others: call stacks take the exact mode ten times as long as a short program.
pub(crate) fn path_without_perf() -> String {
    let directory = built().join("without-perf");
    std::fs::create_dir_all(&directory).unwrap();
    // It may be there already.
    let _ = symlink("/bin/false", directory.join("perf"));
    let path = std::env::var("PATH").unwrap();
    format!("{}:{path}", directory.display())
}

/// Traces a program of the corpus on one kind of destination.
pub(crate) fn trace(program: &Program, mode: Mode, to: To, lines: u32) -> Value {
    let report = scratch(&format!("{}-{mode:?}-{to:?}.json", program.name));
    let mut words: Vec<String> = vec!["env".into(), "-u".into(), "PYTHONUNBUFFERED".into()];
    words.push(format!("PATH={}", path_without_perf()));
    if mode == Mode::SampledAsUser {
        words.extend(["setpriv", "--bounding-set=-all", "--inh-caps=-all"].map(String::from));
    }
    words.extend([env!("CARGO_BIN_EXE_outpace"), "trace", "--json"].map(String::from));
    words.push(report.to_str().unwrap().to_owned());
    if mode == Mode::Exact {
        words.push("--exact".to_owned());
    }
    // A program that writes to stderr gets our stdout as its stderr: our own is for the report.
    let redirect = if program.stream == "stderr" {
        " 2>&1"
    } else {
        ""
    };
    let script = format!("exec {} {lines}{redirect}", program.run.join(" "));
    words.extend(["--", "sh", "-c"].map(String::from));
    words.push(script);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    match to {
        To::Terminal => {
            let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
            let mut terminal = Terminal::start("env", &words, false);
            assert!(terminal.wait().success(), "{}", program.name);
        }
        To::Pipe => {
            let mut child = command
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut reader = child.stdout.take().unwrap();
            // Beside stderr, which some programs fill, too.
            let reader = std::thread::spawn(move || {
                let mut buffer = vec![0; 1 << 16];
                while reader.read(&mut buffer).unwrap() > 0 {}
            });
            assert!(
                child.wait_with_output().unwrap().status.success(),
                "{}",
                program.name
            );
            reader.join().unwrap();
        }
        To::File => {
            let file = File::create(scratch("file")).unwrap();
            let output = command.stdout(file).output().unwrap();
            assert!(
                output.status.success(),
                "{}: {}",
                program.name,
                text(&output.stderr)
            );
        }
    }
    serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap()
}

/// The stream that most was written to, among those with this name.
pub(crate) fn stream<'a>(findings: &'a Value, name: &str) -> Option<&'a Value> {
    let streams = findings["streams"].as_array().unwrap().iter();
    streams
        .filter(|stream| stream["name"] == name)
        .max_by_key(|stream| stream["bytes"].as_u64())
}

/// `block 4096`, `line`, …
pub(crate) fn named(stream: &Value) -> String {
    match (
        stream["buffering"].as_str().unwrap(),
        stream["capacity"].as_u64(),
    ) {
        (word, Some(capacity)) => format!("{word} {capacity}"),
        (word, None) => word.to_owned(),
    }
}
