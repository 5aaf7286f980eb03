//! Which language a program is written in, and what its author can do about its output.
//!
//! A wrong name leads to advice that changes nothing. So a program counts as written in a language only if its
//! executable file shows that; one that is none of these is called unrecognised.

use super::tally::Buffering;
use super::target::Kind;
use crate::trace::kernel::procfs;
use memchr::memmem;
use object::{Object, ObjectSection, ReadCache};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A language whose remedy is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Language {
    Rust,
    /// C that prints by the shared C library's stdio and leaves its buffers as they are.
    C,
    /// The same, installed with the system: its user does not change it.
    InstalledC,
    Cpp,
    Go,
    Python(Option<PythonUnbuffered>),
    Node,
    Java,
    Ruby,
    Perl,
    Shell,
    Zig,
    Php,
    Lua,
    Awk,
    R,
    OCaml,
    Haskell,
    D,
    Nim,
    Tcl,
    Guile,
    /// None of these, or it could not be told.
    #[default]
    Unrecognised,
}

/// What made Python write every message at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum PythonUnbuffered {
    /// The variable `PYTHONUNBUFFERED`.
    Variable,
    /// The option `-u`.
    Option,
}

impl Language {
    /// Its name in reports and in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::C | Self::InstalledC => "C",
            Self::Cpp => "C++",
            Self::Go => "Go",
            Self::Python(_) => "Python",
            Self::Node => "Node.js",
            Self::Java => "Java",
            Self::Ruby => "Ruby",
            Self::Perl => "Perl",
            Self::Shell => "shell",
            Self::Zig => "Zig",
            Self::Php => "PHP",
            Self::Lua => "Lua",
            Self::Awk => "awk",
            Self::R => "R",
            Self::OCaml => "OCaml",
            Self::Haskell => "Haskell",
            Self::D => "D",
            Self::Nim => "Nim",
            Self::Tcl => "Tcl",
            Self::Guile => "Guile",
            Self::Unrecognised => "unrecognised",
        }
    }

    /// Recognises an interpreter by its file name, and a compiled program by what its compiler left in it.
    pub(crate) fn of(process: i32, executable: &Path) -> Self {
        let name = executable.file_name().and_then(|name| name.to_str());
        match Self::of_interpreter(name.unwrap_or_default()) {
            Some(Self::Python(_)) => Self::Python(PythonUnbuffered::of(process)),
            Some(Self::Java) if runs_no_java(&procfs::arguments(process)) => Self::Unrecognised,
            Some(language) => language,
            None if name == Some("busybox") => Self::of_applet(&procfs::arguments(process)),
            None => match Self::of_binary(executable) {
                Some(Self::C | Self::Cpp) if runs_a_script(process) => Self::Unrecognised,
                Some(Self::C) if SYSTEM.iter().any(|place| executable.starts_with(place)) => {
                    Self::InstalledC
                }
                language => language.unwrap_or(Self::Unrecognised),
            },
        }
    }

    fn of_interpreter(name: &str) -> Option<Self> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        Some(match stem {
            "python" | "pypy" => Self::Python(None),
            "node" | "nodejs" => Self::Node,
            "java" => Self::Java,
            "ruby" => Self::Ruby,
            "perl" => Self::Perl,
            "sh" | "bash" | "dash" | "zsh" | "ksh" | "mksh" | "fish" => Self::Shell,
            "php" => Self::Php,
            "lua" | "luajit" => Self::Lua,
            "gawk" | "mawk" | "original-awk" | "bwk" => Self::Awk,
            "R" => Self::R,
            "ocamlrun" => Self::OCaml,
            "tclsh" => Self::Tcl,
            "guile" => Self::Guile,
            // Written in C or C++, they run programs that are not.
            "beam.smp" | "bun" | "dart" | "deno" | "dotnet" | "gforth" | "gst" | "julia"
            | "mono" | "octave-cli" | "octave" | "pharo" | "racket" | "sbcl" | "scheme"
            | "swipl" => Self::Unrecognised,
            _ => return None,
        })
    }

    /// `busybox` is many programs.
    fn of_applet(arguments: &[String]) -> Self {
        let mut names = arguments.iter().map(|word| word.rsplit('/').next());
        match names.find(|name| *name != Some("busybox")).flatten() {
            Some("sh" | "ash" | "-sh" | "-ash" | "hush") => Self::Shell,
            _ => Self::Unrecognised,
        }
    }

    fn of_binary(executable: &Path) -> Option<Self> {
        // Only what is asked for is read: a program may be large, and its table of sections is at its end.
        let cache = ReadCache::new(File::open(executable).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let has = |section: &str| file.section_by_name(section).is_some();
        if has(".go.buildinfo") || has(".note.go.buildid") {
            return Some(Self::Go);
        }
        let contents = |section: &str| {
            file.section_by_name(section)
                .and_then(|section| section.data().ok())
                .unwrap_or_default()
        };
        let (comment, constants) = (contents(".comment"), contents(".rodata"));
        if contains(comment, "rustc version") || contains(constants, "/rustc/") {
            return Some(Self::Rust);
        }
        if contains(comment, "zig ") {
            return Some(Self::Zig);
        }
        // What a language's runtime reads its options from is in every program of it.
        for (language, mark) in [
            (Self::Zig, "ZIG_PROGRESS"),
            (Self::OCaml, "OCAMLRUNPARAM"),
            (Self::Haskell, "GHCRTS"),
            (Self::Nim, "fatal.nim"),
        ] {
            if contains(constants, mark) || contains(contents(".data"), mark) {
                return Some(language);
            }
        }
        let (strings, symbols) = (contents(".dynstr"), contents(".strtab"));
        let imports = |names: &[&str]| names.iter().any(|name| has_string(strings, name));
        if contains(strings, "libgphobos")
            || contains(strings, "libphobos")
            || contains(symbols, "_D4core")
        {
            return Some(Self::D);
        }
        // It becomes C on its way, but is not written in it.
        if contains(symbols, "_vala_") {
            return None;
        }
        // An interpreter's library prints as that does.
        let embeds = [
            "libpython",
            "libperl",
            "libruby",
            "liblua",
            "libphp",
            "libtcl",
            "libguile",
            "libR.",
            "libjvm",
        ];
        // So does that of .NET, which a program finds or has in itself.
        let is_dotnet = ["hostfxr", "DOTNET_"]
            .iter()
            .any(|mark| contains(constants, mark));
        if is_dotnet || embeds.iter().any(|library| contains(strings, library)) {
            return None;
        }
        // Nor is a program one of these that offers many functions of its own to what it loads: it runs others.
        let exports = file.exports().map_or(0, Iterator::count);
        if exports >= FEWEST_OF_HOSTS {
            return None;
        }
        let by_stream = |table| {
            ["_ZSt4cout", "_ZSt4cerr", "_ZSt4clog"]
                .iter()
                .any(|stream| contains(table, stream))
        };
        if by_stream(strings) || by_stream(symbols) {
            return Some(Self::Cpp);
        }
        let prints = imports(&[
            "printf",
            "__printf_chk",
            "fprintf",
            "__fprintf_chk",
            "vprintf",
            "vfprintf",
            "puts",
            "fputs",
            "putchar",
            "putc",
            "fputc",
            "_IO_putc",
            "fwrite",
            "fputs_unlocked",
            "fwrite_unlocked",
            "putchar_unlocked",
            "__overflow",
        ]);
        let sets_buffers = imports(&["setvbuf", "setbuf", "setlinebuf", "setbuffer"]);
        let is_c = contains(strings, "libc.so")
            && !contains(strings, "libstdc++")
            && !contains(strings, "libc++.");
        (is_c && prints && !sets_buffers).then_some(Self::C)
    }

    /// Whether the language's own printing makes one call for every print whatever the destination,
    /// so that writes that end lines are messages and no line buffer is at work.
    pub(crate) fn prints_unbuffered(self) -> bool {
        matches!(
            self,
            Self::Go | Self::Node | Self::Java | Self::Shell | Self::Zig | Self::Php
        )
    }

    /// What a write call costs a program of this language in its own code, in nanoseconds, at least and at most: what leads
    /// to it in the library, and what the program finds in the caches after it.
    pub(crate) fn call_ns(self, kind: Kind) -> (f64, f64) {
        match self {
            Self::C | Self::InstalledC | Self::Zig | Self::Cpp | Self::Rust => (45.0, 115.0),
            Self::Perl | Self::Php | Self::D | Self::Nim => (38.0, 112.0),
            Self::Go | Self::Lua | Self::Awk | Self::Guile => (52.0, 158.0),
            Self::OCaml | Self::Haskell => (84.0, 196.0),
            Self::Ruby => (87.0, 213.0),
            Self::Tcl => (116.0, 284.0),
            // Without an option or a variable, a flush for each line: several of its own calls.
            Self::Python(None) if kind != Kind::Terminal => (405.0, 895.0),
            Self::Python(None) => (207.0, 613.0),
            Self::Python(_) => (129.0, 311.0),
            Self::Node if kind == Kind::Terminal => (2350.0, 3950.0),
            Self::Node => (920.0, 1480.0),
            Self::Java => (110.0, 350.0),
            // What joins the lines takes time, too.
            Self::R => (-105.0, 105.0),
            Self::Shell => (-600.0, -100.0),
            Self::Unrecognised => (45.0, 275.0),
        }
    }

    /// What its author can do about a stream whose many small calls are what costs; `None` where nothing is known that
    /// helps on this kind of destination.
    pub(crate) fn remedy_for_calls(self, buffering: Buffering, kind: Kind) -> Option<String> {
        // Elsewhere than on a terminal C flushes by itself, which stdbuf cannot change.
        let is_c = matches!(self, Self::C | Self::InstalledC);
        let on_terminal = kind == Kind::Terminal && !(is_c && buffering == Buffering::Unbuffered);
        let name = match self {
            Self::InstalledC if on_terminal => {
                return Some("`stdbuf -o64K CMD…`, if it does not flush by itself".to_owned());
            }
            Self::InstalledC => return None,
            Self::Python(Some(PythonUnbuffered::Variable)) => "Python with PYTHONUNBUFFERED",
            Self::Python(Some(PythonUnbuffered::Option)) => "Python with -u",
            other => other.name(),
        };
        let of = |name: &str| {
            let mut lines = REMEDIES.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(" | "))
        };
        let there = on_terminal.then(|| of(&format!("{name} on a terminal")));
        let remedy = there.flatten().or_else(|| of(name))?;
        Some(format!("{}: {remedy}", self.name()))
    }
}

/// By language, as its name is in reports.
const REMEDIES: &str = include_str!("remedies.txt");

impl PythonUnbuffered {
    fn of(process: i32) -> Option<Self> {
        let is_set = |word: &String| {
            word.strip_prefix("PYTHONUNBUFFERED=")
                .is_some_and(|value| !value.is_empty())
        };
        // Options of one letter may stand together, and end where the script or `-c` or `-m` begins.
        let arguments = procfs::arguments(process);
        let mut options = arguments
            .iter()
            .skip(1)
            .take_while(|word| word.starts_with('-') && !word.starts_with("--"));
        if options.any(|word| {
            word[1..]
                .split(['c', 'm', 'W', 'X'])
                .next()
                .unwrap_or_default()
                .contains('u')
        }) {
            Some(Self::Option)
        } else if procfs::environment(process).iter().any(is_set) {
            Some(Self::Variable)
        } else {
            None
        }
    }
}

/// Functions that interpreters and virtual machines export at least, and other programs hardly ever do: Mono 1,300,
/// Racket 670, SBCL 450, Lua 150; gdb 39, grep 6, tmux none.
const FEWEST_OF_HOSTS: usize = 100;

/// Where the system's own programs are.
const SYSTEM: [&str; 6] = [
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/libexec",
    "/bin",
    "/sbin",
];

/// Whether the words of a Java virtual machine name another language that it runs.
fn runs_no_java(arguments: &[String]) -> bool {
    const OTHERS: [&str; 6] = ["clojure", "groovy", "jruby", "jython", "kotlin", "scala"];
    let words = arguments.join(" ").to_ascii_lowercase();
    OTHERS.iter().any(|other| words.contains(other))
}

/// Whether a program was given a script: then it may be the interpreter of a language that is not known here.
fn runs_a_script(process: i32) -> bool {
    let directory = procfs::directory(process);
    let arguments = procfs::arguments(process);
    let mut words = arguments.iter().skip(1).take(MOST_WORDS);
    words.any(|word| is_script(&directory.join(word)))
}

/// Options before a script.
const MOST_WORDS: usize = 8;

fn is_script(path: &Path) -> bool {
    const ENDINGS: [&str; 24] = [
        "awk", "bas", "clj", "el", "erl", "ex", "exs", "f", "fs", "groovy", "jl", "js", "lisp",
        "lua", "m", "ml", "php", "pl", "pro", "py", "r", "rb", "scm", "tcl",
    ];
    let mut start = [0; 2];
    let mut opened = File::open(path).ok().filter(|_| path.is_file());
    let has_interpreter = opened
        .as_mut()
        .is_some_and(|file| file.read_exact(&mut start).is_ok() && start == *b"#!");
    let ending = path.extension().and_then(|ending| ending.to_str());
    has_interpreter || ending.is_some_and(|ending| ENDINGS.contains(&&*ending.to_ascii_lowercase()))
}

fn contains(haystack: &[u8], needle: &str) -> bool {
    memmem::find(haystack, needle.as_bytes()).is_some()
}

/// Whether a table of strings, each ended by a zero, has this one.
fn has_string(table: &[u8], string: &str) -> bool {
    memmem::find(table, format!("\0{string}\0").as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_known_by_their_names_with_and_without_versions() {
        for (name, language) in [
            ("python3.12", Language::Python(None)),
            ("lua5.4", Language::Lua),
            ("php8.2", Language::Php),
            ("gawk", Language::Awk),
            ("node", Language::Node),
            ("bash", Language::Shell),
            ("java", Language::Java),
            ("perl5.36.0", Language::Perl),
            ("beam.smp", Language::Unrecognised),
            ("dotnet", Language::Unrecognised),
        ] {
            assert_eq!(Language::of_interpreter(name), Some(language), "{name}");
        }
    }

    #[test]
    fn a_virtual_machine_that_runs_another_language_does_not_run_java() {
        let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
        assert!(!runs_no_java(&words("java -cp out Println 200000")));
        assert!(runs_no_java(&words(
            "java -cp groovy-4.0.24.jar groovy.ui.GroovyMain x"
        )));
        assert!(runs_no_java(&words("java -cp scala-library.jar:. Main")));
    }

    #[test]
    fn a_remedy_is_for_its_language_and_destination() {
        let remedy = |language: Language, kind| {
            let remedy = language.remedy_for_calls(Buffering::Line, kind);
            remedy.unwrap_or_default()
        };
        for (language, on_terminal, elsewhere) in [
            (Language::C, "C: static char", "C: static char"),
            (Language::Perl, "Perl: $out .= ", "Perl: $| = 0;"),
            (Language::Rust, "Rust: let mut out", "Rust: let mut out"),
            (Language::InstalledC, "`stdbuf", ""),
            (Language::Unrecognised, "", ""),
        ] {
            assert!(remedy(language, Kind::Terminal).starts_with(on_terminal));
            assert!(remedy(language, Kind::Pipe).starts_with(elsewhere));
        }
        assert!(remedy(Language::C, Kind::Terminal).contains("stdbuf"));
        assert!(!remedy(Language::C, Kind::Pipe).contains("stdbuf"));
        assert_eq!(remedy(Language::Unrecognised, Kind::Pipe), "");
        let by_option = Language::Python(Some(PythonUnbuffered::Option));
        assert!(remedy(by_option, Kind::Pipe).starts_with("Python: leave the option -u out"));
    }

    #[test]
    fn this_test_is_a_rust_program() {
        assert_eq!(
            Language::of(std::process::id() as i32, &std::env::current_exe().unwrap()),
            Language::Rust
        );
    }

    #[test]
    fn an_unknown_interpreter_is_not_taken_for_c() {
        assert!(is_script(Path::new("/nowhere/program.jl")));
        assert!(!is_script(Path::new("input.txt")));
        assert!(!is_script(Path::new("/dev/zero")));
    }

    #[test]
    fn busybox_is_a_shell_only_where_it_runs_as_one() {
        let words = |words: &[&str]| {
            words
                .iter()
                .map(|&word| word.to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            Language::of_applet(&words(&["/bin/sh", "x"])),
            Language::Shell
        );
        assert_eq!(
            Language::of_applet(&words(&["busybox", "ash"])),
            Language::Shell
        );
        assert_eq!(
            Language::of_applet(&words(&["busybox", "awk"])),
            Language::Unrecognised
        );
    }

    #[test]
    fn a_table_of_strings_is_searched_for_whole_ones() {
        assert!(has_string(b"\0puts\0setvbuf\0", "setvbuf"));
        assert!(!has_string(b"\0fputs\0setvbuf_x\0", "puts"));
    }
}
