//! The same pixels as through crossterm's backend: in two xterms, each on a display of its own (Xvfb), which keeps its picture in a file.
//! `scripts/compare-pixels.py` and `scripts/compare-applications.py` compare more, in more terminals.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use outpace_ratatui::OutpaceBackend;
use outpace_ratatui::workloads::{Scene, Workload};
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};
use ratatui::{Frame, Terminal};

const LONG: Duration = Duration::from_secs(60);
/// Names the picture that this executable is to draw, and the backend.
const PICTURE: &str = "OUTPACE_TEST_PICTURE";
const BACKEND: &str = "OUTPACE_TEST_BACKEND";
/// Names the file that is made when the terminal has read it.
const DRAWN: &str = "OUTPACE_TEST_DRAWN";
const PICTURES: [&str; 5] = ["titles", "log", "editor", "dashboard", "animation"];

/// Not a test: the program that the test starts in its terminals.
#[test]
fn program() {
    let Ok(picture) = std::env::var(PICTURE) else {
        return;
    };
    crossterm::terminal::enable_raw_mode().unwrap();
    crossterm::execute!(io::stdout(), crossterm::terminal::EnterAlternateScreen).unwrap();
    if std::env::var_os(BACKEND).is_some_and(|name| name == "crossterm") {
        let _terminal = show(CrosstermBackend::new(io::stdout()), &picture);
        stay();
    }
    let mut terminal = show(OutpaceBackend::stdout().unwrap(), &picture);
    terminal.backend_mut().flush_and_wait(None).unwrap();
    stay();
}

fn show<B: Backend>(backend: B, picture: &str) -> Terminal<B>
where
    B::Error: std::fmt::Debug,
{
    let workload = Workload::ALL.iter().find(|(_, name)| *name == picture);
    let mut scene = workload.map(|(workload, _)| Scene::new(*workload));
    let mut terminal = Terminal::new(backend).expect("a terminal");
    for number in 0..4 {
        let draw = |frame: &mut Frame| match &mut scene {
            Some(scene) => scene.draw(frame.buffer_mut()),
            None => titles(frame.buffer_mut(), number),
        };
        terminal.draw(draw).expect("drawn");
    }
    terminal
}

/// Words in every attribute and each of the colours that terminals brighten, dim or leave, depending on how they are named.
fn titles(buffer: &mut Buffer, number: u16) {
    let colors = (0..16).map(Color::Indexed).chain([
        Color::Reset,
        Color::Red,
        Color::LightRed,
        Color::White,
    ]);
    for (y, color) in (0..buffer.area.height).zip(colors) {
        for (x, modifier) in (number..buffer.area.width).step_by(7).zip(Modifier::all()) {
            let style = Style::new().fg(color).add_modifier(modifier);
            let blinking = Modifier::SLOW_BLINK | Modifier::RAPID_BLINK;
            buffer.set_string(x, y, "word", style.remove_modifier(blinking));
        }
    }
}

/// Says that the terminal has read the picture, and stays until it is closed.
fn stay() -> ! {
    // It answers behind all that came before the question.
    crossterm::cursor::position().unwrap();
    fs::write(std::env::var_os(DRAWN).unwrap(), "").unwrap();
    loop {
        std::thread::park();
    }
}

/// A display without a screen.
struct Display {
    server: Child,
    name: String,
    directory: PathBuf,
}

impl Display {
    /// `None`: there is no Xvfb.
    fn open(backend: &str) -> Option<Self> {
        let name = format!("outpace-pixels-{backend}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).unwrap();
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-nolisten", "tcp", "-noreset"])
            .args(["-screen", "0", "600x400x24", "-fbdir"])
            .arg(&directory)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut number = String::new();
        BufReader::new(server.stdout.take().unwrap())
            .read_line(&mut number)
            .unwrap();
        Some(Self {
            server,
            name: format!(":{}", number.trim()),
            directory,
        })
    }

    fn xterm(&self, backend: &str, picture: &str) -> Option<Window> {
        let drawn = self.directory.join(format!("{backend}-{picture}"));
        let program = std::env::current_exe().unwrap();
        // A group of its own, which ends with the window.
        let xterm = Command::new("xterm")
            .arg("-e")
            .arg(program)
            .args(["program", "--exact", "--nocapture", "--test-threads=1"])
            .env("DISPLAY", &self.name)
            .env(PICTURE, picture)
            .env(BACKEND, backend)
            .env(DRAWN, &drawn)
            .env_remove("NO_COLOR")
            .env_remove("OUTPACE_DRAW_OFF")
            .env_remove("TMUX")
            .process_group(0)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let window = Window(xterm);
        wait_for(&format!("{backend} draws {picture}"), || drawn.exists());
        Some(window)
    }

    /// The pixels, as the server keeps them.
    fn pixels(&self) -> Vec<u8> {
        let file = fs::read(self.directory.join("Xvfb_screen0")).unwrap();
        // The header of an xwd file, see XWDFile.h.
        let field = |number: usize| {
            let at = number * 4;
            u32::from_be_bytes(file[at..at + 4].try_into().unwrap()) as usize
        };
        let (header, height, line, colors) = (field(0), field(5), field(12), field(19));
        let start = header + colors * 12;
        file[start..start + height * line].to_vec()
    }

    /// The picture, once it does not change any more.
    fn picture(&self) -> Vec<u8> {
        let mut last = self.pixels();
        let mut alike = 0;
        wait_for("the picture stands still", || {
            std::thread::sleep(Duration::from_millis(50));
            let now = self.pixels();
            alike = if now == last { alike + 1 } else { 0 };
            last = now;
            alike == 6
        });
        last
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        // The test has been decided.
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A terminal, which is closed in the end.
struct Window(Child);

impl Drop for Window {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "{what}: not within {LONG:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn is_installed(program: &str) -> bool {
    let directories = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&directories)
        .any(|directory| Path::new(&directory).join(program).exists())
}

#[test]
fn xterm_shows_the_same_pixels_as_through_crossterms_backend() {
    if std::env::var_os(PICTURE).is_some() {
        return;
    }
    if let Some(missing) = ["Xvfb", "xterm"].iter().find(|name| !is_installed(name)) {
        eprintln!("skipped: {missing} is not installed");
        return;
    }
    let backends = ["crossterm", "outpace"];
    let displays = backends.map(|backend| Display::open(backend).expect("Xvfb starts"));
    let empty = displays[0].pixels();
    for picture in PICTURES {
        let [_theirs, _ours] = [0, 1].map(|at| {
            let window = displays[at].xterm(backends[at], picture);
            window.expect("xterm starts")
        });
        // A picture may have stood still before all of it was drawn.
        let start = Instant::now();
        loop {
            let [theirs, ours] = displays.each_ref().map(Display::picture);
            let pixels = theirs.chunks_exact(4).zip(ours.chunks_exact(4));
            let different = pixels.filter(|(one, other)| one != other).count();
            if different == 0 && theirs != empty {
                break;
            }
            assert!(
                start.elapsed() < LONG,
                "{picture}: {different} pixels differ, or none is shown"
            );
        }
    }
}
