//! Rungs in other languages: how a source file becomes a program. Compiled rungs are kept in the user's cache until the
//! source, the compiler, its flags or the processor change.

mod cache;
mod tools;

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::platform::interrupts;
use tools::Build::{Classes, Compile, CompileTo, Interpret};

pub(crate) use cache::cache;
pub(crate) use tools::{
    SourceLanguage, Toolchain, all, find_program, first_line, is_executable, toolchains,
};

/// A rung's source, embedded in this program.
pub(crate) struct Source {
    pub(crate) language: SourceLanguage,
    /// The file's name, such as `turbo.c`.
    pub(crate) file: &'static str,
    pub(crate) text: &'static str,
}

impl Source {
    /// Whether it is to be linked with outpace's C interface.
    fn needs_library(&self) -> bool {
        let asks = |text: &str| text.contains("#include \"outpace.h");
        let includes = |name: &str| self.text.contains(&format!("#include \"{name}\""));
        let mut included = INCLUDED.iter();
        asks(self.text) || included.any(|(name, text)| includes(name) && asks(text))
    }

    /// Further flags for the compiler: a line of the source, `// flags: …`.
    fn flags(&self) -> impl Iterator<Item = &'static str> {
        self.asks_for("// flags: ")
    }

    /// The packages of npm that it imports: a line of the source, `// npm: …`.
    fn packages(&self) -> impl Iterator<Item = &'static str> {
        self.asks_for("// npm: ")
    }

    fn asks_for(&self, what: &str) -> impl Iterator<Item = &'static str> {
        let mut lines = self.text.lines();
        let line = lines.find_map(|line| line.strip_prefix(what));
        line.unwrap_or_default().split_whitespace()
    }
}

/// The directory that has all of these npm packages: one of `NODE_PATH`, our cache, or npm's directory for all users. No
/// package is fetched.
fn node_modules(packages: &[&str]) -> Result<PathBuf, String> {
    let own = cache()?.join("node");
    let named = std::env::var_os("NODE_PATH").unwrap_or_default();
    let shared = ["/usr/local/lib/node_modules", "/usr/lib/node_modules"];
    let has_all = |place: &PathBuf| {
        let mut packages = packages.iter();
        packages.all(|package| place.join(package).join("package.json").is_file())
    };
    std::env::split_paths(&named)
        .chain([own.join("node_modules")])
        .chain(shared.map(PathBuf::from))
        .find(has_all)
        .ok_or_else(|| {
            let packages = packages.join(" ");
            let own = own.display();
            format!("no {packages} of npm's here: npm install --prefix {own} {packages}")
        })
}

/// The files that sources include; `rung.h` is that of every rung in C and C++.
const INCLUDED: &[(&str, &str)] = &[
    ("rung.h", include_str!("../../../bench/rung.h")),
    ("outpace.h", include_str!("../../../include/outpace.h")),
    ("outpace.hpp", include_str!("../../../include/outpace.hpp")),
    (
        "reader.cpp",
        include_str!("../../../bench/input/reader.cpp"),
    ),
    ("outpace.c", include_str!("../../../bench/ladder/outpace.c")),
    ("random.h", include_str!("../../../bench/ladder/random.h")),
];

/// The library behind `outpace.h`: named by `OUTPACE_C_LIBRARY`, or built beside this program.
fn library() -> Result<PathBuf, String> {
    let named = std::env::var_os("OUTPACE_C_LIBRARY").map(PathBuf::from);
    let beside = || {
        Some(
            std::env::current_exe()
                .ok()?
                .with_file_name("liboutpace_c.a"),
        )
    };
    named
        .or_else(beside)
        .filter(|library| library.is_file())
        .ok_or_else(|| {
            "liboutpace_c.a is not beside this program: cargo build --release -p outpace-c"
                .to_owned()
        })
}

/// Runs a program to its end, or kills it and its children at a given time or an interruption. Returns its status and its
/// stderr, or `None` if it was killed.
fn ended_by(
    command: &mut Command,
    until: Option<Instant>,
) -> io::Result<Option<(ExitStatus, String)>> {
    let is_over = || interrupts::came() || until.is_some_and(|until| Instant::now() >= until);
    if is_over() {
        return Ok(None);
    }
    let mut stderr = tempfile::tempfile()?;
    command.stdout(Stdio::null()).stderr(stderr.try_clone()?);
    // Compilers start others.
    command.process_group(0);
    let mut child = command.spawn()?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if is_over() {
            // The kernel does not reuse its number until it is waited for.
            let group = Pid::from_child(&child);
            let _ = kill_process_group(group, Signal::KILL);
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut bytes = Vec::new();
    stderr.seek(SeekFrom::Start(0))?;
    stderr.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Some((status, text)))
}

/// The file name of a compiled rung in its directory.
const BUILT: &str = "rung";

impl Toolchain {
    /// The command that runs a source, compiled first where that is needed and not done yet; compiling ends at a given
    /// time, done or not. The error is the compiler's.
    pub(crate) fn command(
        &self,
        source: &Source,
        until: Option<Instant>,
    ) -> Result<Command, String> {
        let directory = self.directory(source)?;
        self.prepare_once(source, &directory, until)?;
        let file = directory.join(source.file);
        Ok(match self.build {
            Compile(_) | CompileTo(..) => Command::new(directory.join(BUILT)),
            Classes => {
                let mut command = Command::new(self.program.with_file_name("java"));
                command.arg("-cp").arg(&directory).arg("Rung");
                command
            }
            Interpret(flags) => {
                let mut command = Command::new(&self.program);
                command.args(self.leading).args(flags).arg(file);
                let packages: Vec<&str> = source.packages().collect();
                if !packages.is_empty() {
                    command.env("NODE_PATH", node_modules(&packages)?);
                }
                command
            }
        })
    }

    /// Builds a source that is not built yet. Several rungs may have the same one, and be made ready at the same time.
    fn prepare_once(
        &self,
        source: &Source,
        directory: &Path,
        until: Option<Instant>,
    ) -> Result<(), String> {
        static BUILDING: Mutex<BTreeMap<PathBuf, Arc<Mutex<()>>>> = Mutex::new(BTreeMap::new());
        let own = BUILDING
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(directory.to_owned())
            .or_default()
            .clone();
        let _building = own.lock().unwrap_or_else(PoisonError::into_inner);
        if directory.exists() {
            return Ok(());
        }
        self.prepare(source, directory, until)
    }

    /// Builds in a directory of this process's own, and moves it into place when it is complete.
    fn prepare(
        &self,
        source: &Source,
        directory: &Path,
        until: Option<Instant>,
    ) -> Result<(), String> {
        let mut draft = directory.as_os_str().to_owned();
        draft.push(format!(".{}", std::process::id()));
        let draft = PathBuf::from(draft);
        let written = fs::create_dir_all(&draft)
            .and_then(|()| fs::write(draft.join(source.file), source.text))
            .and_then(|()| {
                let mut included = INCLUDED.iter();
                included.try_for_each(|(name, text)| fs::write(draft.join(name), text))
            })
            .map_err(|error| format!("{}: {error}", draft.display()));
        let result = written
            .and_then(|()| self.build(&draft, source, until))
            .and_then(|()| {
                match fs::rename(&draft, directory) {
                    // Another process was faster: its result is the same.
                    Err(_) if directory.exists() => Ok(()),
                    moved => moved.map_err(|error| format!("{}: {error}", directory.display())),
                }
            });
        // It is gone if it was moved into place.
        let _ = fs::remove_dir_all(&draft);
        result
    }

    fn build(
        &self,
        directory: &Path,
        source: &Source,
        until: Option<Instant>,
    ) -> Result<(), String> {
        let file = source.file;
        let mut compiler = Command::new(&self.program);
        compiler
            .args(self.leading)
            .current_dir(directory)
            // If the compiler is killed, its temporary files go with the draft.
            .env("TMPDIR", directory)
            .stdin(Stdio::null());
        match self.build {
            Compile(flags) => {
                compiler
                    .args(flags)
                    .args(source.flags())
                    .args(["-o", BUILT, file]);
                if source.needs_library() {
                    compiler.arg(library()?).args(["-lpthread", "-ldl", "-lm"]);
                }
                &mut compiler
            }
            CompileTo(flags, prefix) => compiler
                .args(flags)
                .arg(format!("{prefix}{BUILT}"))
                .arg(file),
            Classes => compiler.args(["-d", ".", file]),
            Interpret(_) => return Ok(()),
        };
        let ended =
            ended_by(&mut compiler, until).map_err(|error| format!("{}: {error}", self.name))?;
        let Some((status, stderr)) = ended else {
            return Err(format!(
                "{} has not compiled it yet, and a quick bench waits no longer; the next one goes on with it",
                self.name
            ));
        };
        if status.success() {
            return Ok(());
        }
        let first = stderr
            .lines()
            .find(|line| line.contains("undefined reference"))
            .or(stderr.lines().find(|line| line.contains("error")))
            .or(stderr.lines().next());
        Err(format!(
            "{} could not compile it: {}",
            self.name,
            first.unwrap_or("no reason given")
        ))
    }

    /// The place in the user's cache for this source, this compiler and this processor.
    fn directory(&self, source: &Source) -> Result<PathBuf, String> {
        let mut hasher = DefaultHasher::new();
        let library = source.needs_library().then(|| {
            let status = fs::metadata(library().ok()?).ok()?;
            Some((status.len(), status.mtime(), status.mtime_nsec()))
        });
        (source.text, INCLUDED, library).hash(&mut hasher);
        (&self.program, &self.version, self.build, cpu_model()).hash(&mut hasher);
        let key = format!("{}-{}-{:016x}", source.file, self.name, hasher.finish());
        Ok(cache()?.join("rungs").join(key))
    }
}

/// The processor's name as the kernel gives it; `-march=native` depends on it.
pub(crate) fn cpu_model() -> &'static str {
    static MODEL: OnceLock<String> = OnceLock::new();
    MODEL.get_or_init(|| {
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        info.lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
            .map_or_else(
                || std::env::consts::ARCH.to_owned(),
                |(_, model)| model.trim().to_owned(),
            )
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

    use super::*;

    #[test]
    fn rungs_of_one_source_that_are_made_ready_at_once_build_it_once() {
        let scratch = tempfile::tempdir().unwrap();
        let (compiler, built) = (
            scratch.path().join("compiler"),
            scratch.path().join("built"),
        );
        let script = "#!/bin/sh\nsleep 0.1\nfor source; do :; done\ncp $source rung && echo built >>$OLDPWD/log\n";
        let script = script.replace("$OLDPWD", &scratch.path().display().to_string());
        fs::write(&compiler, script).unwrap();
        fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
        let toolchain = Toolchain {
            name: "slow",
            program: compiler,
            leading: &[],
            build: Compile(&[]),
            version: String::new(),
        };
        let source = Source {
            language: SourceLanguage::C,
            file: "rung.c",
            text: "int main(void) { return 0; }",
        };
        let all_begin = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            let ready = || {
                all_begin.wait();
                toolchain.prepare_once(&source, &built, None)
            };
            let all: Vec<_> = (0..4).map(|_| scope.spawn(ready)).collect();
            for ready in all {
                assert_eq!(ready.join().unwrap(), Ok(()));
            }
        });
        let log = fs::read_to_string(scratch.path().join("log")).unwrap();
        assert_eq!(log, "built\n");
        assert!(built.join(BUILT).is_file());
    }

    #[test]
    fn a_compiler_that_is_not_done_in_time_is_killed_with_what_it_started() {
        let scratch = tempfile::tempdir().unwrap();
        let alive = scratch.path().join("alive");
        rustix::fs::mkfifoat(rustix::fs::CWD, &alive, 0o600.into()).unwrap();
        let mut limit = Duration::from_millis(100);
        loop {
            let mut pipe = fs::File::options()
                .read(true)
                .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
                .open(&alive)
                .unwrap();
            let mut compiler = Command::new("sh");
            // It holds the pipe open, and so does its child.
            compiler
                .args(["-c", "exec 3>\"$0\"; sleep 1000 & echo both >&3; wait"])
                .arg(&alive);
            let until = Instant::now() + limit;
            assert!(ended_by(&mut compiler, Some(until)).unwrap().is_none());
            let (mut stderr, asked) = (String::new(), Instant::now());
            // The end of the pipe: both have been killed.
            while pipe.read_to_string(&mut stderr).is_err() {
                assert!(asked.elapsed() < Duration::from_secs(60), "{stderr:?}");
                std::thread::sleep(Duration::from_millis(5));
            }
            if stderr == "both\n" {
                break;
            }
            // The time was too short for a busy machine to start both.
            limit *= 2;
            assert!(limit < Duration::from_secs(60), "{stderr:?}");
        }
        let mut quick = Command::new("sh");
        quick.args(["-c", "echo an error >&2; exit 3"]);
        let (status, stderr) = ended_by(&mut quick, None).unwrap().unwrap();
        assert_eq!((status.code(), stderr.as_str()), (Some(3), "an error\n"));
    }

    #[test]
    fn a_source_that_includes_the_header_through_another_is_linked_with_the_library() {
        let source = |text| Source {
            language: SourceLanguage::C,
            file: "rung.c",
            text,
        };
        assert!(source("#include \"outpace.h\"").needs_library());
        assert!(source(include_str!("../../../bench/ladder/random-outpace.c")).needs_library());
        assert!(!source(include_str!("../../../bench/ladder/turbo.c")).needs_library());
    }
}
