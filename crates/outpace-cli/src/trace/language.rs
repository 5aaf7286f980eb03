//! Which language a program is written in, and what its author can do about its output.

use super::tally::Buffering;
use super::target::Kind;
use object::{Object, ObjectSection, ReadCache};
use std::fs::File;
use std::path::Path;

/// A language whose remedy is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Language {
    Rust,
    C,
    Cpp,
    Go,
    Python,
    Node,
    Java,
    Ruby,
    Perl,
    Shell,
    Zig,
    /// None of these, or it could not be told.
    Unrecognised,
}

/// What goes with the small writes of a program besides the writes: the code of its library that leads to a
/// call, and what that finds in the caches when the kernel comes back from one.
///
/// Measured as the user time of loops that do nothing but print short lines, with a system call a message and with a
/// large buffer, as described in `bench/results` under "Estimates".
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printing {
    /// For each write call, on the machine that [`calibrate::slowness`](super::calibrate::slowness) compares with.
    pub(crate) call_ns: f64,
    /// For each message, in a large buffer.
    pub(crate) message_ns: f64,
    /// The part of the program's own time that is left to one that does nothing else.
    pub(crate) least_left: f64,
}

impl Language {
    /// Its name in reports and in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::C => "C",
            Self::Cpp => "C++",
            Self::Go => "Go",
            Self::Python => "Python",
            Self::Node => "Node.js",
            Self::Java => "Java",
            Self::Ruby => "Ruby",
            Self::Perl => "Perl",
            Self::Shell => "shell",
            Self::Zig => "Zig",
            Self::Unrecognised => "unrecognised",
        }
    }

    /// Recognises an interpreter by its file name and a compiled program by what its compiler left
    /// in it.
    pub(crate) fn of(executable: &Path) -> Self {
        let name = executable
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or("");
        Self::of_interpreter(name)
            .unwrap_or_else(|| Self::of_binary(executable).unwrap_or(Self::Unrecognised))
    }

    fn of_interpreter(name: &str) -> Option<Self> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        Some(match stem {
            "python" | "pypy" => Self::Python,
            "node" | "nodejs" => Self::Node,
            "java" => Self::Java,
            "ruby" => Self::Ruby,
            "perl" => Self::Perl,
            "sh" | "bash" | "dash" | "zsh" | "ksh" | "fish" | "busybox" => Self::Shell,
            _ => return None,
        })
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
        let comment = contents(".comment");
        if contains(comment, b"rustc version") || contains(contents(".rodata"), b"/rustc/") {
            return Some(Self::Rust);
        }
        let strings = contents(".dynstr");
        if contains(strings, b"libstdc++")
            || contains(strings, b"libc++.")
            || contains(contents(".strtab"), b"_ZNSt8ios_base")
        {
            return Some(Self::Cpp);
        }
        if contains(comment, b"zig ") {
            return Some(Self::Zig);
        }
        if contains(comment, b"GCC") || contains(comment, b"clang") || contains(strings, b"libc.so")
        {
            return Some(Self::C);
        }
        None
    }

    /// Whether the language's own printing makes one call for every print whatever the destination,
    /// so that writes that end lines are messages and no line buffer is at work.
    pub(crate) fn prints_unbuffered(self) -> bool {
        matches!(
            self,
            Self::Go | Self::Node | Self::Java | Self::Shell | Self::Zig
        )
    }

    /// What printing in small pieces costs a program of this language in its own code.
    pub(crate) fn printing(self, buffering: Buffering, kind: Kind) -> Printing {
        let (call_ns, message_ns, least_left) = match (self, buffering, kind) {
            (Self::C | Self::Zig | Self::Unrecognised, _, Kind::File) => (90.0, 38.0, 0.13),
            (Self::C | Self::Zig | Self::Unrecognised, ..) => (75.0, 38.0, 0.13),
            (Self::Rust, ..) => (95.0, 17.0, 0.16),
            (Self::Cpp, ..) => (85.0, 30.0, 0.2),
            (Self::Go, ..) => (150.0, 53.0, 0.2),
            (Self::Perl | Self::Ruby, ..) => (90.0, 53.0, 0.3),
            (Self::Python, Buffering::Unbuffered, _) => (300.0, 355.0, 0.2),
            (Self::Python, ..) => (800.0, 355.0, 0.25),
            (Self::Node, _, Kind::Terminal) => (3350.0, 120.0, 0.03),
            (Self::Node, ..) => (1450.0, 120.0, 0.05),
            (Self::Java, ..) => (330.0, 115.0, 0.25),
            // Its remedy leaves the printing as it is.
            (Self::Shell, ..) => (0.0, 0.0, 1.0),
        };
        Printing {
            call_ns,
            message_ns,
            least_left,
        }
    }

    /// The size of the blocks that a program writes once it follows [the remedy](Self::block_buffering).
    pub(crate) fn block_size(self) -> usize {
        match self {
            Self::Rust | Self::Cpp | Self::Java => 8 << 10,
            _ => 64 << 10,
        }
    }

    /// One change to the program that gives its stdout a large buffer.
    fn block_buffering(self) -> Option<&'static str> {
        Some(match self {
            Self::Rust => {
                "let mut out = std::io::BufWriter::new(std::io::stdout().lock()); \
                 then `writeln!(out, …)?` instead of `println!(…)`, and `out.flush()?` at the end"
            }
            Self::C => {
                "static char buffer[1 << 16]; setvbuf(stdout, buffer, _IOFBF, sizeof buffer);   /* first \
                 thing in main (without a buffer glibc ignores the size), and no fflush a line */"
            }
            Self::Cpp => {
                "write '\\n' instead of std::endl, and `std::ios::sync_with_stdio(false); \
                 std::cin.tie(nullptr);` first thing in main; on a terminal also \
                 `static char buffer[1 << 16]; setvbuf(stdout, buffer, _IOFBF, sizeof buffer);`"
            }
            Self::Go => {
                "out := bufio.NewWriterSize(os.Stdout, 1<<16); defer out.Flush()   \
                 // then fmt.Fprintln(out, …)"
            }
            Self::Python => {
                "sys.stdout = open(1, \"w\", buffering=1 << 16, closefd=False)   \
                 # and neither -u, PYTHONUNBUFFERED nor flush=True"
            }
            Self::Node => {
                "collect the lines and call process.stdout.write(lines.join(\"\\n\") + \"\\n\") \
                 once for many, instead of console.log for each"
            }
            Self::Java => {
                "PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false) \
                 wrapped in `new PrintWriter(new BufferedWriter(new OutputStreamWriter(out), 1 << 16))`; \
                 flush it at the end"
            }
            Self::Ruby => "$stdout.sync = false, and build large strings before `$stdout.write`",
            Self::Perl => "$| = 0;   # and no autoflush on STDOUT",
            Self::Shell => "build the text, and print it with one printf",
            Self::Zig => {
                "var buffer: [65536]u8 = undefined; var out = std.fs.File.stdout().writer(&buffer);   \
                 // flush it at the end"
            }
            Self::Unrecognised => return None,
        })
    }

    /// What to do about a stream whose many small calls are what costs.
    pub(crate) fn remedy_for_calls(self, buffering: Buffering, kind: Kind) -> String {
        match self.block_buffering() {
            // Elsewhere than on a terminal it flushes by itself, which stdbuf cannot change.
            Some(line)
                if self == Self::C
                    && kind == Kind::Terminal
                    && buffering != Buffering::Unbuffered =>
            {
                format!("C: {line}; unchanged, if it uses the shared libc: `stdbuf -o64K CMD…`")
            }
            // It flushes at each newline there, whatever is asked of it.
            Some(_) if self == Self::Perl && kind == Kind::Terminal => {
                r#"Perl: $out .= "…\n"; print $out, $out = "" if length $out > 65536; and `print $out` at the end"#
                    .to_owned()
            }
            // Its writes stay as many, but each costs a fraction.
            Some(line) if self == Self::Shell && kind == Kind::Terminal => {
                format!("shell: let another process write: {{ …; }} | cat; or {line}")
            }
            Some(line) => format!("{}: {line}", self.name()),
            None if kind == Kind::Terminal => "let the program write larger blocks, or run it as \
                 `outpace run -- CMD…`"
                .to_owned(),
            None if buffering == Buffering::Line => {
                "stdbuf -o64K CMD…, when it is a C program; else let it \
                 write larger blocks"
                    .to_owned()
            }
            None => "let the program write larger blocks".to_owned(),
        }
    }
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(haystack, needle).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_known_by_their_names_with_and_without_versions() {
        for (name, language) in [
            ("python3.12", Language::Python),
            ("node", Language::Node),
            ("bash", Language::Shell),
            ("java", Language::Java),
            ("perl5.36.0", Language::Perl),
        ] {
            assert_eq!(
                Language::of(Path::new("/usr/bin").join(name).as_path()),
                language,
                "{name}"
            );
        }
    }

    #[test]
    fn this_test_is_a_rust_program() {
        assert_eq!(
            Language::of(&std::env::current_exe().unwrap()),
            Language::Rust
        );
    }
}
