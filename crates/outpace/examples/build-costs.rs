//! The costs of outpace's macros at build time: the time for 1,000 `println!` calls and the size of a program with one,
//! beside std's. Linux only: the times are processor time.
//!
//! ```text
//! cargo run --release -p outpace --example build-costs [-- ROUNDS]
//! ```

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const CALLS: usize = 1_000;

/// A function's worth of calls, as programs have them. `WORD` stands for a word that differs each time.
const LINES: [&str; 20] = [
    r##"println!("WORD");"##,
    r##"println!("WORD {name}");"##,
    r##"println!("WORD: {i}");"##,
    r##"println!("{name}: WORD {i}");"##,
    r##"println!("WORD {} of {}", i, count);"##,
    r##"println!("WORD took {x} s");"##,
    r##"println!("[{i}/{count}] WORD {name}");"##,
    r##"println!();"##,
    r##"println!("{i} + {count} WORD {}", count * 2);"##,
    r##"println!("WORD: {error}");"##,
    r##"println!("WORD {list:?}");"##,
    r##"println!("{name:>12} WORD {x:.2}");"##,
    r##"println!("usage: WORD [OPTIONS] FILE…, and more that does not fit into a few words");"##,
    r##"println!("{i},{name},{x},WORD,{count}");"##,
    r##"println!("WORD = {:#06x}", count);"##,
    r##"println!("{}WORD{}", name, list.len());"##,
    r##"println!("WORD done: {name} ({:.1} %)", x * 100.0);"##,
    r##"println!("{}", i);"##,
    r##"println!("WORD {letter} {flag}");"##,
    r##"println!("{x} WORD {y}", y = x / 2.0);"##,
];

const WORDS: [&str; 17] = [
    "a",
    "to",
    "and",
    "file",
    "total",
    "result",
    "reading",
    "finished",
    "directory",
    "the number",
    "from now on",
    "all of the",
    "what is left",
    "as it was said",
    "in the beginning",
    "nothing to be done here",
    "the quick brown fox jumps",
];

/// The 1,000 calls, 20 in a function.
fn calls() -> String {
    let mut source = String::new();
    let mut word = 0;
    for function in 0..CALLS / LINES.len() {
        writeln!(
            source,
            "fn f{function}(i: u64, count: u32, x: f64, name: &str, letter: char, flag: bool, \
             list: &[i32], error: &std::io::Error) {{"
        )
        .expect("strings take everything");
        for line in LINES {
            word += 1;
            source += "    ";
            source += &line.replace("WORD", WORDS[word % WORDS.len()]);
            source.push('\n');
        }
        source += "}\n";
    }
    source += "fn main() {\n    let error = std::io::Error::last_os_error();\n";
    for function in 0..CALLS / LINES.len() {
        writeln!(
            source,
            "    f{function}(1, 2, 0.5, \"name\", 'c', true, &[1, 2], &error);"
        )
        .expect("strings take everything");
    }
    source + "}\n"
}

struct Program {
    name: String,
    manifest: PathBuf,
    main: PathBuf,
    target: PathBuf,
}

impl Program {
    fn new(directory: &Path, name: String, source: &str, profile: &str) -> Program {
        let root = directory.join(&name);
        fs::create_dir_all(root.join("src")).expect("the target directory can be written to");
        let program = Program {
            manifest: root.join("Cargo.toml"),
            main: root.join("src/main.rs"),
            target: directory.join("target"),
            name,
        };
        let library = env!("CARGO_MANIFEST_DIR");
        let manifest = format!(
            "[package]\nname = \"{}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\noutpace = {{ path = {library:?} }}\n\n{profile}",
            program.name
        );
        fs::write(&program.manifest, manifest).expect("the manifest can be written");
        fs::write(&program.main, source).expect("the source can be written");
        program
    }

    /// Builds it anew, if it has been built before; returns the processor time, in seconds.
    fn build(&self, arguments: &[&str]) -> f64 {
        fs::File::options()
            .append(true)
            .open(&self.main)
            .and_then(|file| file.set_modified(std::time::SystemTime::now()))
            .expect("the source can be touched");
        let before = children_seconds();
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--offline", "--manifest-path"])
            .arg(&self.manifest)
            .arg("--target-dir")
            .arg(&self.target)
            .args(arguments)
            .env("CARGO_INCREMENTAL", "0")
            .status()
            .expect("cargo runs");
        assert!(status.success(), "{} does not build", self.name);
        children_seconds() - before
    }

    fn size(&self, profile: &str) -> u64 {
        let path = self.target.join(profile).join(&self.name);
        fs::metadata(path).expect("it was built").len()
    }
}

/// The processor time of all children that have ended.
fn children_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux has it");
    let after_name = stat.rsplit_once(')').expect("the name is in parentheses").1;
    let ticks: u64 = after_name
        .split_whitespace()
        .skip(13)
        .take(2)
        .map(|field| field.parse::<u64>().expect("ticks are a number"))
        .sum();
    ticks as f64 / 100.0
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let rounds: usize = env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(5);
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/build-costs");
    let pair = |name: &str, source: &str, profile: &str| {
        let ours = format!("use outpace::println;\n{source}");
        [
            Program::new(&directory, format!("{name}-std"), source, profile),
            Program::new(&directory, format!("{name}-outpace"), &ours, profile),
        ]
    };

    println!("{CALLS} println! calls, seconds of processor time, the median of {rounds} builds:");
    let programs = pair("calls", &calls(), "");
    for arguments in [&[][..], &["--release"]] {
        // The first build compiles their dependencies.
        for program in &programs {
            program.build(arguments);
        }
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (program, times) in programs.iter().zip(&mut times) {
                times.push(program.build(arguments));
            }
        }
        let [std, ours] = times.map(median);
        let what = arguments.first().map_or("debug", |flag| &flag[2..]);
        println!(
            "  {what:8} std {std:.2}, outpace {ours:.2}: {:.2}x",
            ours / std
        );
    }

    println!("a program that prints a line, bytes:");
    let hello = "fn main() {\n    println!(\"Hello, world\");\n}\n";
    for (name, profile) in [
        ("release", ""),
        ("release, stripped", "[profile.release]\nstrip = true\n"),
        (
            "release, stripped, opt-level z, LTO, panic abort",
            "[profile.release]\nstrip = true\nopt-level = \"z\"\nlto = true\ncodegen-units = 1\n\
             panic = \"abort\"\n",
        ),
    ] {
        let programs = pair("hello", hello, profile);
        let [std, ours] = programs.each_ref().map(|program| {
            program.build(&["--release"]);
            program.size("release")
        });
        println!(
            "  {name}: std {std}, outpace {ours}: {:.1} KiB more",
            (ours as f64 - std as f64) / 1024.0
        );
    }
}
