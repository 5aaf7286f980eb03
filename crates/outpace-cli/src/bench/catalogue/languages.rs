//! `languages`: how other languages buffer what they print, what a line costs there, and what the shortest fix saves.
//!
//! Every line is printed by two calls, `line ` and a number with its newline, so that the count of write calls tells the
//! buffering: two a line without a buffer, one with a line buffer, hardly any with a block. A program prints as many lines
//! as its first argument says, to stderr if `STREAM` is set; `MODE` chooses a variant.

use super::sources;
use crate::bench::experiment::{Experiment, Method, Rung, Work};
use crate::bench::results::figures::{Compared, Figures};
use crate::bench::toolchain::{Language, Source};
use crate::user::quantity::times;

pub(crate) const LANGUAGES: Experiment = Experiment {
    name: "languages",
    question: "How do other languages buffer, and what does the shortest fix save?",
    published: "Go is unbuffered (stderr \"presumably too\"); Python line-buffered on a terminal, block-buffered \
                otherwise, stderr by lines, -u and PYTHONUNBUFFERED turn it off; C buffered, by setvbuf as one likes; \
                Zig unbuffered until asked; C++'s cout buffered.",
    sources: &[sources::STDOUT_AND_STDERR],
    published_to: &[],
    unit: "line",
    message: |index, into| into.extend_from_slice(format!("line {index}\n").as_bytes()),
    messages: 1_000_000,
    to: &["pty", "pipe", "file"],
    baseline: "c",
    method: Method::Programs,
    rungs: &[
        Rung::described("c", "C: fputs and fprintf", C),
        Rung::described("c-none", "C: setvbuf(stdout, NULL, _IONBF, 0)", C)
            .told(&[("MODE", "none")])
            .against("c"),
        Rung::described("c-line", "C: _IOLBF", C)
            .told(&[("MODE", "line")])
            .against("c"),
        Rung::described("c-block", "C: _IOFBF", C)
            .told(&[("MODE", "block")])
            .against("c"),
        Rung::added(
            "c-fixed",
            "C: setvbuf(stdout, buffer, _IOFBF, sizeof buffer)",
            C,
        )
        .told(FIXED)
        .against("c"),
        Rung::added("c-run", "C: the first, under outpace run", C)
            .relayed()
            .against("c"),
        Rung::added("c-stderr", "C: the first, to stderr", C)
            .on_stderr()
            .against("c"),
        Rung::described("cpp", "C++: std::cout << i << std::endl", CPP),
        Rung::added("cpp-newline", "C++: std::cout << i << '\\n'", CPP)
            .told(&[("MODE", "newline")])
            .against("cpp"),
        Rung::added(
            "cpp-fixed",
            "C++: '\\n', sync_with_stdio(false), a buffer of 64 KiB",
            CPP,
        )
        .told(FIXED)
        .against("cpp"),
        Rung::added("cpp-run", "C++: the first, under outpace run", CPP)
            .relayed()
            .against("cpp"),
        Rung::added("cpp-stderr", "C++: the first, to stderr", CPP)
            .on_stderr()
            .against("cpp"),
        Rung::described("go", "Go: fmt.Fprint to os.Stdout", GO),
        Rung::added("go-fixed", "Go: bufio.NewWriterSize(os.Stdout, 1<<16)", GO)
            .told(FIXED)
            .against("go"),
        Rung::added("go-run", "Go: the first, under outpace run", GO)
            .relayed()
            .against("go"),
        Rung::described("go-stderr", "Go: the first, to stderr", GO)
            .on_stderr()
            .against("go"),
        Rung::added("rust", "Rust: print! and println!", RUST),
        Rung::added("rust-fixed", "Rust: a BufWriter of 64 KiB", RUST)
            .told(FIXED)
            .against("rust"),
        Rung::added("rust-run", "Rust: the first, under outpace run", RUST)
            .relayed()
            .against("rust"),
        Rung::added("rust-stderr", "Rust: the first, to stderr", RUST)
            .on_stderr()
            .against("rust"),
        Rung::described("zig", "Zig: a File's writer without a buffer", ZIG),
        Rung::added("zig-fixed", "Zig: the writer with a buffer of 64 KiB", ZIG)
            .told(FIXED)
            .against("zig"),
        Rung::added("zig-run", "Zig: the first, under outpace run", ZIG)
            .relayed()
            .against("zig"),
        Rung::added("zig-stderr", "Zig: the first, to stderr", ZIG)
            .on_stderr()
            .against("zig"),
        Rung::added("java", "Java: System.out", JAVA),
        Rung::added(
            "java-fixed",
            "Java: a PrintStream with a buffer of 64 KiB",
            JAVA,
        )
        .told(FIXED)
        .against("java"),
        Rung::added("java-run", "Java: the first, under outpace run", JAVA)
            .relayed()
            .against("java"),
        Rung::added("java-stderr", "Java: the first, to stderr", JAVA)
            .on_stderr()
            .against("java"),
        Rung::added("node", "Node: process.stdout.write", NODE),
        Rung::added("node-fixed", "Node: joined, a write for 64 KiB", NODE)
            .told(FIXED)
            .against("node"),
        Rung::added("node-run", "Node: the first, under outpace run", NODE)
            .relayed()
            .against("node"),
        Rung::added("node-stderr", "Node: the first, to stderr", NODE)
            .on_stderr()
            .against("node"),
        Rung::described("python", "Python: print", PYTHON),
        Rung::described(
            "python-unbuffered",
            "Python: -u, or PYTHONUNBUFFERED=1",
            PYTHON,
        )
        .told(&[("PYTHONUNBUFFERED", "1")])
        .against("python"),
        Rung::added(
            "python-fixed",
            "Python: open(1, \"w\", buffering=1 << 16, closefd=False)",
            PYTHON,
        )
        .told(FIXED)
        .against("python"),
        Rung::added("python-run", "Python: the first, under outpace run", PYTHON)
            .relayed()
            .against("python"),
        Rung::described("python-stderr", "Python: the first, to stderr", PYTHON)
            .on_stderr()
            .against("python"),
        Rung::added("perl", "Perl: print", PERL),
        Rung::added("perl-autoflush", "Perl: $| = 1", PERL)
            .told(&[("MODE", "autoflush")])
            .against("perl"),
        Rung::added("perl-fixed", "Perl: joined, a print for 64 KiB", PERL)
            .told(FIXED)
            .against("perl"),
        Rung::added("perl-run", "Perl: the first, under outpace run", PERL)
            .relayed()
            .against("perl"),
        Rung::added("perl-stderr", "Perl: the first, to stderr", PERL)
            .on_stderr()
            .against("perl"),
        Rung::added("ruby", "Ruby: write and puts", RUBY),
        Rung::added("ruby-sync", "Ruby: $stdout.sync = true", RUBY)
            .told(&[("MODE", "sync")])
            .against("ruby"),
        Rung::added("ruby-fixed", "Ruby: joined, a write for 64 KiB", RUBY)
            .told(FIXED)
            .against("ruby"),
        Rung::added("ruby-run", "Ruby: the first, under outpace run", RUBY)
            .relayed()
            .against("ruby"),
        Rung::added("ruby-stderr", "Ruby: the first, to stderr", RUBY)
            .on_stderr()
            .against("ruby"),
        Rung::added("php", "PHP: echo", PHP),
        Rung::added("php-fixed", "PHP: ob_start(null, 65536)", PHP)
            .told(FIXED)
            .against("php"),
        Rung::added("php-run", "PHP: the first, under outpace run", PHP)
            .relayed()
            .against("php"),
        Rung::added("php-stderr", "PHP: the first, to stderr", PHP)
            .on_stderr()
            .against("php"),
        Rung::added("lua", "Lua: io.write and print", LUA),
        Rung::added(
            "lua-fixed",
            "Lua: io.stdout:setvbuf(\"full\", 65536), and write",
            LUA,
        )
        .told(FIXED)
        .against("lua"),
        Rung::added("lua-run", "Lua: the first, under outpace run", LUA)
            .relayed()
            .against("lua"),
        Rung::added("lua-stderr", "Lua: the first, to stderr", LUA)
            .on_stderr()
            .against("lua"),
        Rung::added("awk", "awk: printf and print", AWK),
        Rung::added("awk-fflush", "awk: fflush() after each line", AWK)
            .told(&[("MODE", "fflush")])
            .against("awk"),
        Rung::added("awk-run", "awk: the first, under outpace run", AWK)
            .relayed()
            .against("awk"),
        Rung::added("awk-stderr", "awk: the first, to stderr", AWK)
            .on_stderr()
            .against("awk"),
        Rung::added("bash", "bash: printf", BASH),
        Rung::added(
            "bash-fixed",
            "bash: the text built, a printf for 64 KiB",
            BASH,
        )
        .told(FIXED)
        .against("bash"),
        Rung::added("bash-run", "bash: the first, under outpace run", BASH)
            .relayed()
            .against("bash"),
        Rung::added("bash-stderr", "bash: the first, to stderr", BASH)
            .on_stderr()
            .against("bash"),
    ],
    verdict,
};

const FIXED: &[(&str, &str)] = &[("MODE", "fixed")];

/// To add a language: a source file, a line here, and its lines in the list of rungs.
macro_rules! sources {
    ($($name:ident: $language:ident, $file:literal;)*) => {
        $(const $name: Work = Work::Source(&Source {
            language: Language::$language,
            file: $file,
            text: include_str!(concat!("../../../bench/languages/", $file)),
        });)*
    };
}

sources! {
    C: C, "lines.c";
    CPP: Cpp, "lines.cpp";
    GO: Go, "lines.go";
    RUST: Rust, "lines.rs";
    ZIG: Zig, "lines.zig";
    JAVA: Java, "Rung.java";
    NODE: JavaScript, "lines.mjs";
    PYTHON: Python, "lines.py";
    PERL: Perl, "lines.pl";
    RUBY: Ruby, "lines.rb";
    PHP: Php, "lines.php";
    LUA: Lua, "lines.lua";
    AWK: Awk, "lines.awk";
    BASH: Bash, "lines.sh";
}

fn verdict(figures: &Figures<'_>) -> String {
    let mut sentences = Vec::new();
    for to in figures.destinations() {
        let of_kind = |wanted: &str| -> Vec<&str> {
            let plain = figures
                .rows()
                .filter(|row| row.to == to && !row.rung.contains('-'));
            plain
                .filter(|row| row.buffering() == Some(wanted))
                .map(|row| row.rung.as_str())
                .collect()
        };
        let found: Vec<String> = [
            ("none", "no buffer"),
            ("line", "a line buffer"),
            ("block", "a block buffer"),
        ]
        .into_iter()
        .map(|(kind, called)| (called, of_kind(kind)))
        .filter(|(_, names)| !names.is_empty())
        .map(|(called, names)| format!("{called} in {}", names.join(", ")))
        .collect();
        let saved = figures
            .rows()
            .filter(|row| row.to == to)
            .filter_map(|row| {
                let name = row.rung.strip_suffix("-fixed")?;
                match figures.compare(name, &row.rung, to)? {
                    Compared::More(ratio) => Some((ratio, name)),
                    _ => None,
                }
            })
            .max_by(|one, other| one.0.total_cmp(&other.0));
        let has_fixes = figures
            .rows()
            .any(|row| row.to == to && row.rung.ends_with("-fixed"));
        let saved = match saved {
            Some((ratio, name)) => {
                format!("; the shortest fix saves most in {name}, {}", times(ratio))
            }
            None if has_fixes => "; the noise hides what the fixes save".to_owned(),
            None => String::new(),
        };
        if !found.is_empty() {
            sentences.push(format!("To {to}: {}{saved}.", found.join("; ")));
        }
    }
    sentences.join(" ")
}
