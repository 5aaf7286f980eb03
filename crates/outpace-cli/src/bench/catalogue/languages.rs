//! `languages`: the buffering of other languages, the cost of a line there, and the saving of the shortest fix.
//!
//! Every line is printed by two calls: `line `, then a number with its newline. So the count of write calls shows the
//! buffering: two a line without a buffer, one with a line buffer, hardly any with a block. The first argument of a program is
//! the number of lines; it prints to stderr if `STREAM` is set, and `MODE` chooses a variant. A quick bench has time for each
//! language's default and its fix.

use super::sources;
use crate::bench::experiment::{Experiment, Method};
use crate::bench::results::figures::{Compared, Figures};
use crate::bench::toolchain::{Source, SourceLanguage};
use crate::user::quantity::times;

/// The rungs of each language: its default, variants, its shortest fix, the default under `outpace run`, and the default to
/// stderr. The environment tells a program which of them it is.
macro_rules! languages {
    ($($name:literal $language:literal $source:ident: $origin:ident $about:literal, $to_stderr:ident stderr $(, fixed $fix:literal)?
        $([$($other:ident $variant:literal $how:literal $($key:literal = $value:literal)?),*])?;)*) => {
        rungs! { $(
            $origin $name: Source(&$source), {concat!($language, ": ", $about)};
            $($($other {concat!($name, "-", $variant)}: Source(&$source), {concat!($language, ": ", $how)}
                .told(&[("MODE", $variant) $(, ($key, $value))?]).against($name).takes_long();)*)?
            $(added {concat!($name, "-fixed")}: Source(&$source), {concat!($language, ": ", $fix)}
                .told(&[("MODE", "fixed")]).against($name);)?
            added {concat!($name, "-run")}: Source(&$source), {concat!($language, ": the first, under outpace run")}
                .relayed().against($name);
            $to_stderr {concat!($name, "-stderr")}: Source(&$source), {concat!($language, ": the first, to stderr")}
                .on_stderr().against($name);
        )* }
    };
}

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
    rungs: languages! {
        "c" "C" C: described "fputs and fprintf", added stderr, fixed "setvbuf(stdout, buffer, _IOFBF, sizeof buffer)"
            [described "none" "setvbuf(stdout, NULL, _IONBF, 0)", described "line" "_IOLBF", described "block" "_IOFBF"];
        "cpp" "C++" CPP: described "std::cout << i << std::endl", added stderr,
            fixed "'\\n', sync_with_stdio(false), a buffer of 64 KiB"
            [added "newline" "std::cout << i << '\\n'"];
        "go" "Go" GO: described "fmt.Fprint to os.Stdout", described stderr, fixed "bufio.NewWriterSize(os.Stdout, 1<<16)";
        "rust" "Rust" RUST: added "print! and println!", added stderr, fixed "a BufWriter of 64 KiB";
        "zig" "Zig" ZIG: described "a File's writer without a buffer", added stderr, fixed "the writer with a buffer of 64 KiB";
        "java" "Java" JAVA: added "System.out", added stderr, fixed "a PrintStream with a buffer of 64 KiB";
        "node" "Node" NODE: added "process.stdout.write", added stderr, fixed "joined, a write for 64 KiB";
        "python" "Python" PYTHON: described "print", described stderr, fixed "open(1, \"w\", buffering=1 << 16, closefd=False)"
            [described "unbuffered" "-u, or PYTHONUNBUFFERED=1" "PYTHONUNBUFFERED" = "1"];
        "perl" "Perl" PERL: added "print", added stderr, fixed "joined, a print for 64 KiB" [added "autoflush" "$| = 1"];
        "ruby" "Ruby" RUBY: added "write and puts", added stderr, fixed "joined, a write for 64 KiB" [added "sync" "$stdout.sync = true"];
        "php" "PHP" PHP: added "echo", added stderr, fixed "ob_start(null, 65536)";
        "lua" "Lua" LUA: added "io.write and print", added stderr, fixed "io.stdout:setvbuf(\"full\", 65536), and write";
        "awk" "awk" AWK: added "printf and print", added stderr [added "fflush" "fflush() after each line"];
        "bash" "bash" BASH: added "printf", added stderr, fixed "the text built, a printf for 4,096 lines";
    },
    conclusion,
};

// To add a language: a source file, a line here, and one in the list of rungs.
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

fn conclusion(figures: &Figures<'_>) -> Vec<String> {
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
    sentences
}
