//! Which language a program is written in, and what its author can do about its output.
//!
//! A wrong name leads to useless advice. So a program counts as written in a language only if its executable file
//! shows that; all others are called unrecognised.

use super::tally::Buffering;
use super::target::Kind;
use crate::platform::{mappings, procfs};
use crate::run;
use memchr::memmem;
use object::{Object, ObjectSection, ObjectSymbol, ReadCache, ReadRef};
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A language: the name of a row in `languages.txt`, or empty where no program was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Language(&'static str);

const LANGUAGES: &str = include_str!("languages.txt");

fn rows() -> impl Iterator<Item = [&'static str; 8]> {
    let lines = LANGUAGES.lines().filter(|line| !line.starts_with("//"));
    lines.filter_map(|line| {
        let columns: Vec<&str> = line.splitn(8, '|').map(str::trim).collect();
        columns.try_into().ok()
    })
}

impl Language {
    /// C that prints by the shared C library's stdio and leaves its buffers as they are.
    pub(crate) const C: Self = Self("C");
    /// The same, but it may as well write by itself: it has `write`, too.
    const WRITING_C: Self = Self("C that calls write");
    /// C that is installed with the system: its user does not change it.
    pub(crate) const INSTALLED_C: Self = Self("C, installed");
    pub(crate) const PYTHON: Self = Self("Python");
    pub(crate) const NODE: Self = Self("Node.js");
    pub(crate) const SHELL: Self = Self("shell");
    /// None of the others, or unknown.
    pub(crate) const UNRECOGNISED: Self = Self("unrecognised");
    /// The same, where `outpace run` spares no calls.
    pub(crate) const CLOSED: Self = Self("unrecognised, closed");

    /// Its name in reports and in JSON.
    pub(crate) fn name(self) -> &'static str {
        let known = self.0.split([',', ' ']).find(|name| !name.is_empty());
        known.unwrap_or(Self::UNRECOGNISED.0)
    }

    /// The text of a column in its row.
    fn column(self, column: usize) -> &'static str {
        let row = rows().find(|row| row[0] == self.0);
        row.map_or("", |row| row[column])
    }

    /// Recognises an interpreter by its file name, and a compiled program by what its compiler left in it.
    pub(crate) fn of(process: i32, executable: &Path) -> Self {
        match Self::recognised(process, executable) {
            Self::UNRECOGNISED if run::reason_against_shim(executable).is_some() => Self::CLOSED,
            language => language,
        }
    }

    /// The same, unless a library that is not of this language has made a write with this top of the stack, or the program itself, where it should
    /// print by the C library.
    pub(crate) fn of_writer(self, process: i32, stack: &[u64]) -> Self {
        let (libraries, executable) = (self.column(6), procfs::executable(process));
        let is_own = |file: &PathBuf| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let mut libraries = libraries.split(' ');
            Some(file) == executable.as_ref() || libraries.any(|own| name.starts_with(own))
        };
        // Most languages print by the C library: none of the words at the top is asked. Of those with a "-" the first one is, which leads to the
        // caller of `write`; of the others all.
        let most = [libraries.len(), stack.len()][usize::from(libraries.len() > 1)];
        let files = mappings::with_code_at(process, &stack[..most.min(stack.len())]);
        let is_known = files.is_empty() || files.iter().any(is_own) != (libraries == "-");
        [Self::UNRECOGNISED, self][usize::from(is_known)]
    }

    fn recognised(process: i32, executable: &Path) -> Self {
        let name = executable.file_name().and_then(|name| name.to_str());
        let arguments = procfs::arguments(process);
        // Its path may lead elsewhere for us. It may run another one by now.
        let path = match procfs::executable(process) {
            Some(now) if now == executable => PathBuf::from(format!("/proc/{process}/exe")),
            _ => executable.to_owned(),
        };
        let cache = File::open(path).ok().map(ReadCache::new);
        let file = cache.as_ref().and_then(|cache| Binary::parse(cache).ok());
        let is_it = |language: &Self| {
            let marks = language.column(2);
            marks.is_empty() || file.as_ref().is_none_or(|file| has_mark(file, marks))
        };
        let interpreter = Self::of_interpreter(name.unwrap_or_default(), &arguments);
        let is_script = || interpreter.is_some() || runs_a_script(process, &arguments);
        let loads = |file| has_mark(&file, ".dynstr dlopen");
        let language = match interpreter.filter(is_it) {
            Some(Self::PYTHON) => python(&arguments, &procfs::environment(process)),
            Some(Self("Java")) if runs_no_java(process, &arguments) => Self::UNRECOGNISED,
            Some(language) => language,
            None if name == Some("busybox") => Self::of_applet(&arguments),
            None => match file.as_ref().and_then(Self::of_binary) {
                Some(c) if matches!(c.name(), "C" | "C++") && is_script() => Self::UNRECOGNISED,
                Some(c) if c.name() == "C" && is_installed(executable) => Self::INSTALLED_C,
                // What it loads may be an interpreter.
                Some(c) if c.name() == "C" && file.is_some_and(loads) => Self::UNRECOGNISED,
                language => language.unwrap_or(Self::UNRECOGNISED),
            },
        };
        let is_plain = !language.0.contains(" with ");
        let is_cause = |row: &[&str; 8]| {
            let (name, cause) = row[0].split_once(" with ").unwrap_or_default();
            match cause {
                _ if name != language.name() || !is_plain || !row[1].is_empty() => false,
                "stdbuf" => has_stdbuf(process),
                // Python's may be its script's.
                option => language != Self::PYTHON && has_option(&arguments, option),
            }
        };
        rows().find(is_cause).map_or(language, |row| Self(row[0]))
    }

    fn of_interpreter(name: &str, arguments: &[String]) -> Option<Self> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        let runs_it = |row: &[&str; 8]| {
            let option = row[0].split_once(" with ").map(|parts| parts.1);
            row[1].split_ascii_whitespace().any(|name| name == stem)
                && option.is_none_or(|option| has_option(arguments, option))
        };
        rows().find(runs_it).map(|row| Self(row[0]))
    }

    /// `busybox` is many programs.
    fn of_applet(arguments: &[String]) -> Self {
        let mut names = arguments.iter().map(|word| word.rsplit('/').next());
        let name = names.find(|name| *name != Some("busybox")).flatten();
        let is_shell = matches!(name, Some("sh" | "ash" | "-sh" | "-ash" | "hush"));
        [Self::UNRECOGNISED, Self::SHELL][usize::from(is_shell)]
    }

    fn of_binary(file: &Binary<'_>) -> Option<Self> {
        // Not as texts in the table of strings, where a name may be the end of another.
        let named: HashSet<_> = file.dynamic_symbols().flat_map(|one| one.name()).collect();
        let imports = |names: &str| names.split(' ').any(|name| named.contains(name));
        if let Some(row) = rows().find(|row| has_mark(file, row[3])) {
            // A C program may have a library in that language; and a program that offers the Node-API runs JavaScript, as Bun does.
            let is_other = imports("printf __printf_chk vprintf puts putchar napi_create_function");
            let is_known = !is_other || !["Go", "Rust", "Zig"].contains(&row[0]);
            return is_known.then_some(Self(row[0]));
        }
        // A program that exports many functions of its own runs others.
        let is_host = file.exports().map_or(0, Iterator::count) >= FEWEST_OF_HOSTS;
        let prints = imports(
            "printf __printf_chk fprintf __fprintf_chk vprintf vfprintf puts fputs putchar putc fputc _IO_putc fwrite \
             fputs_unlocked fwrite_unlocked putchar_unlocked __overflow",
        );
        let writes = imports("write writev dprintf vdprintf __dprintf_chk");
        let sets_buffers = imports("setvbuf setbuf setlinebuf setbuffer");
        let cpp = Self("C++");
        if has_mark(file, cpp.column(2)) {
            // Those who set buffers of stdio may print by that, and by streams now and then.
            let flushes = imports("_ZNSo5flushEv _ZNSolsEPFRSoS_E");
            return (!is_host && !writes && (flushes || !sets_buffers)).then_some(cpp);
        }
        const OTHERS: &str = ".dynstr libstdc++,libc++.,libdruntime,libgfortran,libgnat";
        let is_c = has_mark(file, ".dynstr libc.so") && !has_mark(file, OTHERS);
        let c = [Self::C, Self::WRITING_C][usize::from(writes)];
        (is_c && !is_host && prints && !sets_buffers).then_some(c)
    }

    /// Whether the language's own printing makes one call for every print whatever the destination,
    /// so that writes that end lines are messages and no line buffer is at work.
    pub(crate) fn prints_unbuffered(self) -> bool {
        !self.column(4).is_empty()
    }

    /// Whether the option that makes writes small makes reads small, too.
    pub(crate) fn reads_bytes(self) -> bool {
        self.0.starts_with("unrecognised with ")
    }

    /// The cost of write calls in the program's own code, less what the remedy itself costs there, in parts of their time in the kernel: at
    /// least and usually at most, for the library's way to the call and back; and at most, for that and for making pieces of lines.
    pub(crate) fn around_calls(self) -> [f64; 3] {
        let mut figures = self.column(5).split(' ').flat_map(str::parse);
        AROUND_CALLS.map(|usual| figures.next().unwrap_or(usual))
    }

    /// The remedy for a stream with many small calls; `None` where no remedy is known to help on this kind of
    /// destination.
    pub(crate) fn remedy_for_calls(self, buffering: Buffering, kind: Kind) -> Option<String> {
        // `stdbuf` cannot change explicit flushes.
        let is_flushed = self.name() == "C" && buffering == Buffering::Unbuffered;
        let mut remedies = self.column(7).split("||").map(str::trim);
        let remedy = match kind {
            Kind::Terminal if !is_flushed => remedies.last(),
            _ => remedies.next(),
        };
        let mut remedy = remedy.filter(|remedy| !remedy.is_empty())?;
        if let Buffering::Block { .. } = buffering {
            // Its buffer has been asked for already.
            remedy = remedy.rsplit("; or ").next()?;
        }
        let is_of_any = remedy.starts_with('`') || self.name() == Self::UNRECOGNISED.0;
        let name = (!is_of_any).then(|| self.name().to_owned() + ": ");
        Some(name.unwrap_or_default() + remedy)
    }

    /// The same for stderr, which Python writes line by line to any destination.
    pub(crate) fn remedy_for_stderr(self) -> Option<String> {
        let remedy = self.column(7).replace("stdout", "stderr");
        let remedy = remedy.replace("open(1", "open(2");
        let remedy = remedy.replace("on a terminal also", "and");
        (self.name() == "Python").then(|| format!("Python: {remedy}"))
    }
}

/// An executable file, of which only the requested parts are read: it may be large, and its table of sections is at its end.
type Binary<'a> = object::File<'a, &'a ReadCache<File>>;

/// Whether a file has one of these texts in its section.
fn has_mark(file: &Binary<'_>, marks: &str) -> bool {
    let mut marks = marks.split("; ").filter_map(|mark| mark.split_once(' '));
    marks.any(|(section, texts)| {
        let section = file.section_by_name(section);
        let contents = section.and_then(|section| section.data().ok());
        (texts.split(',')).any(|text| contains(contents.unwrap_or_default(), text))
    })
}

/// Where the table has no other figures.
const AROUND_CALLS: [f64; 3] = [0.1, 0.7, 4.0];

/// Whether a program has an option among its arguments: alone, as one of several letters, or abbreviated.
fn has_option(arguments: &[String], option: &str) -> bool {
    let is_letters = |word: &str| word.len() <= 4 && word.bytes().all(|c| c.is_ascii_alphabetic());
    let is_abbreviated = |word: &String| word.len() > 2 && option.starts_with(&**word);
    let mut words = arguments.iter().filter_map(|word| word.strip_prefix('-'));
    match option.strip_prefix('-') {
        Some(long) if long.starts_with('-') => arguments.iter().any(is_abbreviated),
        Some(it) if it.len() == 1 => words.any(|word| is_letters(word) && word.contains(it)),
        _ => arguments.concat().contains(&option.replace(' ', "")),
    }
}

/// Whether `stdbuf` has told the C library to write lines, or at once.
fn has_stdbuf(process: i32) -> bool {
    let is_it = |word: &String| matches!(&**word, "_STDBUF_O=L" | "_STDBUF_O=0");
    procfs::environment(process).iter().any(is_it)
}

/// Python, with the option or variable that makes it write every message at once.
fn python(arguments: &[String], environment: &[String]) -> Language {
    // It reads a number; all else that is set is on.
    let is_on = |value: &str| !value.is_empty() && value.trim_start().parse() != Ok(0);
    let mut values = (environment.iter()).filter_map(|word| word.strip_prefix("PYTHONUNBUFFERED="));
    // Options of one letter may stand together, and end where the script or `-c` or `-m` begins.
    let mut letters = String::new();
    let mut words = arguments.iter().skip(1);
    while let Some(options) = words.next().and_then(|word| word.strip_prefix('-')) {
        let end = options.find(['c', 'm', 'W', 'X', '-']);
        let (flags, rest) = options.split_at(end.unwrap_or(options.len()));
        letters += flags;
        match rest {
            // Their argument is the next word.
            "W" | "X" | "-check-hash-based-pycs" => _ = words.next(),
            _ if options.is_empty() || rest.starts_with(['c', 'm', '-']) => break,
            _ => {}
        }
    }
    if letters.contains('u') {
        Language("Python with -u")
    } else if !letters.contains(['E', 'I']) && values.any(is_on) {
        Language("Python with PYTHONUNBUFFERED")
    } else {
        Language::PYTHON
    }
}

/// The fewest functions that interpreters and virtual machines export: Mono 1,300, Racket 670, SBCL 450, Lua 150; other
/// programs hardly export any: gdb 39, grep 6, tmux 0.
const FEWEST_OF_HOSTS: usize = 100;

/// Whether it is one of the system's own programs.
fn is_installed(executable: &Path) -> bool {
    let mut places = "/usr/bin /usr/sbin /usr/lib /usr/libexec /bin /sbin".split(' ');
    places.any(|place| executable.starts_with(place))
}

/// Whether the words of a Java virtual machine, or the names in an archive that it runs, name another language.
fn runs_no_java(process: i32, arguments: &[String]) -> bool {
    let mut texts = arguments.join(" ").to_ascii_lowercase().into_bytes();
    let files = arguments.iter().flat_map(|word| word.split(':'));
    let archives = files.filter(|file| file.ends_with(".jar"));
    let names = archives.filter_map(|archive| names_in(process, archive));
    texts.extend(names.flatten());
    let mut others = "clojure groovy jruby jython kotlin scala".split(' ');
    others.any(|other| contains(&texts, other))
}

/// The end of an archive, where the names of its files are.
fn names_in(process: i32, archive: &str) -> Option<Vec<u8>> {
    let path = PathBuf::from(format!("/proc/{process}/cwd")).join(archive);
    let file = &ReadCache::new(File::open(path).ok()?);
    let size = file.len().ok()?;
    let from = size.saturating_sub(1 << 18);
    Some(file.read_bytes_at(from, size - from).ok()?.to_vec())
}

/// Whether a program was given a script: then it may be the interpreter of a language that is not known here.
fn runs_a_script(process: i32, arguments: &[String]) -> bool {
    let directory = PathBuf::from(format!("/proc/{process}/cwd"));
    let mut words = arguments.iter().skip(1).take(MOST_WORDS);
    words.any(|word| is_script(&directory.join(word)))
}

/// Options before a script.
const MOST_WORDS: usize = 8;

fn is_script(path: &Path) -> bool {
    const ENDINGS: &str = "awk bas clj el erl ex exs f forth fs fth groovy jl js lisp lsp lua m ml nl p6 php pl pl6 pro py r raku rb rex rexx \
                           scm sl st tcl";
    let mut start = [0; 2];
    let is_marked = |mut file: File| file.read_exact(&mut start).is_ok() && start == *b"#!";
    let has_interpreter = path.is_file() && File::open(path).is_ok_and(is_marked);
    let ending = path.extension().unwrap_or_default();
    let mut known = ENDINGS.split(' ');
    has_interpreter || known.any(|known| ending.eq_ignore_ascii_case(known))
}

fn contains(haystack: &[u8], needle: &str) -> bool {
    memmem::find(haystack, needle.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Language {
        pub(crate) const RUST: Self = Self("Rust");
        pub(crate) const GO: Self = Self("Go");
        pub(crate) const R: Self = Self("R");
    }

    #[test]
    fn interpreters_are_known_by_their_names_with_and_without_versions() {
        for (name, language) in [
            ("python3.12", Language::PYTHON),
            ("lua5.4", Language("Lua")),
            ("php8.2", Language("PHP")),
            ("gawk", Language("awk")),
            ("node", Language("Node.js")),
            ("bash", Language::SHELL),
            ("java", Language("Java")),
            ("perl5.36.0", Language("Perl")),
            ("beam.smp", Language::UNRECOGNISED),
            // Of npm's package.
            ("bun.exe", Language::UNRECOGNISED),
            ("rakudo", Language::UNRECOGNISED),
            ("dotnet", Language(".NET")),
        ] {
            assert_eq!(
                Language::of_interpreter(name, &[]),
                Some(language),
                "{name}"
            );
        }
        // The whole name is a version.
        for name in ["2048", "", "hello"] {
            assert_eq!(Language::of_interpreter(name, &[]), None, "{name}");
        }
    }

    #[test]
    fn a_virtual_machine_that_runs_another_language_does_not_run_java() {
        let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
        assert!(!runs_no_java(0, &words("java -cp out Println 200000")));
        assert!(runs_no_java(
            0,
            &words("java -cp groovy-4.0.24.jar groovy.ui.GroovyMain x")
        ));
        assert!(runs_no_java(0, &words("java -cp scala-library.jar:. Main")));
    }

    #[test]
    fn an_archive_of_another_language_is_not_javas() {
        let archive = std::env::temp_dir().join(format!("outpace-{}.jar", std::process::id()));
        let words = [
            "java".to_owned(),
            "-jar".to_owned(),
            archive.display().to_string(),
        ];
        for (names, is_java) in [
            ("Main.class", true),
            ("MainKt.class kotlin/Unit.class", false),
        ] {
            // The names come after the files.
            std::fs::write(&archive, [&[0; 1 << 19], names.as_bytes()].concat()).unwrap();
            assert_eq!(runs_no_java(0, &words), !is_java, "{names}");
        }
        std::fs::remove_file(archive).unwrap();
    }

    #[test]
    fn every_row_has_its_columns_and_every_language_its_costs() {
        let lines = LANGUAGES.lines();
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
        assert_eq!(lines.count(), rows().count());
        for [name, _, _, _, _, figure, ..] in rows() {
            let mut figures = figure.split_whitespace();
            assert!(
                figures.all(|figure| figure.parse::<f64>().is_ok()),
                "{name}"
            );
        }
        let around = Language::around_calls;
        assert_eq!(around(Language::C), AROUND_CALLS);
        assert_eq!(around(Language::SHELL), [-1.5, 0.7, 0.7]);
        assert_eq!(around(Language::NODE), [0.3, 0.7, 4.0]);
        assert_eq!(around(Language::PYTHON), [0.3, 1.3, 1.3]);
    }

    #[test]
    fn a_remedy_is_for_its_language_and_destination() {
        let remedy = |language: Language, kind| {
            let remedy = language.remedy_for_calls(Buffering::Line, kind);
            remedy.unwrap_or_default()
        };
        for (language, on_terminal, elsewhere) in [
            (Language::C, "C: static char", "C: static char"),
            (Language("Perl"), "Perl: $out .= ", "Perl: $| = 0;"),
            (
                Language::RUST,
                "Rust: use outpace::println;",
                "Rust: use outpace::println;",
            ),
            (Language::INSTALLED_C, "`stdbuf", ""),
            (Language::UNRECOGNISED, "", ""),
        ] {
            assert!(remedy(language, Kind::Terminal).starts_with(on_terminal));
            assert!(remedy(language, Kind::Pipe).starts_with(elsewhere));
        }
        assert!(remedy(Language::C, Kind::Terminal).contains("stdbuf"));
        assert!(!remedy(Language::C, Kind::Pipe).contains("stdbuf"));
        assert_eq!(remedy(Language::UNRECOGNISED, Kind::Pipe), "");
        let by_option = Language("Python with -u");
        assert!(remedy(by_option, Kind::Pipe).starts_with("Python: leave the option -u out"));
    }

    #[test]
    fn an_option_that_makes_every_line_a_write_is_named() {
        for (line, option) in [
            ("grep -n --line-buffered x", Some("--line-buffered")),
            ("grep -n x", None),
            ("sed -nu p", Some("-u")),
            ("sed -n s/u/-u/", None),
            ("sed --unbuffered p", Some("--unbuffered")),
            ("sed --u p", Some("--unbuffered")),
            ("sed -- p", None),
            ("grep --line-b x", Some("--line-buffered")),
            ("grep --line-number x", None),
            ("grep -e --line-buffered-x", None),
            ("tcpdump -nl", Some("-l")),
            ("mawk -W interactive 1", Some("-W interactive")),
            ("mawk 1", None),
            ("rg --line-buffered x", Some("--line-buffered")),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let language = Language::of_interpreter(&words[0], &words[1..]);
            let remedy = language.and_then(|of| of.remedy_for_calls(Buffering::Line, Kind::Pipe));
            let named = format!("option {} out", option.unwrap_or("any"));
            let is_named = remedy.is_some_and(|remedy| remedy.contains(&named));
            assert_eq!(is_named, option.is_some(), "{line}: {language:?}");
        }
    }

    #[test]
    fn what_makes_every_print_of_python_a_write_is_read_as_it_reads_that() {
        let option = |line: &str, variable: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let known = python(&words, &[format!("PYTHONUNBUFFERED={variable}")]);
            known.0.strip_prefix("Python").unwrap().trim_start()
        };
        for (value, is_on) in [
            ("", false),
            ("0", false),
            ("00", false),
            (" +0", false),
            ("1", true),
            ("-1", true),
            ("x", true),
            ("0x", true),
            ("99999999999", true),
        ] {
            let found = option("python3 x.py", value);
            assert_eq!(
                found,
                ["", "with PYTHONUNBUFFERED"][usize::from(is_on)],
                "{value:?}"
            );
        }
        assert_eq!(option("python3 -X dev -E x.py", "1"), "");
        for (line, is_on) in [
            ("python3 -u x.py", true),
            ("python3 -Bu x.py", true),
            ("python3 -W ignore -u x.py", true),
            ("python3 -Wignore -u x.py", true),
            ("python3 -X dev -bX dev -u x.py", true),
            ("python3 --check-hash-based-pycs default -u x.py", true),
            ("python3 -uc code", true),
            ("python3 -W -u x.py", false),
            ("python3 -c code -u", false),
            ("python3 -m module -u", false),
            ("python3 x.py -u", false),
            ("python3 - -u", false),
            ("python3 -- -u", false),
        ] {
            assert_eq!(
                option(line, "0"),
                ["", "with -u"][usize::from(is_on)],
                "{line}"
            );
        }
    }

    #[test]
    fn pythons_remedy_is_for_libraries_and_for_stderr_too() {
        for (row, cause) in [
            ("Python", ""),
            ("Python with -u", "leave the option -u out"),
            ("Python with PYTHONUNBUFFERED", "unset PYTHONUNBUFFERED"),
        ] {
            let language = Language(row);
            let stdout = language.remedy_for_calls(Buffering::Line, Kind::Pipe);
            let (stdout, stderr) = (stdout.unwrap(), language.remedy_for_stderr().unwrap());
            for (remedy, stream, number) in [(&stdout, "stdout", 1), (&stderr, "stderr", 2)] {
                assert!(remedy.starts_with(&format!("Python: {cause}")), "{remedy}");
                let reopened = format!("sys.{stream} = open({number}, ");
                let for_libraries = format!("sys.{stream}.flush = lambda: None; ");
                // Its own flush is taken away after the stream has been opened once more.
                let places = [reopened, for_libraries].map(|text| remedy.find(&text));
                assert!(places[0].is_some() && places[0] < places[1], "{remedy}");
            }
            assert!(
                !stderr.contains("stdout") && !stderr.contains("terminal"),
                "{stderr}"
            );
        }
        assert_eq!(Language::C.remedy_for_stderr(), None);
    }

    #[test]
    fn what_stdbuf_told_a_program_is_seen() {
        let language = |command: &str, setting: &str| {
            let (program, argument) = command.split_once(' ').unwrap();
            let mut program = std::process::Command::new(program);
            program.arg(argument).env("_STDBUF_O", setting);
            let pipes = program.stdin(std::process::Stdio::piped());
            let mut child = pipes.spawn().unwrap();
            let process = child.id() as i32;
            // The kernel tells them at the end of the start.
            while procfs::environment(process).is_empty() {
                std::thread::yield_now();
            }
            let found = Language::of(process, &procfs::executable(process).unwrap());
            drop(child.stdin.take());
            child.wait().unwrap();
            found
        };
        if !Path::new("/usr/bin/gawk").exists()
            || language("cut -c1", "65536") != Language::INSTALLED_C
        {
            return eprintln!("skipped: no gawk, or cut is not written in C here");
        }
        assert_eq!(language("gawk 1", "65536"), Language("awk"));
        for setting in ["L", "0"] {
            assert_eq!(language("cut -c1", setting), Language("C with stdbuf"));
            assert_eq!(language("gawk 1", setting), Language("awk with stdbuf"));
        }
    }

    #[test]
    fn a_test_of_go_is_told_of_its_option() {
        let directory = tempfile::tempdir().unwrap();
        let (source, program) = (directory.path().join("one_test.go"), "one.test");
        let text = "package one\nimport (\"bufio\"; \"os\"; \"testing\")\n\
            func TestOne(t *testing.T) { bufio.NewReader(os.Stdin).ReadString(10) }\n";
        std::fs::write(&source, text).unwrap();
        let build = ["test", "-c", "-o", program, "one_test.go"];
        let go = std::process::Command::new("go")
            .args(build)
            .current_dir(&directory)
            .status();
        if !go.is_ok_and(|status| status.success()) {
            return eprintln!("skipped: no Go");
        }
        for (option, found) in [("-test.v=true", "Go with -test.v"), ("-test.count=1", "Go")] {
            let file = directory.path().join(program);
            let mut test = std::process::Command::new(&file);
            let test = test.arg(option).stdin(std::process::Stdio::piped());
            let mut child = test.spawn().unwrap();
            let process = child.id() as i32;
            while procfs::arguments(process).get(1).map(String::as_str) != Some(option) {
                std::thread::yield_now();
            }
            assert_eq!(Language::of(process, &file), Language(found));
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_program_is_in_the_language_that_prints() {
        let directory = tempfile::tempdir().unwrap();
        let [source, program] = ["a.cpp", "program"].map(|name| directory.path().join(name));
        // Of a library that is linked in.
        let rust = r#"__asm__(".pushsection .comment,\"MS\",@progbits,1\n.asciz \"rustc version 1\"\n.popsection");"#;
        let rust =
            format!("#include <cstdio>\n#include <unistd.h>\n{rust}\nint main(int n, char **) {{");
        let buffered = "#include <cstdio>\n#include <iostream>\nint main() { setvbuf(stdout, nullptr, _IOLBF, 8192); puts(\"1\");";
        let plain = "#include <iostream>\nint main() {";
        for (text, expected) in [
            (
                format!("{buffered} std::cout << 2; }}"),
                Language::UNRECOGNISED,
            ),
            (
                format!("{buffered} std::cout << std::endl; }}"),
                Language("C++"),
            ),
            (format!("{plain} std::cout << 2; }}"), Language("C++")),
            (
                format!(
                    "#include <unistd.h>\n{plain} write(1, \"\", 1); std::cout << std::endl; }}"
                ),
                Language::UNRECOGNISED,
            ),
            (
                format!("{rust} printf(\"%d\", n); }}"),
                Language::UNRECOGNISED,
            ),
            (
                format!("{rust} return write(1, \"\", 1); }}"),
                Language::RUST,
            ),
        ] {
            std::fs::write(&source, &text).unwrap();
            let mut build = std::process::Command::new("g++");
            let build = build.arg("-O2").arg(&source).arg("-o").arg(&program);
            if !build.status().is_ok_and(|status| status.success()) {
                return eprintln!("skipped: no g++");
            }
            let found = Language::of(std::process::id() as i32, &program);
            assert_eq!(found.name(), expected.name(), "{text}");
        }
    }

    #[test]
    fn a_buffer_that_is_there_is_not_advised_again() {
        let remedy = |buffering| Language("Lua").remedy_for_calls(buffering, Kind::Terminal);
        let blocks = Buffering::Block { capacity: 1024 };
        assert!(remedy(Buffering::Line).unwrap().contains("setvbuf"));
        assert!(!remedy(blocks).unwrap().contains("setvbuf"));
    }

    #[test]
    fn this_test_is_a_rust_program() {
        assert_eq!(
            Language::of(std::process::id() as i32, &std::env::current_exe().unwrap()),
            Language::RUST
        );
    }

    #[test]
    fn an_unknown_interpreter_is_not_taken_for_c() {
        assert!(is_script(Path::new("/nowhere/program.jl")));
        assert!(is_script(Path::new("/nowhere/program.raku")));
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
            Language::SHELL
        );
        assert_eq!(
            Language::of_applet(&words(&["busybox", "ash"])),
            Language::SHELL
        );
        assert_eq!(
            Language::of_applet(&words(&["busybox", "awk"])),
            Language::UNRECOGNISED
        );
    }
}
