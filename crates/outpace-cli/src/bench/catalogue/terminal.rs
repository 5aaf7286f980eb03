//! `terminal`: how fast a terminal works through each kind of text.

use std::fs::File;
use std::io::{self, Write};
use std::time::Duration;

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use super::input::random;
use super::lines::bare_stdout;
use super::sources;
use crate::bench::destination::check::Generator;
use crate::bench::experiment::calls::CallTimes;
use crate::bench::experiment::clock::Span;
use crate::bench::experiment::{Experiment, Method};
use crate::bench::results::figures::{Compared, Figures};
use crate::platform::answer::{WHERE_IS_THE_CURSOR, has_caught_up};
use crate::user::quantity::{duration, significant};

pub(crate) const TERMINAL: Experiment = Experiment {
    name: "terminal",
    question: "How fast is this terminal, really?",
    published: "Ours, with the kinds of text that vtebench has. A terminal has worked through what was written when it answers where its \
                cursor is; that a program has written it tells of buffers only.",
    sources: &[sources::VTEBENCH],
    published_to: &[],
    unit: "message",
    message: text,
    messages: 300_000,
    to: &["xterm", "alacritty", "kitty", "foot", "tmux"],
    baseline: "text",
    method: Method::Terminal,
    rungs: rungs! {
        added "text": Here(|span| write(span, text)), "lines of letters";
        added "colours": Here(|span| write(span, colours)), "lines of words in 256 colours, some bold" .writes(colours);
        added "scrolling": Here(|span| write(span, scrolling)), "lines of one letter" .writes(scrolling);
        added "unicode": Here(|span| write(span, unicode)), "lines of wide, combined and joined characters" .writes(unicode);
        added "redraw": Here(|span| write(span, redraw)), "the whole screen again and again, in true colours" .writes(redraw);
        added "motion": Here(|span| write(span, motion)), "single letters all over the screen" .writes(motion);
        added "answer": Here(answer), "nothing but the question where the cursor is" .writes(question);
    },
    conclusion,
};

/// The screen that pictures fill. A larger one is filled in part.
const COLUMNS: u64 = 80;
const ROWS: u64 = 24;

fn letter(number: u64) -> u8 {
    b'a' + (number % 26) as u8
}

fn text(index: u64, into: &mut Vec<u8>) {
    let length = 20 + random(index) % 59;
    into.extend((0..length).map(|at| letter(index + at * 7)));
    into.push(b'\n');
}

fn colours(index: u64, into: &mut Vec<u8>) {
    for word in 0..8 {
        let random = random(index * 8 + word);
        let bold = if random.is_multiple_of(3) { "1;" } else { "" };
        into.extend(format!("\x1b[{bold}38;5;{}m", random >> 8 & 255).bytes());
        into.extend((0..3 + (random >> 16) % 6).map(|at| letter(random + at)));
        into.extend(b"\x1b[m ");
    }
    into.push(b'\n');
}

fn scrolling(_: u64, into: &mut Vec<u8>) {
    into.extend(b"y\n");
}

fn unicode(index: u64, into: &mut Vec<u8>) {
    const WORDS: [&str; 8] = [
        "\u{65e5}\u{672c}\u{8a9e}",
        "\u{d55c}\u{ad6d}\u{c5b4}",
        "na\u{ef}ve",
        "e\u{301}a\u{308}o\u{302}",
        "\u{41f}\u{440}\u{438}\u{432}\u{435}\u{442}",
        "\u{1f600}\u{1f680}",
        "\u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}",
        "\u{2192}\u{2588}\u{2593}\u{2500}",
    ];
    for word in 0..8 {
        let word = random(index * 8 + word) as usize % WORDS.len();
        into.extend(WORDS[word].bytes());
        into.push(b' ');
    }
    into.push(b'\n');
}

/// A row.
fn redraw(index: u64, into: &mut Vec<u8>) {
    let (frame, row) = (index / ROWS, index % ROWS);
    into.extend(format!("\x1b[{};1H", row + 1).bytes());
    for part in 0..COLUMNS / 8 {
        let shade = |by: u64| (frame * by + row * 10 + part * 20) & 255;
        into.extend(format!("\x1b[38;2;{};{};{}m", shade(1), shade(3), shade(7)).bytes());
        into.extend((0..8).map(|at| letter(frame + part + at)));
    }
    into.extend(b"\x1b[m");
}

fn motion(index: u64, into: &mut Vec<u8>) {
    for place in 0..8 {
        let random = random(index * 8 + place);
        let (row, column) = (random % ROWS, (random >> 8) % COLUMNS);
        into.extend(format!("\x1b[{};{}H", row + 1, column + 1).bytes());
        into.push(letter(random >> 16));
    }
}

/// A question takes as long as many messages: there is one for this many.
const MESSAGES_A_QUESTION: u64 = 1_000;

fn question(index: u64, into: &mut Vec<u8>) {
    if index.is_multiple_of(MESSAGES_A_QUESTION) {
        into.extend(WHERE_IS_THE_CURSOR);
    }
}

/// The bytes of a write: as many as programs with a large buffer write.
const CHUNK: usize = 16 << 10;

/// Makes all messages, then writes them.
fn write(span: &mut Span, message: Generator) -> io::Result<()> {
    let mut bytes = Vec::new();
    (0..span.messages).for_each(|index| message(index, &mut bytes));
    let mut terminal = bare_stdout()?;
    span.begin();
    bytes
        .chunks(CHUNK)
        .try_for_each(|chunk| terminal.write_all(chunk))?;
    span.done_calling();
    Ok(())
}

/// Asks again and again, and clocks each answer. A terminal's device is open for both directions.
fn answer(span: &mut Span) -> io::Result<()> {
    let terminal = bare_stdout()?;
    let modes = tcgetattr(&terminal)?;
    let mut quiet = modes.clone();
    quiet
        .local_modes
        .remove(LocalModes::ICANON | LocalModes::ECHO);
    tcsetattr(&terminal, OptionalActions::Now, &quiet)?;
    let mut calls = CallTimes::new();
    span.begin();
    let answered = (0..span.messages)
        .step_by(MESSAGES_A_QUESTION as usize)
        .try_for_each(|_| calls.clock(|| ask(&terminal)).0);
    span.done_calling();
    span.end();
    tcsetattr(&terminal, OptionalActions::Now, &modes)?;
    answered?;
    calls.note(span);
    Ok(())
}

fn ask(terminal: &File) -> io::Result<()> {
    if has_caught_up(terminal, Duration::from_secs(5))? {
        return Ok(());
    }
    Err(io::Error::other("the terminal does not answer"))
}

/// Each terminal's speed at text, at the kind that it is slowest at, and at answering.
fn conclusion(figures: &Figures<'_>) -> Vec<String> {
    let rate = |rung: &str, to: &str| {
        let row = figures.row(rung, to)?;
        row.terminal_figures()?.consumed_per_second
    };
    let said = |to: &str| {
        let text = rate("text", to)?;
        let mut said = format!(
            "{to} works through {} MB of text a second",
            significant(text / 1e6)
        );
        let others = TERMINAL.rungs.iter().map(|rung| rung.name).skip(1);
        let slowest = others
            .filter_map(|rung| Some((rung, rate(rung, to)?)))
            .min_by(|(_, one), (_, other)| one.total_cmp(other));
        let mut unsettled = None;
        if let Some((slowest, least)) = slowest {
            let compared = figures.compare(slowest, "text", to)?;
            unsettled = compared.unsettled(slowest, "text", to);
            if let Compared::More(_) = compared {
                said += &format!(" and {} of {slowest}", significant(least / 1e6));
            }
        }
        let asked = figures.row("answer", to);
        if let Some(report) = asked.and_then(|row| row.terminal_figures()?.report_ns) {
            said += &format!("; it answers in {}", duration(report.median as f64));
        }
        said.push('.');
        if let Some(unsettled) = unsettled {
            said += &format!(" {unsettled}");
        }
        Some(said)
    };
    figures.at_each(said)
}
