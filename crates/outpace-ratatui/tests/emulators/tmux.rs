//! ratatui's widgets look the same in tmux, drawn through crossterm's backend and through this one, each by a
//! process of its own: this executable, started again. (`scripts/compare-examples.py` does the same with
//! ratatui's own examples.)

use std::io::Read;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode};
use ratatui::Terminal;
use ratatui::backend::Backend;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::emulator::{self, Look};
use crate::frames::normal;
use crate::widgets::{SIZE, draw};

const LONG: Duration = Duration::from_secs(60);
/// How often a window changes its size, at least, and how many lines come meanwhile.
const RESIZES: u32 = 40;
const LINES: usize = 100;
/// Names the backend that this executable is to draw through.
const BACKEND: &str = "OUTPACE_TEST_BACKEND";

/// Not a test: the program that the tests start in tmux.
#[test]
fn program() {
    match std::env::var(BACKEND).as_deref() {
        Ok("crossterm") => show(ratatui::init()),
        Ok("outpace") => show(outpace_ratatui::init()),
        Ok("transcript") => talk().unwrap(),
        _ => {}
    }
}

fn show<B: Backend>(mut terminal: Terminal<B>)
where
    B::Error: std::fmt::Debug,
{
    for tick in 0..12 {
        terminal.draw(|frame| draw(frame, tick)).unwrap();
    }
    // Where the line would not wrap, tmux joins a mark with the cell before the last column.
    let mark_the_last_column = |frame: &mut ratatui::Frame| {
        draw(frame, 11);
        let last = frame.area().width - 1;
        for (row, symbol) in ["e\u{301}", "ก\u{e47}", "☀\u{fe0e}"]
            .into_iter()
            .enumerate()
        {
            frame.buffer_mut()[(last, row as u16)].set_symbol(symbol);
        }
    };
    terminal.draw(mark_the_last_column).unwrap();
    while !matches!(event::read(), Ok(Event::Key(key)) if key.code == KeyCode::Char('q')) {}
}

/// A line that is streamed.
fn talked(number: usize) -> String {
    let words = (0..1 + number * 7 % 23).map(|word| format!(" word{}", word * 31 % 1000));
    format!("line {number}:{}", words.collect::<String>())
}

/// Streams lines until a key is pressed, a word a millisecond, above a live region of three rows.
fn talk() -> std::io::Result<()> {
    // The key is not echoed.
    let mut modes = tcgetattr(rustix::stdio::stdin())?;
    modes.local_modes.remove(LocalModes::ECHO);
    tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &modes)?;
    let mut transcript = outpace_ratatui::Transcript::stdout()?;
    let pressed = Arc::new(AtomicBool::new(false));
    let theirs = pressed.clone();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_exact(&mut [0]);
        theirs.store(true, Ordering::Release);
    });
    for number in 0.. {
        let line = match pressed.load(Ordering::Acquire) {
            true => "the end".to_owned(),
            false => talked(number),
        };
        transcript.append("")?;
        for word in line.split_inclusive(' ') {
            transcript.extend(word)?;
            transcript.live(3, |live| {
                let area = live.area();
                let rule = "─".repeat(area.width.into());
                let style = ratatui::style::Style::new();
                live.buffer_mut().set_string(0, 0, rule, style);
                live.buffer_mut()
                    .set_string(0, 1, format!("> {word}"), style);
                live.buffer_mut().set_string(0, 2, "? for help", style);
            })?;
            std::thread::sleep(Duration::from_millis(1));
        }
        if line == "the end" {
            break;
        }
    }
    transcript.finish()?;
    loop {
        std::thread::park();
    }
}

/// A tmux server of its own, without a status line.
struct Tmux {
    socket: String,
}

impl Tmux {
    fn command(&self, arguments: &[&str]) -> Option<String> {
        let output = Command::new("tmux")
            .args(["-L", &self.socket, "-f", "/dev/null"])
            .args(arguments)
            .output()
            .ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn start(&self, backend: &str) {
        let (width, height) = (SIZE.width.to_string(), SIZE.height.to_string());
        let program = std::env::current_exe().unwrap();
        let session = [
            "new-session",
            "-d",
            "-x",
            &width,
            "-y",
            &height,
            "-s",
            backend,
        ];
        // Set before the window is made.
        let history = ["set-option", "-g", "history-limit", "50000", ";"];
        // tmux shows cells erased to a colour, but leaves them out of what it captures.
        let off = "OUTPACE_DRAW_OFF=background";
        let named = format!("{BACKEND}={backend}");
        let run = ["env", off, &named, program.to_str().unwrap()];
        let filter = ["tmux::program", "--exact", "--nocapture", "--quiet"];
        let quiet = [";", "set-option", "-g", "status", "off"];
        self.command(&[&history, &session[..], &run, &filter, &quiet].concat());
    }

    /// The cells of a pane, as an emulator reads them. `None`: the picture is not there yet.
    fn screen(&self, backend: &str) -> Option<Vec<Look>> {
        let text = self.command(&["capture-pane", "-epN", "-t", backend])?;
        if !text.contains("tabs") {
            return None;
        }
        let mut emulator = emulator::all(SIZE.width, SIZE.height).swap_remove(0);
        // Each row where it belongs: the last column of a full row leaves the cursor there.
        for (row, line) in text.lines().enumerate() {
            emulator.feed(format!("\x1b[{};1H{line}", row + 1).as_bytes());
        }
        let modifiers = emulator.modifiers();
        let cells = (0..SIZE.height).flat_map(|y| (0..SIZE.width).map(move |x| (x, y)));
        Some(
            cells
                .map(|(x, y)| normal(emulator.look(x, y), modifiers))
                .collect(),
        )
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.command(&["kill-server"]);
    }
}

#[test]
fn tmux_shows_the_same_through_both_backends() {
    let tmux = Tmux {
        socket: format!("outpace-test-{}", std::process::id()),
    };
    if tmux.command(&["-V"]).is_none() {
        eprintln!("skipped: tmux is not installed");
        return;
    }
    tmux.start("crossterm");
    tmux.start("outpace");
    let began = Instant::now();
    loop {
        let (theirs, ours) = (tmux.screen("crossterm"), tmux.screen("outpace"));
        if theirs.is_some() && theirs == ours {
            return;
        }
        if began.elapsed() > LONG {
            let (theirs, ours) = (theirs.expect("drawn"), ours.expect("drawn"));
            let different = theirs
                .iter()
                .zip(&ours)
                .position(|(one, other)| one != other);
            let at = different.unwrap_or_default();
            panic!(
                "column {}, row {}: crossterm {:?}, outpace {:?}",
                at % usize::from(SIZE.width),
                at / usize::from(SIZE.width),
                theirs[at],
                ours[at]
            );
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_transcript_streamed_while_tmux_changes_its_size_loses_no_line_and_doubles_none() {
    let tmux = Tmux {
        socket: format!("outpace-talk-{}", std::process::id()),
    };
    if tmux.command(&["-V"]).is_none() {
        eprintln!("skipped: tmux is not installed");
        return;
    }
    tmux.start("transcript");
    let pane = [
        "capture-pane",
        "-p",
        "-J",
        "-t",
        "transcript",
        "-S",
        "-",
        "-E",
        "-",
    ];
    let mut random = crate::frames::Random::new(crate::number("OUTPACE_SEED", 1));
    let (mut width, mut resizes, began) = (60, 0, Instant::now());
    // As many rows above the cursor as a narrower window may add below: tmux pushes so many out at the top.
    while !tmux.command(&pane).unwrap().contains("line 8:") {
        assert!(began.elapsed() < LONG, "it does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    let shown = loop {
        use crate::frames::Choices;
        // By a few columns at a time in either direction, as a window that is dragged.
        width = (width + random.below(17)).saturating_sub(8).clamp(30, 120);
        let height = 24 + random.below(8);
        let (width, height) = (width.to_string(), height.to_string());
        tmux.command(&[
            "resize-window",
            "-t",
            "transcript",
            "-x",
            &width,
            "-y",
            &height,
        ]);
        resizes += 1;
        let text = tmux.command(&pane).unwrap();
        if text.contains("the end") {
            break text;
        }
        // All of these came between the words of the first lines, and those that follow come behind the last, too.
        if resizes >= RESIZES && text.contains(&format!("line {LINES}:")) {
            tmux.command(&["send-keys", "-t", "transcript", "Enter"]);
        }
        assert!(began.elapsed() < LONG, "it does not end:\n{text}");
    };
    let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let end = lines.iter().position(|line| *line == "the end").unwrap();
    let begin = lines.iter().position(|line| line.starts_with("line 0:"));
    let lines = &lines[begin.unwrap()..end];
    let streamed: Vec<String> = (0..lines.len()).map(talked).collect();
    assert_eq!(lines, streamed);
    assert!(lines.len() > LINES, "{} lines", lines.len());
}
