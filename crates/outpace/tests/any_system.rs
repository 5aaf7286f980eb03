//! Endings by std alone, for systems that the other tests do not run on: of Windows, say, under Wine (CONTRIBUTING.md).
//!
//! Starts itself anew as the program in question.

#[path = "common/macros.rs"]
mod macros;

use libtest_mimic::{Arguments, Trial};
use macros::{eprintln, print, println};
use std::fs::File;
use std::process::{Command, ExitCode, Stdio, exit};

/// The endings, and the status of each.
const ENDINGS: [(&str, i32, fn()); 7] = [
    ("return", 0, || {}),
    ("exit", 3, || exit(3)),
    ("exit in another thread", 3, || {
        let ended = std::thread::spawn(|| exit(3)).join();
        unreachable!("{ended:?}")
    }),
    ("exit while a guard is held", 3, || {
        let _guard = outpace::stdout().lock();
        exit(3)
    }),
    ("exit while other threads print to stderr", 3, || {
        for _ in 0..4 {
            std::thread::spawn(|| {
                loop {
                    eprintln!("of another thread");
                }
            });
        }
        exit(3)
    }),
    ("panic", 101, || panic!("of the test")),
    ("a child, after flush_first", 0, || {
        use outpace::CommandExt as _;
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([PROGRAM, "return", "0"]);
        child.flush_first().unwrap().status().unwrap();
    }),
];

/// The first argument of a program, before its ending, its buffering and its number of lines.
const PROGRAM: &str = "--program";

const BUFFERINGS: [&str; 5] = ["unbuffered", "line", "block:1000", "prompt", "background"];

fn program(ending: &str, lines: usize) {
    for line in 0..lines {
        println!("line {line} é");
    }
    print!("the unfinished last line");
    let (.., end) = ENDINGS.iter().find(|(name, ..)| *name == ending).unwrap();
    end();
}

fn expected(lines: usize) -> String {
    let whole: String = (0..lines).map(|line| format!("line {line} é\n")).collect();
    whole + "the unfinished last line"
}

/// Starts this executable as the program that ends so.
fn start(ending: &str, buffering: &str, lines: usize) -> Command {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program
        .args([PROGRAM, ending, &lines.to_string()])
        .env("OUTPACE_STDOUT", buffering)
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    program
}

fn check(ending: &str, status: i32, buffering: &str) -> Result<(), String> {
    // A write a message is slow under Wine.
    let lines = match buffering {
        "unbuffered" | "line" => 500,
        _ => 50_000,
    };
    let mut wanted = expected(lines);
    if ending.starts_with("a child") {
        wanted += &expected(0);
    }

    let piped = start(ending, buffering, lines)
        .stdout(Stdio::piped())
        .spawn();
    let piped = piped
        .and_then(|running| running.wait_with_output())
        .unwrap();

    let name = format!(
        "outpace-{}-{ending}-{}",
        std::process::id(),
        &buffering[..4]
    );
    let path = std::env::temp_dir().join(name);
    let file = File::create_new(&path).unwrap();
    let code = start(ending, buffering, lines)
        .stdout(file)
        .status()
        .unwrap();
    let written = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();

    for (to, code, found) in [
        ("a pipe", piped.status, piped.stdout),
        ("a file", code, written),
    ] {
        let found = String::from_utf8(found).map_err(|error| error.to_string())?;
        if code.code() != Some(status) {
            return Err(format!("into {to}: {code}"));
        }
        if found != wanted {
            let same = found
                .bytes()
                .zip(wanted.bytes())
                .take_while(|(found, wanted)| found == wanted);
            let (same, found, wanted) = (same.count(), found.len(), wanted.len());
            return Err(format!(
                "into {to}: {found} of {wanted} bytes, {same} of them right"
            ));
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mark, ending, lines] = &arguments[..]
        && mark == PROGRAM
    {
        program(ending, lines.parse().unwrap());
        return ExitCode::SUCCESS;
    }
    let mut trials = Vec::new();
    for (ending, status, _) in ENDINGS {
        for buffering in BUFFERINGS {
            trials.push(Trial::test(
                format!("{ending}, under {buffering}"),
                move || Ok(check(ending, status, buffering)?),
            ));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
