//! `languages`: how other languages buffer what they print, what a line costs there, and what the shortest fix saves.
//!
//! Every line is printed by two calls, `line ` and a number with its newline, so that the count of write calls tells the
//! buffering: two a line without a buffer, one with a line buffer, hardly any with a block. A program prints as many lines
//! as its first argument says, to stderr if `STREAM` is set; `MODE` chooses a variant. A quick bench has time for each
//! language's default and its fix.

use super::sources;
use crate::bench::experiment::{Experiment, Method};
use crate::bench::results::figures::{Compared, Figures};
use crate::bench::toolchain::{Source, SourceLanguage};
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
    rungs: rungs! {
        described "c": Source(&C), "C: fputs and fprintf";
        described "c-none": Source(&C), "C: setvbuf(stdout, NULL, _IONBF, 0)" .told(&[("MODE", "none")]).against("c").takes_long();
        described "c-line": Source(&C), "C: _IOLBF" .told(&[("MODE", "line")]).against("c").takes_long();
        described "c-block": Source(&C), "C: _IOFBF" .told(&[("MODE", "block")]).against("c").takes_long();
        added "c-fixed": Source(&C), "C: setvbuf(stdout, buffer, _IOFBF, sizeof buffer)" .told(FIXED).against("c");
        added "c-run": Source(&C), "C: the first, under outpace run" .relayed().against("c");
        added "c-stderr": Source(&C), "C: the first, to stderr" .on_stderr().against("c");
        described "cpp": Source(&CPP), "C++: std::cout << i << std::endl";
        added "cpp-newline": Source(&CPP), "C++: std::cout << i << '\\n'" .told(&[("MODE", "newline")]).against("cpp").takes_long();
        added "cpp-fixed": Source(&CPP), "C++: '\\n', sync_with_stdio(false), a buffer of 64 KiB" .told(FIXED).against("cpp");
        added "cpp-run": Source(&CPP), "C++: the first, under outpace run" .relayed().against("cpp");
        added "cpp-stderr": Source(&CPP), "C++: the first, to stderr" .on_stderr().against("cpp");
        described "go": Source(&GO), "Go: fmt.Fprint to os.Stdout";
        added "go-fixed": Source(&GO), "Go: bufio.NewWriterSize(os.Stdout, 1<<16)" .told(FIXED).against("go");
        added "go-run": Source(&GO), "Go: the first, under outpace run" .relayed().against("go");
        described "go-stderr": Source(&GO), "Go: the first, to stderr" .on_stderr().against("go");
        added "rust": Source(&RUST), "Rust: print! and println!";
        added "rust-fixed": Source(&RUST), "Rust: a BufWriter of 64 KiB" .told(FIXED).against("rust");
        added "rust-run": Source(&RUST), "Rust: the first, under outpace run" .relayed().against("rust");
        added "rust-stderr": Source(&RUST), "Rust: the first, to stderr" .on_stderr().against("rust");
        described "zig": Source(&ZIG), "Zig: a File's writer without a buffer";
        added "zig-fixed": Source(&ZIG), "Zig: the writer with a buffer of 64 KiB" .told(FIXED).against("zig");
        added "zig-run": Source(&ZIG), "Zig: the first, under outpace run" .relayed().against("zig");
        added "zig-stderr": Source(&ZIG), "Zig: the first, to stderr" .on_stderr().against("zig");
        added "java": Source(&JAVA), "Java: System.out";
        added "java-fixed": Source(&JAVA), "Java: a PrintStream with a buffer of 64 KiB" .told(FIXED).against("java");
        added "java-run": Source(&JAVA), "Java: the first, under outpace run" .relayed().against("java");
        added "java-stderr": Source(&JAVA), "Java: the first, to stderr" .on_stderr().against("java");
        added "node": Source(&NODE), "Node: process.stdout.write";
        added "node-fixed": Source(&NODE), "Node: joined, a write for 64 KiB" .told(FIXED).against("node");
        added "node-run": Source(&NODE), "Node: the first, under outpace run" .relayed().against("node");
        added "node-stderr": Source(&NODE), "Node: the first, to stderr" .on_stderr().against("node");
        described "python": Source(&PYTHON), "Python: print";
        described "python-unbuffered": Source(&PYTHON), "Python: -u, or PYTHONUNBUFFERED=1"
            .told(&[("PYTHONUNBUFFERED", "1")]).against("python").takes_long();
        added "python-fixed": Source(&PYTHON), "Python: open(1, \"w\", buffering=1 << 16, closefd=False)"
            .told(FIXED).against("python");
        added "python-run": Source(&PYTHON), "Python: the first, under outpace run" .relayed().against("python");
        described "python-stderr": Source(&PYTHON), "Python: the first, to stderr" .on_stderr().against("python");
        added "perl": Source(&PERL), "Perl: print";
        added "perl-autoflush": Source(&PERL), "Perl: $| = 1" .told(&[("MODE", "autoflush")]).against("perl").takes_long();
        added "perl-fixed": Source(&PERL), "Perl: joined, a print for 64 KiB" .told(FIXED).against("perl");
        added "perl-run": Source(&PERL), "Perl: the first, under outpace run" .relayed().against("perl");
        added "perl-stderr": Source(&PERL), "Perl: the first, to stderr" .on_stderr().against("perl");
        added "ruby": Source(&RUBY), "Ruby: write and puts";
        added "ruby-sync": Source(&RUBY), "Ruby: $stdout.sync = true" .told(&[("MODE", "sync")]).against("ruby").takes_long();
        added "ruby-fixed": Source(&RUBY), "Ruby: joined, a write for 64 KiB" .told(FIXED).against("ruby");
        added "ruby-run": Source(&RUBY), "Ruby: the first, under outpace run" .relayed().against("ruby");
        added "ruby-stderr": Source(&RUBY), "Ruby: the first, to stderr" .on_stderr().against("ruby");
        added "php": Source(&PHP), "PHP: echo";
        added "php-fixed": Source(&PHP), "PHP: ob_start(null, 65536)" .told(FIXED).against("php");
        added "php-run": Source(&PHP), "PHP: the first, under outpace run" .relayed().against("php");
        added "php-stderr": Source(&PHP), "PHP: the first, to stderr" .on_stderr().against("php");
        added "lua": Source(&LUA), "Lua: io.write and print";
        added "lua-fixed": Source(&LUA), "Lua: io.stdout:setvbuf(\"full\", 65536), and write" .told(FIXED).against("lua");
        added "lua-run": Source(&LUA), "Lua: the first, under outpace run" .relayed().against("lua");
        added "lua-stderr": Source(&LUA), "Lua: the first, to stderr" .on_stderr().against("lua");
        added "awk": Source(&AWK), "awk: printf and print";
        added "awk-fflush": Source(&AWK), "awk: fflush() after each line" .told(&[("MODE", "fflush")]).against("awk").takes_long();
        added "awk-run": Source(&AWK), "awk: the first, under outpace run" .relayed().against("awk");
        added "awk-stderr": Source(&AWK), "awk: the first, to stderr" .on_stderr().against("awk");
        added "bash": Source(&BASH), "bash: printf";
        added "bash-fixed": Source(&BASH), "bash: the text built, a printf for 4,096 lines" .told(FIXED).against("bash");
        added "bash-run": Source(&BASH), "bash: the first, under outpace run" .relayed().against("bash");
        added "bash-stderr": Source(&BASH), "bash: the first, to stderr" .on_stderr().against("bash");
    },
    conclusion,
};

const FIXED: &[(&str, &str)] = &[("MODE", "fixed")];

// To add a language: a source file, a line here, and its lines in the list of rungs.
sources! {
    "languages";
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

fn conclusion(figures: &Figures<'_>) -> String {
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
