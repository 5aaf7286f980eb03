//! Rungs in other languages: which compilers and interpreters there are, and how a source file
//! becomes a program. Compiled rungs are kept in the user's cache until the source, the compiler,
//! its flags or the processor change.

use crate::platform::{interrupts, scratch};
use rustix::fs::Access;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

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
        let mut others = OTHER_FILES.iter();
        asks(self.text) || others.any(|(name, text)| includes(name) && asks(text))
    }

    /// Further flags for the compiler: a line of the source, `// flags: …`.
    fn flags(&self) -> impl Iterator<Item = &'static str> {
        self.asks_for("// flags: ")
    }

    /// What it imports of npm's packages: a line of the source, `// npm: …`.
    fn packages(&self) -> impl Iterator<Item = &'static str> {
        self.asks_for("// npm: ")
    }

    fn asks_for(&self, what: &str) -> impl Iterator<Item = &'static str> {
        let mut lines = self.text.lines();
        let line = lines.find_map(|line| line.strip_prefix(what));
        line.unwrap_or_default().split_whitespace()
    }
}

/// Where npm's packages are, if all of them are at one place: in `NODE_PATH`, in our cache, or where npm puts them for all users.
/// Nothing is fetched.
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

/// The files that sources include beside [`HEADER`].
const OTHER_FILES: &[(&str, &str)] = &[
    ("outpace.h", include_str!("../../include/outpace.h")),
    ("outpace.hpp", include_str!("../../include/outpace.hpp")),
    ("reader.cpp", include_str!("../../bench/input/reader.cpp")),
    ("outpace.c", include_str!("../../bench/ladder/outpace.c")),
    ("random.h", include_str!("../../bench/ladder/random.h")),
];

/// The library behind `outpace.h`: what `OUTPACE_C_LIBRARY` names, or what was built beside this program.
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

use Build::{Classes, Compile, CompileTo, Interpret};

type Words = &'static [&'static str];

/// One way to run a language: what to look for, and what to do with it.
struct Tool {
    /// The name rungs get after a dot when a language has several tools.
    name: &'static str,
    /// Programs to look for, the first found is taken. A name ending in `-` takes a version.
    programs: Words,
    /// Arguments that are part of the program itself, such as `-m ziglang`.
    leading: Words,
    /// The argument that asks for its version.
    version: &'static str,
    /// Whether it is looked for only where the language has no other tool here.
    only_without_others: bool,
    /// Arguments that make a launcher, such as a version manager's, name the program it would start.
    real: Words,
    build: Build,
}

/// How a source becomes something that runs.
#[derive(Clone, Copy)]
enum Build {
    /// `program FLAGS… -o OUTPUT SOURCE` makes a program.
    Compile(Words),
    /// As `Compile`, where the output is named by this prefix, in one word.
    CompileTo(Words, &'static str),
    /// `javac -d DIRECTORY SOURCE`, then `java -cp DIRECTORY Rung`.
    Classes,
    /// `program FLAGS… SOURCE` runs it.
    Interpret(Words),
}

/// The best each compiler can do, and POSIX and GNU names visible.
const C_FLAGS: &[&str] = &["-O3", "-march=native", "-std=gnu11"];
const CPP_FLAGS: &[&str] = &["-O3", "-march=native", "-std=gnu++17"];
const RUST_FLAGS: &[&str] = &["-O", "-C", "target-cpu=native", "--edition", "2021"];
const ZIG: Build = CompileTo(&["build-exe", "-O", "ReleaseFast", "-lc"], "-femit-bin=");

macro_rules! languages {
    ($($language:ident $name:literal: $($tool:expr),+;)*) => {
        /// A language rungs are written in.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum SourceLanguage { $($language),* }

        impl SourceLanguage {
            const ALL: &[Self] = &[$(Self::$language),*];

            const fn name(self) -> &'static str {
                match self { $(Self::$language => $name),* }
            }

            const fn tools(self) -> &'static [Tool] {
                match self { $(Self::$language => const { &[$($tool),+] }),* }
            }
        }
    };
}

// A language a row: its name, and its tools. To add one: a row.
languages! {
    Awk "awk": Tool::new("gawk", &["gawk"], Interpret(&["-f"])), Tool::new("mawk", &["mawk"], Interpret(&["-f"])).version("-Wversion"),
        Tool::new("awk", &["awk"], Interpret(&["-f"])).version("BEGIN { print \"awk\" }").only_without_others();
    Bash "bash": Tool::new("bash", &["bash"], Interpret(&[]));
    C "C": Tool::new("gcc", &["gcc"], Compile(C_FLAGS)), Tool::new("clang", &["clang", "clang-"], Compile(C_FLAGS)),
        Tool::new("cc", &["cc"], Compile(C_FLAGS)).only_without_others();
    Cpp "C++": Tool::new("gcc", &["g++"], Compile(CPP_FLAGS)), Tool::new("clang", &["clang++", "clang++-"], Compile(CPP_FLAGS)),
        Tool::new("c++", &["c++"], Compile(CPP_FLAGS)).only_without_others();
    Go "Go": Tool::new("go", &["go"], Compile(&["build"])).version("version");
    Java "Java": Tool::new("java", &["javac"], Classes);
    JavaScript "JavaScript": Tool::new("node", &["node"], Interpret(&[]));
    Lua "Lua": Tool::new("lua", &["lua", "lua5.4", "lua5.3"], Interpret(&[])).version("-v");
    Perl "Perl": Tool::new("perl", &["perl"], Interpret(&[]));
    Php "PHP": Tool::new("php", &["php"], Interpret(&[]));
    Python "Python": Tool::new("python", &["python3"], Interpret(&[])).real(&["-c", "import sys; print(sys.executable)"]);
    Ruby "Ruby": Tool::new("ruby", &["ruby"], Interpret(&[]));
    Rust "Rust": Tool::new("rustc", &["rustc"], Compile(RUST_FLAGS));
    Zig "Zig": Tool::new("zig", &["zig"], ZIG).version("version"), Tool::new("zig", &["python3"], ZIG).version("version").leading(&["-m", "ziglang"]);
}

impl Tool {
    const fn new(name: &'static str, programs: Words, build: Build) -> Self {
        Self {
            name,
            programs,
            leading: &[],
            version: "--version",
            only_without_others: false,
            real: &[],
            build,
        }
    }

    const fn version(self, version: &'static str) -> Self {
        Self { version, ..self }
    }

    const fn only_without_others(self) -> Self {
        Self {
            only_without_others: true,
            ..self
        }
    }

    const fn leading(self, leading: Words) -> Self {
        Self { leading, ..self }
    }

    const fn real(self, real: Words) -> Self {
        Self { real, ..self }
    }
}

/// A tool that is present on this machine.
#[derive(Clone)]
pub(crate) struct Toolchain {
    /// The short name, such as `gcc`.
    pub(crate) name: &'static str,
    program: PathBuf,
    leading: Words,
    build: Build,
    /// The first line of what it says of itself.
    pub(crate) version: String,
}

/// The toolchains found for a language: one for each tool, or the reason there is none.
pub(crate) fn toolchains(language: SourceLanguage) -> Result<Vec<Toolchain>, String> {
    static FOUND: Mutex<BTreeMap<SourceLanguage, Vec<Toolchain>>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let toolchains = found.entry(language).or_insert_with(|| {
        let mut present: Vec<Toolchain> = Vec::new();
        for tool in language.tools() {
            let is_new = present.iter().all(|toolchain| toolchain.name != tool.name);
            if is_new && (present.is_empty() || !tool.only_without_others) {
                present.extend(tool.find());
            }
        }
        present
    });
    if toolchains.is_empty() {
        let programs: Vec<String> = language.tools().iter().map(Tool::called).collect();
        return Err(format!(
            "no {} here (looked for {})",
            language.name(),
            programs.join(", ")
        ));
    }
    Ok(toolchains.clone())
}

/// Every toolchain that is present, as `name: version`.
pub(crate) fn all() -> BTreeMap<String, String> {
    SourceLanguage::ALL
        .iter()
        .flat_map(|&language| toolchains(language).unwrap_or_default())
        .map(|toolchain| (toolchain.name.to_owned(), toolchain.version))
        .collect()
}

impl Tool {
    /// The command that was looked for.
    fn called(&self) -> String {
        [&self.programs[..1], self.leading].concat().join(" ")
    }

    fn find(&self) -> Option<Toolchain> {
        self.programs.iter().find_map(|name| {
            let launcher = find_program(name)?;
            let real = (!self.real.is_empty())
                .then(|| said(&launcher, self.real))
                .flatten();
            let program = real.map_or(launcher, PathBuf::from);
            let asked: Vec<&str> = self.leading.iter().copied().chain([self.version]).collect();
            Some(Toolchain {
                name: self.name,
                version: said(&program, &asked)?,
                program,
                leading: self.leading,
                build: self.build,
            })
        })
    }
}

/// Runs a program to its end, or kills it and what it has started at a given time or an interruption; gives its status
/// and what it said on stderr, or `None` if it was killed.
fn ended_by(
    command: &mut Command,
    until: Option<Instant>,
) -> io::Result<Option<(ExitStatus, String)>> {
    let is_over = || interrupts::came() || until.is_some_and(|until| Instant::now() >= until);
    if is_over() {
        return Ok(None);
    }
    let mut said = tempfile::tempfile()?;
    command.stdout(Stdio::null()).stderr(said.try_clone()?);
    // Compilers have others work for them.
    command.process_group(0);
    let mut child = command.spawn()?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if is_over() {
            // Its number is its own until it is waited for.
            let group = Pid::from_child(&child);
            let _ = kill_process_group(group, Signal::KILL);
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut bytes = Vec::new();
    said.seek(SeekFrom::Start(0))?;
    said.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Some((status, text)))
}

/// The first line of what a program prints that says something, if it ends well.
fn said(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| {
        let mut lines = text.lines().map(str::trim);
        lines
            .find(|line| !line.is_empty())
            .unwrap_or_default()
            .to_owned()
    })
}

/// Looks for a program in `PATH`. A name that ends in `-` finds the highest version: `clang-`
/// finds `clang-19` rather than `clang-9`.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let executable = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    if !name.ends_with('-') {
        return std::env::split_paths(&path)
            .map(|directory| directory.join(name))
            .find(|path| executable(path));
    }
    let version = |path: &Path| -> Option<u32> {
        path.file_name()?.to_str()?.strip_prefix(name)?.parse().ok()
    };
    std::env::split_paths(&path)
        .filter_map(|directory| fs::read_dir(directory).ok())
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| version(path).is_some() && executable(path))
        .max_by_key(|path| version(path))
}

/// The file name of a compiled rung in its directory.
const BUILT: &str = "rung";
/// The header that every C and C++ rung includes.
const HEADER: (&str, &str) = ("rung.h", include_str!("../../bench/rung.h"));

impl Toolchain {
    /// The command that runs a source, compiled first where that is needed and not done yet. The
    /// error is what the compiler said.
    pub(crate) fn command(&self, source: &Source) -> Result<Command, String> {
        self.command_by(source, None)
    }

    /// The same, where compiling ends at a given time, done or not.
    pub(crate) fn command_by(
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
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .entry(directory.to_owned())
            .or_default()
            .clone();
        let _building = own
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if directory.exists() {
            return Ok(());
        }
        self.prepare(source, directory, until)
    }

    /// Builds in a directory of this process's own and moves it into place complete, so that
    /// another outpace never sees half of it.
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
            .and_then(|()| fs::write(draft.join(HEADER.0), HEADER.1))
            .and_then(|()| {
                let mut others = OTHER_FILES.iter();
                others.try_for_each(|(name, text)| fs::write(draft.join(name), text))
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
        // Gone already when it was moved into place.
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
            // What a compiler that is killed leaves there goes with the draft.
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
        let Some((status, said)) = ended else {
            return Err(format!(
                "{} has not compiled it yet, and a quick bench waits no longer; the next one goes on with it",
                self.name
            ));
        };
        if status.success() {
            return Ok(());
        }
        let first = said
            .lines()
            .find(|line| line.contains("undefined reference"))
            .or(said.lines().find(|line| line.contains("error")))
            .or(said.lines().next());
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
            let status = library()
                .and_then(|library| fs::metadata(library).map_err(|error| error.to_string()));
            status
                .map(|status| (status.len(), status.mtime(), status.mtime_nsec()))
                .ok()
        });
        (
            source.text,
            HEADER.1,
            OTHER_FILES,
            library,
            &self.program,
            &self.version,
            cpu_model(),
        )
            .hash(&mut hasher);
        match self.build {
            Compile(flags) | CompileTo(flags, _) => flags.hash(&mut hasher),
            Classes | Interpret(_) => {}
        }
        let key = format!("{}-{}-{:016x}", source.file, self.name, hasher.finish());
        Ok(cache()?.join("rungs").join(key))
    }
}

/// Where programs are kept that were built here: `$XDG_CACHE_HOME/outpace`, by default `~/.cache/outpace`. Without a
/// home that can be used, a directory of this user's own among the temporary files.
///
/// Files there are executed. So a directory that another user owns or can write to is never taken.
pub(crate) fn cache() -> Result<&'static Path, String> {
    static CACHE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = CACHE.get_or_init(|| {
        let temporary = format!("outpace-{}", rustix::process::geteuid().as_raw());
        absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
            .map(|base| base.join("outpace"))
            .into_iter()
            .chain([std::env::temp_dir().join(temporary)])
            .find(|directory| is_private(directory).unwrap_or(false))
            .map_or_else(
                || {
                    let made = scratch().map(tempfile::TempDir::keep);
                    made.map_err(|error| format!("no directory for built rungs: {error}"))
                },
                Ok,
            )
    });
    cache.as_deref().map_err(Clone::clone)
}

/// Creates a directory, if it is not there, and tells whether only this user can change what is in it.
fn is_private(directory: &Path) -> io::Result<bool> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    // Not through a symbolic link, which might be another user's.
    let found = fs::symlink_metadata(directory)?;
    let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    // A file system that was mounted read-only says so here.
    let is_writable = rustix::fs::access(directory, Access::WRITE_OK).is_ok();
    Ok(is_ours && found.mode() & 0o022 == 0 && is_writable)
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
            build: Build::Compile(&[]),
            version: String::new(),
        };
        let source = Source {
            language: SourceLanguage::C,
            file: "rung.c",
            text: "int main(void) { return 0; }",
        };
        std::thread::scope(|scope| {
            let ready = || toolchain.prepare_once(&source, &built, None);
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
        let mut compiler = Command::new("sh");
        // Holds the pipe open, as does the one that it starts.
        compiler
            .args(["-c", "exec 3>\"$0\"; sleep 1000 & wait"])
            .arg(&alive);
        std::thread::scope(|scope| {
            let end = scope.spawn(|| {
                let mut pipe = fs::File::open(&alive).unwrap();
                pipe.read_to_end(&mut Vec::new()).unwrap()
            });
            let soon = Instant::now() + Duration::from_millis(300);
            assert!(ended_by(&mut compiler, Some(soon)).unwrap().is_none());
            // The end of the pipe: none of them holds it.
            assert_eq!(end.join().unwrap(), 0);
        });
        let mut quick = Command::new("sh");
        quick.args(["-c", "echo an error >&2; exit 3"]);
        let (status, said) = ended_by(&mut quick, None).unwrap().unwrap();
        assert_eq!((status.code(), said.as_str()), (Some(3), "an error\n"));
    }

    #[test]
    fn what_includes_the_header_by_way_of_another_source_is_linked_with_the_library_too() {
        let source = |text| Source {
            language: SourceLanguage::C,
            file: "rung.c",
            text,
        };
        assert!(source("#include \"outpace.h\"").needs_library());
        assert!(source(include_str!("../../bench/ladder/random-outpace.c")).needs_library());
        assert!(!source(include_str!("../../bench/ladder/turbo.c")).needs_library());
    }

    #[test]
    fn a_directory_that_others_can_change_is_not_private() {
        let scratch = tempfile::tempdir().unwrap();
        let (ours, theirs) = (scratch.path().join("a/b"), scratch.path().join("open"));
        assert!(is_private(&ours).unwrap());
        assert!(is_private(&ours).unwrap(), "it is there already");
        fs::create_dir(&theirs).unwrap();
        fs::set_permissions(&theirs, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(!is_private(&theirs).unwrap());
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(&ours, &link).unwrap();
        assert!(!is_private(&link).unwrap_or(false));
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&ours, Some(65534), None).unwrap();
            assert!(!is_private(&ours).unwrap());
        }
    }
}
