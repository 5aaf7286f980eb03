//! A small judge for the worked problems: starts a solution once for each case, and checks what it prints.
//!
//! ```sh
//! rustc -O -o judge judge.rs && ./judge pairs ./solution
//! ```
//!
//! It ends with status 1 at the first case that fails, and says why.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

/// Numbers that look random, and are the same in every run (Vigna's splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Of 1 to so many digits, positive or negative.
    fn number(&mut self, digits: u32) -> i64 {
        let magnitude = (self.next() % 10_u64.pow(1 + (self.next() % u64::from(digits)) as u32)) as i64;
        if self.next() % 2 == 0 { magnitude } else { -magnitude }
    }
}

fn pairs(count: usize) -> (String, String) {
    let (mut random, mut input, mut answer) = (Random(count as u64), format!("{count}\n"), String::new());
    for _ in 0..count {
        let (a, b) = (random.number(18), random.number(18));
        let _ = writeln!(input, "{a} {b}");
        let _ = writeln!(answer, "{}", a + b);
    }
    (input, answer)
}

fn matrix(rows: usize, columns: usize) -> (String, String) {
    let mut random = Random((rows * columns) as u64);
    let matrix: Vec<Vec<i64>> = (0..rows).map(|_| (0..columns).map(|_| random.number(9)).collect()).collect();
    let (mut input, mut answer) = (format!("{rows} {columns}\n"), String::new());
    let line = |numbers: Vec<i64>| numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(" ");
    for row in &matrix {
        let _ = writeln!(input, "{}", line(row.clone()));
    }
    for column in 0..columns {
        let _ = writeln!(answer, "{}", line(matrix.iter().map(|row| row[column]).collect()));
    }
    let sum: i64 = matrix.iter().flatten().sum();
    let _ = writeln!(answer, "{:.6}", sum as f64 / (rows * columns) as f64);
    (input, answer)
}

fn start(program: &str) -> Result<Child, String> {
    let piped = || Stdio::piped();
    let child = Command::new(program).stdin(piped()).stdout(piped()).spawn();
    child.map_err(|error| format!("{program}: {error}"))
}

fn end(mut child: Child) -> Result<(), String> {
    let status = child.wait().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("it ended with {status}")) }
}

/// Gives it the input, with the line ends of some other system if so wished, and compares what it prints.
fn compare(program: &str, (input, answer): (String, String), crlf: bool) -> Result<(), String> {
    let input = if crlf { input.replace('\n', "\r\n") } else { input };
    let mut child = start(program)?;
    let mut stdin = child.stdin.take().expect("piped");
    // A solution may print before it has read all.
    let feeder = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let mut printed = Vec::new();
    let read = child.stdout.take().expect("piped").read_to_end(&mut printed);
    read.map_err(|error| error.to_string())?;
    let fed = feeder.join().expect("it only writes");
    end(child)?;
    fed.map_err(|error| format!("it did not read its input: {error}"))?;
    if printed == answer.as_bytes() {
        return Ok(());
    }
    let printed = String::from_utf8_lossy(&printed);
    let mut lines = (1..).zip(printed.lines().zip(answer.lines()));
    Err(match lines.find(|(_, (printed, expected))| printed != expected) {
        Some((line, (printed, expected))) => format!("line {line} is {printed:?} instead of {expected:?}"),
        None => format!("{} bytes instead of {}", printed.len(), answer.len()),
    })
}

/// Answers its questions, and counts them.
fn guess(program: &str, n: u64, secret: u64) -> Result<(), String> {
    let mut child = start(program)?;
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut say = |text: String| stdin.write_all(text.as_bytes()).map_err(|error| error.to_string());
    say(format!("{n}\n"))?;
    let mut questions = 0;
    loop {
        let mut line = String::new();
        let read = stdout.read_line(&mut line).map_err(|error| error.to_string())?;
        if read == 0 {
            return Err("it ended without an answer".to_owned());
        }
        let (kind, number) = line.trim_end().split_once(' ').ok_or_else(|| format!("{line:?} is no move"))?;
        let number: u64 = number.parse().map_err(|_| format!("{line:?} is no move"))?;
        match kind {
            "?" => say(if secret < number { "Yes\n" } else { "No\n" }.to_owned())?,
            "!" if number == secret => return end(child),
            _ => return Err(format!("{line:?}, but it was {secret}")),
        }
        questions += 1;
        if questions > 70 {
            return Err("it asks too much".to_owned());
        }
    }
}

type Case = (&'static str, Box<dyn Fn(&str) -> Result<(), String>>);

fn cases(problem: &str) -> Option<Vec<Case>> {
    fn same(name: &'static str, crlf: bool, make: impl Fn() -> (String, String) + 'static) -> Case {
        (name, Box::new(move |program| compare(program, make(), crlf)))
    }
    fn game(name: &'static str, n: u64, secret: u64) -> Case {
        (name, Box::new(move |program| guess(program, n, secret)))
    }
    Some(match problem {
        "pairs" => vec![
            same("none", false, || pairs(0)),
            same("one", false, || pairs(1)),
            same("1,000, lines end in CRLF", true, || pairs(1_000)),
            same("200,000", false, || pairs(200_000)),
        ],
        "matrix" => vec![
            same("1 x 1", false, || matrix(1, 1)),
            same("3 x 4, lines end in CRLF", true, || matrix(3, 4)),
            same("1 x 100,000", false, || matrix(1, 100_000)),
            same("700 x 500", false, || matrix(700, 500)),
        ],
        "guess" => vec![
            game("1 of 1", 1, 1),
            game("the first of 1,000", 1_000, 1),
            game("the last of 10^18", 1_000_000_000_000_000_000, 1_000_000_000_000_000_000),
            game("some of 10^18", 1_000_000_000_000_000_000, 123_456_789_012_345_678),
        ],
        _ => return None,
    })
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [problem, program] = &arguments[..] else {
        eprintln!("judge: usage: judge pairs|matrix|guess PROGRAM");
        return ExitCode::from(2);
    };
    let Some(cases) = cases(problem) else {
        eprintln!("judge: {problem}: there is pairs, matrix and guess");
        return ExitCode::from(2);
    };
    for (name, run) in cases {
        let begun = Instant::now();
        if let Err(reason) = run(program) {
            println!("{problem}, {name}: wrong: {reason}");
            return ExitCode::FAILURE;
        }
        println!("{problem}, {name}: right, {} ms", begun.elapsed().as_millis());
    }
    ExitCode::SUCCESS
}
