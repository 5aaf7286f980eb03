//! The languages of rungs with their compilers and interpreters, and which of these are installed.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use Build::{Classes, Compile, CompileTo, Interpret};

pub(super) type Words = &'static [&'static str];

/// One way to run a language: the programs to look for, and how to use them.
struct Tool {
    /// The name rungs get after a dot when a language has several tools.
    name: &'static str,
    /// Programs to look for; the first found is taken. A name that ends in `-` takes a version.
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
#[derive(Clone, Copy, Hash)]
pub(super) enum Build {
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
}

variants! { Tool:
    version(version: &'static str) version = version;
    only_without_others() only_without_others = true;
    leading(leading: Words) leading = leading;
    real(real: Words) real = real;
}

/// A tool that is present on this machine.
#[derive(Clone)]
pub(crate) struct Toolchain {
    /// The short name, such as `gcc`.
    pub(crate) name: &'static str,
    pub(super) program: PathBuf,
    pub(super) leading: Words,
    pub(super) build: Build,
    /// The first line of its answer to the question for its version.
    pub(crate) version: String,
}

/// The toolchains found for a language: one for each tool, or the reason there is none.
pub(crate) fn toolchains(language: SourceLanguage) -> Result<Vec<Toolchain>, String> {
    static FOUND: Mutex<BTreeMap<SourceLanguage, Vec<Toolchain>>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
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
            let answer = |program: &Path, arguments: &[&str]| {
                let (succeeded, line) = first_line(program, arguments)?;
                succeeded.then_some(line)
            };
            let real = (!self.real.is_empty()).then(|| answer(&launcher, self.real));
            let program = real.flatten().map_or(launcher, PathBuf::from);
            let version = answer(&program, &[self.leading, &[self.version]].concat())?;
            Some(Toolchain {
                name: self.name,
                version,
                program,
                leading: self.leading,
                build: self.build,
            })
        })
    }
}

/// Whether a program succeeds, and the first line with a text that it writes to stdout or else to stderr; `None` where it
/// cannot be started.
pub(crate) fn first_line(program: impl AsRef<OsStr>, arguments: &[&str]) -> Option<(bool, String)> {
    let mut command = Command::new(program);
    let output = command.args(arguments).stdin(Stdio::null()).output().ok()?;
    let bytes = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    Some((output.status.success(), line.unwrap_or_default().to_owned()))
}

/// Looks for a program in `PATH`. A name that ends in `-` finds the highest version: `clang-`
/// finds `clang-19` rather than `clang-9`.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    if !name.ends_with('-') {
        return std::env::split_paths(&path)
            .map(|directory| directory.join(name))
            .find(|path| is_executable(path));
    }
    let version = |path: &Path| -> Option<u32> {
        path.file_name()?.to_str()?.strip_prefix(name)?.parse().ok()
    };
    std::env::split_paths(&path)
        .filter_map(|directory| fs::read_dir(directory).ok())
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| version(path).is_some() && is_executable(path))
        .max_by_key(|path| version(path))
}

/// Whether a path leads to a file that can be executed.
pub(crate) fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
