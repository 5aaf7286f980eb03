//! The corpus of small programs in `bench/corpus`: built on first use, skipped aloud without its tools.

// Several test programs share this, and none uses all of it.
#![allow(dead_code)]

use super::scripted::installed;
use std::collections::BTreeSet;
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
    /// On a terminal, into a pipe, into a file; empty when nothing is said.
    pub(crate) buffering: [String; 3],
    /// Its names where it writes to a terminal, into a pipe and into a file; none when there is none.
    pub(crate) remedy: Option<[String; 3]>,
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../bench/corpus")
        .canonicalize()
        .unwrap()
}

fn built() -> PathBuf {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("corpus");
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

/// What this test program has built. Tests want the same ones at the same time, and what is being built, or
/// runs, cannot be built.
static BUILT: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

impl Program {
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
            done.insert(self.name.clone());
        }
        true
    }
}
