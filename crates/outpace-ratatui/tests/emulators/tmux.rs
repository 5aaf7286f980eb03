//! ratatui's widgets look the same in tmux, drawn through crossterm's backend and through this one, each by a
//! process of its own: this executable, started again. (`scripts/compare-examples.py` does the same with
//! ratatui's own examples.)

use std::process::Command;
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode};
use ratatui::Terminal;
use ratatui::backend::Backend;

use crate::emulator::{self, Look};
use crate::frames::normal;
use crate::widgets::{SIZE, draw};

const LONG: Duration = Duration::from_secs(60);
/// Names the backend that this executable is to draw through.
const BACKEND: &str = "OUTPACE_TEST_BACKEND";

/// Not a test: what the test starts in tmux.
#[test]
fn program() {
    match std::env::var(BACKEND).as_deref() {
        Ok("crossterm") => show(ratatui::init()),
        Ok("outpace") => show(outpace_ratatui::init()),
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
    while !matches!(event::read(), Ok(Event::Key(key)) if key.code == KeyCode::Char('q')) {}
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
        // tmux shows cells erased to a colour, but leaves them out of what it captures.
        let off = "OUTPACE_DRAW_OFF=background";
        let named = format!("{BACKEND}={backend}");
        let run = ["env", off, &named, program.to_str().unwrap()];
        let filter = ["tmux::program", "--exact", "--nocapture", "--quiet"];
        let quiet = [";", "set-option", "-g", "status", "off"];
        self.command(&[&session[..], &run, &filter, &quiet].concat());
    }

    /// What a pane shows, as an emulator reads it; nothing as long as it shows nothing.
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
