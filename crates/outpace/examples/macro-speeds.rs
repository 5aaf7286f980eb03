//! The cost of a message by each way to write it, beside std's `writeln!` on a `BufWriter` of 64 KiB, in the same run.
//!
//! ```text
//! cargo run --release -p outpace --example macro-speeds                       # times and their ratios
//! cargo run --release -p outpace --example macro-speeds -- literal display    # of some forms
//! cargo run --release -p outpace --example macro-speeds -- --instructions     # counted by callgrind
//! ```
//!
//! Each form runs in a separate process, because earlier output of a program makes a difference. Its two contestants
//! take turns; a time is the median of the rounds, and beside it the lower quartile, which a busy neighbour disturbs
//! less. Counts do not depend on the machine's load: callgrind runs a form with two numbers of messages, and the
//! difference is the cost of the messages. One form by hand, function by function:
//!
//! ```text
//! cargo build --profile profiling -p outpace --example macro-speeds
//! valgrind --tool=callgrind target/profiling/examples/macro-speeds --run display/println ours 100000 > /dev/null
//! callgrind_annotate callgrind.out.*
//! ```

use std::env;
use std::error::Error;
use std::ffi::OsStr;
use std::fmt::{self, Write as _};
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// Messages a round.
const MESSAGES: usize = 400_000;
const ROUNDS: usize = 15;

/// Messages in callgrind's first run; the second has twice as many. More than are needed until the tables of digits are
/// made.
const COUNTED: usize = 20_000;

/// How many different numbers there are.
const VALUES: usize = 1 << 12;

/// A way to write messages, and the way it is compared with. Both are given the number of messages.
struct Form {
    name: &'static str,
    /// The ratio should be at most this.
    target: f64,
    ours: fn(usize),
    theirs: fn(usize),
}

/// A form whose one message is written by `theirs` to a `BufWriter` of 64 KiB.
macro_rules! form {
    ($name:expr, $target:literal, |$messages:ident| $ours:block, |$out:ident, $i:ident| $theirs:expr) => {
        Form {
            name: $name,
            target: $target,
            ours: |$messages| $ours,
            theirs: |messages| {
                let mut $out = BufWriter::with_capacity(64 << 10, null());
                for $i in 0..messages {
                    $theirs.expect("null takes everything");
                }
            },
        }
    };
}

/// The forms of one kind of message: by `println!`, by `outpace::writeln!` and by std's `writeln!` on a guard, a handle
/// and a stream of one's own.
macro_rules! forms {
    (
        $($kind:literal, [$print:literal $guard:literal $handle:literal $std_guard:literal $std_handle:literal],
        |$i:ident| ($($message:tt)*);)*
    ) => {
        &[$(
            form! {
                concat!($kind, "/println"), $print,
                |messages| { for $i in 0..messages { outpace::println!($($message)*); } },
                |out, $i| std::writeln!(out, $($message)*)
            },
            form! {
                concat!($kind, "/guard"), $guard,
                |messages| {
                    let mut guard = outpace::stdout().lock();
                    for $i in 0..messages {
                        outpace::writeln!(guard, $($message)*).expect("null takes everything");
                    }
                },
                |out, $i| std::writeln!(out, $($message)*)
            },
            form! {
                concat!($kind, "/handle"), $handle,
                |messages| {
                    let mut handle = outpace::stdout();
                    for $i in 0..messages {
                        outpace::writeln!(handle, $($message)*).expect("null takes everything");
                    }
                },
                |out, $i| std::writeln!(out, $($message)*)
            },
            form! {
                concat!($kind, "/stream"), $handle,
                |messages| {
                    let mut stream = stream();
                    for $i in 0..messages {
                        outpace::writeln!(stream, $($message)*).expect("null takes everything");
                    }
                },
                |out, $i| std::writeln!(out, $($message)*)
            },
            form! {
                concat!($kind, "/std-guard"), $std_guard,
                |messages| {
                    let mut guard = outpace::stdout().lock();
                    for $i in 0..messages {
                        std::writeln!(guard, $($message)*).expect("null takes everything");
                    }
                },
                |out, $i| std::writeln!(out, $($message)*)
            },
            form! {
                concat!($kind, "/std-handle"), $std_handle,
                |messages| {
                    let mut handle = outpace::stdout();
                    for $i in 0..messages {
                        std::writeln!(handle, $($message)*).expect("null takes everything");
                    }
                },
                |out, $i| std::writeln!(out, $($message)*)
            },
            form! {
                concat!($kind, "/std-stream"), $std_handle,
                |messages| {
                    let mut stream = stream();
                    for $i in 0..messages {
                        std::writeln!(stream, $($message)*).expect("null takes everything");
                    }
                },
                |out, $i| std::writeln!(out, $($message)*)
            },
        )*]
    };
}

/// For each kind of message: its name, the largest intended ratios to std's `writeln!` (by `println!`, on a guard, on a
/// handle; by std's macro on a guard, on a handle), and the message.
const FORMS: &[Form] = forms! {
    "hello", [1.0 1.0 1.0 1.1 1.25], |i| ("Hello, {i}");
    "literal", [1.5 1.5 1.5 1.5 1.5], |_i| ("a text without arguments");
    "display", [1.05 1.05 1.05 1.1 1.25], |i| ("{}", Suit::of(i));
    "path", [1.05 1.05 1.05 1.1 1.25], |i| ("{}", path(i).display());
    "uuid", [1.05 1.05 1.05 1.1 1.25], |i| ("{}", uuid(i));
    "time", [1.05 1.05 1.05 1.1 1.25], |i| ("{}", time(i));
    "option", [1.05 1.05 1.05 1.1 1.25], |i| ("{:?}", (i % 4 != 0).then_some(i));
};

/// Other forms.
const OTHERS: &[Form] = &[
    form! {
        "u64/println", 1.0,
        |messages| {
            for i in 0..messages {
                outpace::println!("{}", random(i) >> (random(i) % 64));
            }
        },
        |out, i| writeln!(out, "{}", random(i) >> (random(i) % 64))
    },
    form! {
        "f64/println", 1.0,
        |messages| {
            for i in 0..messages {
                outpace::println!("{}", f64::from_bits(random(i)));
            }
        },
        |out, i| writeln!(out, "{}", f64::from_bits(random(i)))
    },
    form! {
        "mixed/println", 1.0,
        |messages| {
            for i in 0..messages {
                outpace::println!("{i} {} {}", i % 3 == 0, letter(i));
            }
        },
        |out, i| writeln!(out, "{i} {} {}", i % 3 == 0, letter(i))
    },
    form! {
        "display-and-number/guard", 1.05,
        |messages| {
            let mut guard = outpace::stdout().lock();
            for i in 0..messages {
                outpace::writeln!(guard, "{} {i}", Suit::of(i)).expect("null takes everything");
            }
        },
        |out, i| writeln!(out, "{} {i}", Suit::of(i))
    },
    form! {
        "display-and-number/println", 1.05,
        |messages| {
            for i in 0..messages {
                outpace::println!("{} {i}", Suit::of(i));
            }
        },
        |out, i| writeln!(out, "{} {i}", Suit::of(i))
    },
    Form {
        name: "hello/format",
        target: 1.0,
        ours: |messages| {
            for i in 0..messages {
                black_box(outpace::format!("{i}: {} of {}", black_box("name"), i / 2));
            }
        },
        theirs: |messages| {
            for i in 0..messages {
                black_box(std::format!("{i}: {} of {}", black_box("name"), i / 2));
            }
        },
    },
    Form {
        name: "hello/string",
        target: 1.0,
        ours: |messages| {
            let mut text = String::new();
            for i in 0..messages {
                if i % 100 == 0 {
                    text.clear();
                }
                outpace::writeln!(text, "{i}: {} of {}", black_box("name"), i / 2)
                    .expect("strings take everything");
            }
        },
        theirs: |messages| {
            let mut text = String::new();
            for i in 0..messages {
                if i % 100 == 0 {
                    text.clear();
                }
                std::writeln!(text, "{i}: {} of {}", black_box("name"), i / 2)
                    .expect("strings take everything");
            }
        },
    },
];

/// A user's type, whose `Display` writes a text.
#[derive(Clone, Copy)]
enum Suit {
    Clubs,
    Diamonds,
    Hearts,
    Spades,
}

impl Suit {
    fn of(i: usize) -> Suit {
        [Suit::Clubs, Suit::Diamonds, Suit::Hearts, Suit::Spades][black_box(i) % 4]
    }
}

impl fmt::Display for Suit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Suit::Clubs => "clubs",
            Suit::Diamonds => "diamonds",
            Suit::Hearts => "hearts",
            Suit::Spades => "spades",
        })
    }
}

fn letter(i: usize) -> char {
    char::from(b'a' + (black_box(i) % 26) as u8)
}

fn path(i: usize) -> &'static Path {
    const PATHS: [&str; 4] = ["/etc/hostname", "Cargo.toml", "/usr/bin/true", "a/b"];
    Path::new(OsStr::new(PATHS[black_box(i) % 4]))
}

fn uuid(i: usize) -> uuid::Uuid {
    uuid::Uuid::from_u64_pair(random(i), random(i + 1))
}

fn time(i: usize) -> time::OffsetDateTime {
    time::OffsetDateTime::UNIX_EPOCH + time::Duration::seconds(black_box(i) as i64 * 1001)
}

fn null() -> File {
    let mut null = File::options();
    null.write(true)
        .open("/dev/null")
        .expect("/dev/null can be written to")
}

fn stream() -> outpace::Stream<File> {
    outpace::Stream::new(null(), outpace::Buffering::block()).expect("a descriptor is a stream")
}

/// The same number for the same `i`.
fn random(i: usize) -> u64 {
    let mut bits = (i % VALUES + 1) as u64;
    bits = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits ^= bits >> 32;
    bits = bits.wrapping_mul(0xd6e8_feb8_6659_fd93);
    bits ^ bits >> 29
}

fn form(name: &str) -> Option<&'static Form> {
    FORMS.iter().chain(OTHERS).find(|form| form.name == name)
}

/// The figures of one form: ours and theirs, each with its median and its lower quartile.
struct Figures {
    ours: [f64; 2],
    theirs: [f64; 2],
}

/// In nanoseconds a message. Of this process.
fn clock(form: &Form, rounds: usize) -> Figures {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for (run, times) in [form.ours, form.theirs].into_iter().zip(&mut times) {
            let start = Instant::now();
            run(black_box(MESSAGES));
            let time = start.elapsed().as_nanos() as f64 / MESSAGES as f64;
            // The first round includes one-time costs.
            if round > 0 {
                times.push(time);
            }
        }
    }
    let [ours, theirs] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        [times[times.len() / 2], times[times.len() / 4]]
    });
    Figures { ours, theirs }
}

/// In instructions a message.
fn count(form: &Form) -> Result<Figures, Box<dyn Error>> {
    let executed = |side: &str, messages: usize| -> Result<f64, Box<dyn Error>> {
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(env::current_exe()?)
            .args(["--run", form.name, side, &messages.to_string()])
            .stdout(Stdio::null())
            .output()?;
        let report = String::from_utf8_lossy(&output.stderr);
        let collected = report
            .lines()
            .find_map(|line| line.split_once("Collected : "));
        let (_, count) = collected.ok_or_else(|| format!("callgrind says: {report}"))?;
        Ok(count.trim().parse()?)
    };
    let a_message = |side: &str| -> Result<[f64; 2], Box<dyn Error>> {
        let more = executed(side, 2 * COUNTED)? - executed(side, COUNTED)?;
        Ok([more / COUNTED as f64; 2])
    };
    Ok(Figures {
        ours: a_message("ours")?,
        theirs: a_message("theirs")?,
    })
}

/// The figures of a form, clocked in a separate process.
fn clock_apart(form: &Form) -> Result<Figures, Box<dyn Error>> {
    let output = Command::new(env::current_exe()?)
        .args(["--clock", form.name])
        .stdout(Stdio::null())
        .output()?;
    let report = String::from_utf8(output.stderr)?;
    let figures = report.split_whitespace().map(str::parse);
    match figures.collect::<Result<Vec<f64>, _>>()?[..] {
        [a, b, c, d] => Ok(Figures {
            ours: [a, b],
            theirs: [c, d],
        }),
        _ => Err(report.into()),
    }
}

fn table(
    chosen: &[String],
    unit: &str,
    of: fn(&Form) -> Result<Figures, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let is_chosen = |form: &&Form| {
        chosen.is_empty() || chosen.iter().any(|part| form.name.contains(part.as_str()))
    };
    println!("{unit} a message: median (lower quartile)");
    println!(
        "{:<20} {:>16} {:>16}   ratio          at most",
        "", "ours", "writeln!"
    );
    for form in FORMS.iter().chain(OTHERS).filter(is_chosen) {
        let Figures { ours, theirs } = of(form)?;
        println!(
            "{:<20} {:>7.2} ({:>6.2}) {:>7.2} ({:>6.2})   {:.2} ({:.2})    {}",
            form.name,
            ours[0],
            ours[1],
            theirs[0],
            theirs[1],
            ours[0] / theirs[0],
            ours[1] / theirs[1],
            form.target,
        );
    }
    Ok(())
}

fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let named = |name: &String| form(name).ok_or("no such form");
    match arguments {
        [mode, name, side, messages] if mode == "--run" => {
            let form = named(name)?;
            let run = if side == "ours" {
                form.ours
            } else {
                form.theirs
            };
            run(black_box(messages.parse()?));
        }
        [mode, name] if mode == "--clock" => {
            let Figures { ours, theirs } = clock(named(name)?, ROUNDS);
            eprintln!("{} {} {} {}", ours[0], ours[1], theirs[0], theirs[1]);
        }
        [mode, chosen @ ..] if mode == "--instructions" => table(chosen, "Instructions", count)?,
        chosen => table(chosen, "Nanoseconds", clock_apart)?,
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("macro-speeds: {error}");
            ExitCode::FAILURE
        }
    }
}
