//! One picture, through crossterm's backend or this one, for screenshots of both: `looks crossterm|outpace WHAT [FRAMES [alone]]`,
//! after so many frames, or that frame alone, on a screen that never showed another. WHAT is `styles` (every attribute and pair of attributes, in colours of all kinds), `blinking` (each of them with blinking),
//! `symbols` (words with symbols on whose widths terminals disagree) or a workload. It says on standard error when the terminal has read the picture, and stays until it is killed. `scripts/compare-pixels.py` compares the screenshots.

use std::io::{self, Write};
use std::time::Duration;

use outpace_ratatui::OutpaceBackend;
use outpace_ratatui::workloads::{Scene, Workload};
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::{Frame, Terminal};

/// Every attribute and pair of attributes but for blinking, or each attribute with either blinking, in colours of all kinds, with half
/// blocks and symbols on which terminals disagree. Not with both kinds of blinking: crossterm's backend turns both off where one ends.
fn styles(buffer: &mut Buffer, frame: u32, blinking: bool) {
    let blinks = Modifier::SLOW_BLINK | Modifier::RAPID_BLINK;
    let each: Vec<Modifier> = (Modifier::all() - blinks).iter().collect();
    let mut modifiers = vec![Modifier::empty()];
    for (at, &one) in each.iter().enumerate() {
        if blinking {
            modifiers.extend(blinks.iter().map(|kind| one | kind));
        } else {
            modifiers.extend(each[at..].iter().map(|&other| one | other));
        }
    }
    let mut colors = vec![Color::Reset];
    colors.extend((0..16).map(Color::Indexed));
    colors.extend([
        Color::Red,
        Color::LightRed,
        Color::Indexed(200),
        Color::Rgb(10, 200, 90),
    ]);
    let area = buffer.area;
    let symbols = ["a", "▀", "▄", "█", "─", "日", "e\u{301}", "☀"];
    for (at, position) in area.positions().enumerate().step_by(2) {
        // Each frame shows other combinations at each place, so styles change into one another in many ways.
        let at = at / 2 + frame as usize * 7;
        let style = Style::new()
            .fg(colors[at % colors.len()])
            .bg(colors[at / 3 % colors.len()])
            .add_modifier(modifiers[at % modifiers.len()]);
        let symbol = symbols[at / 5 % symbols.len()];
        if position.x + 1 < area.right() {
            buffer[(position.x + 1, position.y)].reset();
            buffer[position].reset();
            buffer.set_string(position.x, position.y, symbol, style);
        }
    }
}

/// Joined and modified emoji, flags, scripts whose letters combine, marks and separators without a width, wide and ambiguous symbols.
const DISPUTED: [&str; 28] = [
    "❤️",
    "☀️",
    "☀",
    "1️⃣",
    "👨\u{200d}👩\u{200d}👧",
    "🏳️\u{200d}🌈",
    "👍🏽",
    "🇩🇪",
    "\u{1f1e9}",
    "नमस्ते",
    "ก็",
    "\u{1112}\u{1161}\u{11ab}",
    "ﷺ",
    "e\u{301}\u{302}",
    "\u{300}",
    "\u{ad}",
    "\u{200b}",
    "\u{200d}",
    "\u{2028}",
    "\u{fe0f}",
    "…",
    "Ⅷ",
    "①",
    "㍿",
    "𐍈",
    "🀄",
    "𒐫",
    "ｱ",
];

/// Words with such symbols, others in each frame.
fn symbols(buffer: &mut Buffer, frame: u32) {
    let area = buffer.area;
    for y in area.rows().map(|row| row.y) {
        let styles = [
            Style::new().bg(Color::Blue),
            Style::new().add_modifier(Modifier::UNDERLINED),
            Style::new().fg(Color::Green),
            Style::new(),
        ];
        let mut state = u32::from(y) * 31 + frame * 17;
        let mut line = String::new();
        while line.len() < 4 * usize::from(area.width) {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let choice = (state >> 16) as usize;
            line += match choice % 3 {
                0 => DISPUTED[choice / 3 % DISPUTED.len()],
                _ => ["ab ", "word", "  ", "x"][choice / 3 % 4],
            };
        }
        let style = styles[(usize::from(y) + frame as usize) % styles.len()];
        buffer.set_stringn(0, y, &line, area.width.into(), style);
    }
}

/// Has the terminal draw each of them once: kitty draws a symbol in the size in which it came first, and which frame is the first that it
/// draws depends on the moment.
fn draw_each() -> io::Result<()> {
    let mut stdout = io::stdout();
    for symbol in DISPUTED {
        write!(stdout, "{symbol}x\r\n")?;
    }
    stdout.flush()?;
    std::thread::sleep(Duration::from_secs(1));
    Ok(())
}

fn show<B: Backend>(backend: B, what: &str, frames: u32, alone: bool) -> io::Result<Terminal<B>>
where
    B::Error: std::fmt::Debug,
{
    let workload = Workload::ALL.iter().find(|(_, name)| *name == what);
    let mut scene = workload.map(|(workload, _)| Scene::new(*workload));
    let mut terminal = Terminal::new(backend).expect("a terminal");
    terminal.clear().expect("cleared");
    let size = terminal.size().expect("a size");
    for number in 0..frames {
        let mut draw = |buffer: &mut Buffer| match &mut scene {
            Some(scene) => scene.draw(buffer),
            None if what == "symbols" => symbols(buffer, number),
            None => styles(buffer, number, what == "blinking"),
        };
        if alone && number + 1 < frames {
            draw(&mut Buffer::empty(Rect::from((Position::ORIGIN, size))));
            continue;
        }
        terminal
            .draw(|frame: &mut Frame| draw(frame.buffer_mut()))
            .expect("drawn");
        // So that no frame is skipped: how the picture came about is part of the proof.
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(terminal)
}

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |otherwise: &str| arguments.next().unwrap_or(otherwise.into());
    let (backend, what) = (next("outpace"), next("styles"));
    let frames = next("8").parse().map_err(io::Error::other)?;
    let alone = next("") == "alone";
    crossterm::terminal::enable_raw_mode()?;
    crossterm::execute!(io::stdout(), crossterm::terminal::EnterAlternateScreen)?;
    if what == "symbols" {
        draw_each()?;
    }
    let stay = || {
        // The terminal answers once it has read everything.
        while crossterm::cursor::position().is_err() {}
        eprintln!("drawn");
        loop {
            std::thread::park();
        }
    };
    match backend.as_str() {
        "crossterm" => {
            let _terminal = show(CrosstermBackend::new(io::stdout()), &what, frames, alone)?;
            stay()
        }
        "outpace" => {
            let mut terminal = show(OutpaceBackend::stdout()?, &what, frames, alone)?;
            terminal.backend_mut().flush_and_wait(None)?;
            stay()
        }
        other => Err(io::Error::other(format!("no backend `{other}`"))),
    }
}
