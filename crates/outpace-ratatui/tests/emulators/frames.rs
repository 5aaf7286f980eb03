//! Sequences of frames as no application would draw them, and the check that an emulator shows them.

use outpace_ratatui::{Capabilities, Options, OutpaceBackend, Repeat, Stats};
use ratatui::Terminal;
use ratatui::buffer::{Buffer, Cell, CellDiffOption, CellWidth};
use ratatui::layout::{Position, Rect, Size};
use ratatui::style::{Color, Modifier, Style};

use crate::emulator::{Emulator, Look};
use crate::wire::Wire;

/// Choices: from a generator, or from a fuzzer's bytes.
pub trait Choices {
    /// A number below `n`, which is not 0.
    fn below(&mut self, n: u32) -> u32;
}

/// xorshift64*.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }
}

impl Choices for Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as u32;
        ((u64::from(high) * u64::from(n)) >> 32) as u32
    }
}

const SYMBOLS: [&str; 36] = [
    "a",
    "b",
    "c",
    "x",
    " ",
    " ",
    "-",
    "─",
    "│",
    "▀",
    "▄",
    "█",
    "▀",
    "▄",
    "é",
    "日",
    "本",
    "語",
    "한",
    "e\u{301}",
    "o\u{308}",
    "⠿",
    "→",
    "😀",
    "☀",
    "❤\u{fe0f}",
    "👨\u{200d}👩\u{200d}👧",
    "🇩🇪",
    "1\u{20e3}",
    "👍🏽",
    "ﾊﾟ",
    "…",
    "\u{e0b0}",
    "ñ",
    "\u{2028}",
    "\u{ad}",
];

fn symbol(choices: &mut impl Choices) -> &'static str {
    // Mostly plain ones, since most optimisations are for those.
    let limit = [5, 14, 20, SYMBOLS.len() as u32][choices.below(4) as usize];
    SYMBOLS[choices.below(limit) as usize]
}

fn color(choices: &mut impl Choices) -> Color {
    match choices.below(8) {
        0 | 1 => Color::Reset,
        2 => Color::Red,
        3 => Color::LightBlue,
        4 => Color::Indexed(choices.below(256) as u8),
        5 => Color::Indexed(200),
        _ => {
            let level = (choices.below(4) * 80) as u8;
            Color::Rgb(level, level, level)
        }
    }
}

/// The colour of one half of a cell: of any kind, or a 24-bit one of so many that occur again and again.
fn half(choices: &mut impl Choices, levels: u32) -> Color {
    match levels {
        0 => color(choices),
        levels => Color::Rgb(choices.below(levels) as u8 * 6, 9, 0),
    }
}

fn style(choices: &mut impl Choices) -> Style {
    let modifier = match choices.below(6) {
        0 => Modifier::from_bits_truncate(choices.below(512) as u16),
        1 => Modifier::BOLD,
        2 => Modifier::REVERSED,
        _ => Modifier::empty(),
    };
    Style::new()
        .fg(color(choices))
        .bg(color(choices))
        .add_modifier(modifier)
}

fn part(choices: &mut impl Choices, area: Rect) -> Rect {
    let x = choices.below(area.width.into()) as u16;
    let y = choices.below(area.height.into()) as u16;
    let width = match choices.below(3) {
        0 => area.width - x,
        _ => 1 + choices.below((area.width - x).into()) as u16,
    };
    Rect::new(
        x,
        y,
        width,
        1 + choices.below((area.height - y).into()) as u16,
    )
}

/// Puts a symbol as ratatui's own text functions do: the cells beneath a wide one are reset.
fn put(buffer: &mut Buffer, x: u16, y: u16, symbol: &str, style: Style) {
    let width = symbol.cell_width();
    if x + width > buffer.area.right() {
        return;
    }
    break_wide(buffer, x, y);
    for covered in x + 1..x + width {
        break_wide(buffer, covered, y);
        buffer[(covered, y)].reset();
    }
    buffer[(x, y)].reset();
    buffer[(x, y)].set_symbol(symbol).set_style(style);
}

/// Blanks the wide symbol one of whose later columns is at `x`. Some have three.
fn break_wide(buffer: &mut Buffer, x: u16, y: u16) {
    for back in (1..4).filter(|back| *back <= x) {
        if buffer[(x - back, y)].symbol().cell_width() > back {
            buffer[(x - back, y)].reset();
        }
    }
}

fn copy_part(buffer: &mut Buffer, area: Rect, from_x: i32, from_y: i32) {
    let before = buffer.clone();
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            let (source_x, source_y) = (i32::from(x) + from_x, i32::from(y) + from_y);
            let inside = source_x >= i32::from(area.left())
                && source_x < i32::from(area.right())
                && source_y >= i32::from(area.top())
                && source_y < i32::from(area.bottom());
            buffer[(x, y)] = if inside {
                before[(source_x as u16, source_y as u16)].clone()
            } else {
                Cell::EMPTY
            };
        }
    }
    repair(buffer);
}

/// Blanks wide symbols that lost their later columns, and the cells beneath the others.
fn repair(buffer: &mut Buffer) {
    let area = buffer.area;
    for y in area.top()..area.bottom() {
        let mut x = area.left();
        while x < area.right() {
            let width = buffer[(x, y)].symbol().cell_width().max(1);
            if x + width > area.right() {
                buffer[(x, y)].reset();
            } else {
                for covered in x + 1..x + width {
                    buffer[(covered, y)].reset();
                }
            }
            x += width;
        }
    }
}

/// Changes a picture a little, or a lot.
pub fn change(choices: &mut impl Choices, buffer: &mut Buffer) {
    let whole = buffer.area;
    let area = part(choices, whole);
    match choices.below(14) {
        0..=2 => {
            let style = style(choices);
            let mut x = area.x;
            for _ in 0..1 + choices.below(12) {
                if x < whole.right() {
                    let symbol = symbol(choices);
                    put(buffer, x, area.y, symbol, style);
                    x += symbol.cell_width().max(1);
                }
            }
        }
        3 => {
            let (symbol, style) = (symbol(choices), style(choices));
            for y in area.top()..area.bottom() {
                for x in (area.left()..area.right()).step_by(symbol.cell_width().max(1).into()) {
                    put(buffer, x, y, symbol, style);
                }
            }
        }
        4 | 5 => {
            let levels = [0, 4, 12, 40][choices.below(4) as usize];
            for y in area.top()..area.bottom() {
                for x in area.left()..area.right() {
                    let (top, bottom) = (half(choices, levels), half(choices, levels));
                    let half = ["▀", "▄"][choices.below(2) as usize];
                    put(buffer, x, y, half, Style::new().fg(top).bg(bottom));
                }
            }
        }
        6 => buffer.set_style(area, style(choices)),
        7 => {
            for y in area.top()..area.bottom() {
                for x in area.left()..area.right() {
                    put(buffer, x, y, " ", Style::new());
                }
            }
        }
        8 | 9 => {
            let rows = Rect {
                x: 0,
                width: whole.width,
                ..area
            };
            let distance = choices.below(5) as i32 - 2;
            copy_part(
                buffer,
                if choices.below(3) == 0 { area } else { rows },
                0,
                distance,
            );
        }
        10 | 11 => copy_part(buffer, area, choices.below(7) as i32 - 3, 0),
        12 => {
            for y in 0..whole.height {
                for x in 0..whole.width {
                    let (symbol, style) = (symbol(choices), style(choices));
                    if symbol.cell_width() == 1 {
                        put(buffer, x, y, symbol, style);
                    }
                }
            }
        }
        _ => {}
    }
}

/// Blanks the symbols at the right edge that an emulator would wrap, or worse, that draws each character
/// on its own and cannot be told not to wrap (vt100).
fn keep_clear_of_edge(buffer: &mut Buffer) {
    let area = buffer.area;
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            let apart: u16 = buffer[(x, y)]
                .symbol()
                .chars()
                .map(|c| c.to_string().cell_width().max(1))
                .sum();
            if x + apart > area.right() {
                buffer[(x, y)].reset();
            }
        }
    }
}

/// Has ratatui send the cells that a wide symbol covered before and none does now: it takes them to be
/// unchanged, though their contents differ between terminals.
fn send_uncovered(before: &Buffer, after: &mut Buffer) {
    if before.area != after.area {
        return;
    }
    let covered = |buffer: &Buffer, x: u16, y: u16| {
        (1..4).any(|back| back <= x && buffer[(x - back, y)].symbol().cell_width() > back)
    };
    for y in 0..after.area.height {
        for x in 0..after.area.width {
            if covered(before, x, y) && !covered(after, x, y) {
                after[(x, y)].set_diff_option(CellDiffOption::AlwaysUpdate);
            }
        }
    }
}

/// Every symbol of which the emulators do not agree how wide it is.
fn is_doubtful(symbol: &str) -> bool {
    let mut chars = symbol.chars();
    let first = chars.next();
    chars.next().is_some()
        || is_invisible(symbol)
        || first.is_some_and(|c| !c.is_alphanumeric() && c as u32 > 0x25ff)
}

/// Symbols that some emulators give a column and others do not.
fn is_invisible(symbol: &str) -> bool {
    matches!(symbol, "\u{ad}" | "\u{2028}")
}

/// One form for all cells that look alike; see `Screen`'s module.
pub fn normal(mut look: Look, modifiers: Modifier) -> Look {
    let indexed = |color| match color {
        Color::Red => Color::Indexed(1),
        Color::LightBlue => Color::Indexed(12),
        other => other,
    };
    look.modifier &= modifiers;
    look.fg = indexed(look.fg);
    look.bg = indexed(look.bg);
    let explicit = |color| color != Color::Reset;
    if look.modifier.is_empty() {
        match look.text.as_str() {
            "█" if explicit(look.fg) => {
                look.bg = look.fg;
                look.text = " ".into();
            }
            "▀" | "▄" if explicit(look.fg) && look.fg == look.bg => look.text = " ".into(),
            "▄" if explicit(look.fg) && explicit(look.bg) => {
                std::mem::swap(&mut look.fg, &mut look.bg);
                look.text = "▀".into();
            }
            _ => {}
        }
    }
    let visible = Modifier::UNDERLINED | Modifier::REVERSED | Modifier::CROSSED_OUT;
    if look.text == " " && !look.modifier.intersects(visible) {
        look.fg = Color::Reset;
        look.modifier = Modifier::empty();
    }
    // Emulators that have one intensity, not two attributes, keep the later.
    if look.modifier.contains(Modifier::DIM) {
        look.modifier -= Modifier::BOLD;
    }
    look
}

fn wanted_look(cell: &Cell) -> Look {
    Look {
        text: cell.symbol().into(),
        fg: cell.fg,
        bg: cell.bg,
        modifier: cell.modifier,
    }
}

/// Compares an emulator's cells with a buffer. The error names the first that differs.
pub fn compare(emulator: &mut dyn Emulator, buffer: &Buffer) -> Result<(), String> {
    let modifiers = emulator.modifiers();
    let area = buffer.area;
    for y in area.top()..area.bottom() {
        let mut x = area.left();
        while x < area.right() {
            let cell = &buffer[(x, y)];
            let columns = cell.symbol().cell_width().max(1);
            let mut wanted = wanted_look(cell);
            let mut seen = emulator.look(x, y);
            if wanted.modifier.contains(Modifier::BOLD | Modifier::DIM) {
                wanted.modifier -= Modifier::BOLD | Modifier::DIM;
                seen.modifier -= Modifier::BOLD | Modifier::DIM;
            }
            if is_doubtful(cell.symbol()) {
                // An emulator may draw only some of its characters, or each on its own.
                if normal(seen.clone(), modifiers)
                    .text
                    .chars()
                    .all(|c| c == ' ' || wanted.text.contains(c))
                {
                    if is_invisible(cell.symbol()) {
                        // Its background alone shows.
                        seen.bg = normal(seen.clone(), modifiers).bg;
                        (seen.fg, seen.modifier) = (wanted.fg, wanted.modifier);
                    }
                    seen.text.clone_from(&wanted.text);
                }
            }
            let (wanted, seen) = (normal(wanted, modifiers), normal(seen, modifiers));
            if wanted != seen {
                return Err(format!(
                    "{} shows at column {x}, row {y}:\n  {seen:?}, but wanted is\n  {wanted:?}",
                    emulator.name()
                ));
            }
            for covered in x + 1..x + columns {
                let seen = emulator.look(covered, y);
                if !is_doubtful(cell.symbol()) && !seen.text.is_empty() {
                    return Err(format!(
                        "{} shows {seen:?} at column {covered}, row {y}, under {:?}",
                        emulator.name(),
                        cell.symbol()
                    ));
                }
            }
            x += columns;
        }
    }
    Ok(())
}

/// No sequence sets more than 16 attributes at once, and synchronized updates end in the frame they begin in.
fn check_sequences(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    for sequence in text
        .split('\x1b')
        .filter_map(|piece| piece.strip_prefix('['))
    {
        let end = sequence.find(|c: char| c.is_ascii_alphabetic());
        let parameters = sequence[..end.unwrap_or(0)].split(';').count();
        if parameters > 16 {
            return Err(format!("{parameters} parameters: {sequence:?}"));
        }
    }
    let (begun, ended) = (text.matches("\x1b[?2026h"), text.matches("\x1b[?2026l"));
    if begun.count() != ended.count() {
        return Err(format!("a synchronized update without an end: {text:?}"));
    }
    Ok(())
}

/// Capabilities that a terminal like these emulators may be found to have.
pub fn capabilities(choices: &mut impl Choices) -> Capabilities {
    let mut capabilities = match choices.below(4) {
        0 => Capabilities::least(),
        1 => Capabilities::basic(),
        _ => Capabilities::full(),
    };
    if choices.below(3) == 0 {
        capabilities.repeat = Repeat::Ascii;
    }
    if choices.below(3) == 0 {
        capabilities.alternate_screen = false;
    }
    capabilities.half_blocks = choices.below(2) == 0;
    if choices.below(4) == 0 {
        capabilities.erase_characters ^= true;
        capabilities.shift ^= true;
    }
    capabilities
}

/// An image's cells here: drawn by the escape sequences in its first cell, and unknown to ratatui.
const IMAGE: &str = "#";
/// More than the columns of the widest symbol, each of its characters taken by itself.
const CLEAR_OF_IMAGE: u16 = 6;

/// The escape sequences that draw an image of this size: from the cursor on, which stays where it is.
fn image_sequences(size: Size) -> String {
    let row = IMAGE.repeat(size.width.into());
    let rows = (1..size.height).map(|down| format!("\x1b8\x1b[m\x1b[{down}B{row}"));
    format!("\x1b7\x1b[m{row}{}\x1b8", rows.collect::<String>())
}

/// Puts an image somewhere, lets it stay, or takes it away.
fn change_image(choices: &mut impl Choices, picture: &mut Buffer, image: &mut Option<Rect>) {
    if choices.below(8) == 0 {
        // An application that takes an image away has to draw its cells.
        if let Some(area) = image.take() {
            fill(picture, area, &Cell::EMPTY);
        } else {
            let mut area = part(choices, picture.area);
            // Not in the last column, where the cursor would be about to wrap. Nor in the first ones: a symbol of unknown width has to
            // keep clear of it.
            area.x = area.x.max(CLEAR_OF_IMAGE);
            area.width = area
                .width
                .min((picture.area.width - 1).saturating_sub(area.x));
            *image = Some(area).filter(|area| !area.is_empty());
        }
    }
    if let Some(area) = *image {
        let before = Rect {
            x: area.x - CLEAR_OF_IMAGE,
            width: CLEAR_OF_IMAGE,
            ..area
        };
        fill(picture, before, &Cell::EMPTY);
        fill(picture, area, &Cell::new(IMAGE));
    }
}

/// Puts a cell everywhere in a part of a picture.
fn fill(picture: &mut Buffer, area: Rect, cell: &Cell) {
    for position in area.positions() {
        put(
            picture,
            position.x,
            position.y,
            cell.symbol(),
            Style::reset(),
        );
    }
}

/// The image as an application sends it: all of it in its first cell, the others not to be touched.
fn send_image(sent: &mut Buffer, area: Rect) {
    for position in area.positions() {
        sent[position].reset();
        sent[position].set_diff_option(CellDiffOption::Skip);
    }
    sent[area.as_position()]
        .set_symbol(&image_sequences(area.as_size()))
        .set_diff_option(CellDiffOption::ForcedWidth(1.try_into().expect("not zero")));
}

/// Output of another writer between two frames, which leaves no mark on the cells.
fn foreign_output(choices: &mut impl Choices, size: Size) -> String {
    match choices.below(4) {
        0 => format!(
            "\x1b[{};{}H",
            1 + choices.below(size.height.into()),
            1 + choices.below(size.width.into())
        ),
        1 => "\x1b[?25h".into(),
        2 => "\x1b[?25l\r".into(),
        _ => "\x1b[1;4;31;42m".into(),
    }
}

/// Draws a sequence of frames and compares after each. Returns the number of frames and the counters.
pub fn play(
    choices: &mut impl Choices,
    frames: u32,
    make: impl Fn(u16, u16) -> Vec<Box<dyn Emulator>>,
) -> Result<Stats, String> {
    let size = |choices: &mut dyn Choices| match choices.below(12) {
        // alacritty_terminal never ends resizing to one column, with a wide symbol in it.
        0 => (2 + choices.below(4) as u16, 1 + choices.below(4) as u16),
        _ => (4 + choices.below(40) as u16, 2 + choices.below(9) as u16),
    };
    let (mut width, mut height) = size(choices);
    let mut emulators = make(width, height);
    let wraps = choices.below(2) == 0;
    if !wraps {
        emulators.retain(|emulator| emulator.name() != "vt100");
    }
    let wire = Wire::default();
    let mut options = Options::default().capabilities(capabilities(choices));
    if choices.below(2) == 0 {
        options = options.fewest_bytes();
    }
    let backend = OutpaceBackend::writer(wire.clone(), Size::new(width, height), options)
        .map_err(|error| error.to_string())?;
    let mut terminal = Terminal::new(backend).map_err(|error| error.to_string())?;
    let mut picture = Buffer::empty(Rect::new(0, 0, width, height));
    let mut previous = picture.clone();
    let mut last = Vec::new();
    let mut last_foreign: Option<String> = None;
    let images = choices.below(4) == 0;
    let mut image = None;
    for frame in 0..frames {
        if choices.below(60) == 0 {
            (width, height) = size(choices);
            for emulator in &mut emulators {
                emulator.resize(width, height);
            }
            terminal.backend_mut().set_size(Size::new(width, height));
            picture.resize(Rect::new(0, 0, width, height));
            repair(&mut picture);
            image = None;
        }
        if choices.below(80) == 0 {
            terminal.clear().map_err(|error| error.to_string())?;
        }
        for _ in 0..choices.below(4) {
            change(choices, &mut picture);
        }
        if wraps {
            keep_clear_of_edge(&mut picture);
        }
        if images {
            change_image(choices, &mut picture, &mut image);
        }
        let mut sent = picture.clone();
        send_uncovered(&previous, &mut sent);
        if let Some(area) = image {
            send_image(&mut sent, area);
        }
        previous.clone_from(&picture);
        let cursor = (choices.below(3) == 0).then(|| {
            Position::new(
                choices.below(width.into()) as u16,
                choices.below(height.into()) as u16,
            )
        });
        terminal
            .draw(|frame| {
                frame.buffer_mut().clone_from(&sent);
                if let Some(cursor) = cursor {
                    frame.set_cursor_position(cursor);
                }
            })
            .map_err(|error| error.to_string())?;
        let bytes = wire.take();
        check_sequences(&bytes)?;
        let foreign =
            (choices.below(5) == 0).then(|| foreign_output(choices, Size::new(width, height)));
        // An empty frame heals nothing.
        let healed = !bytes.is_empty() || last_foreign.is_none();
        for emulator in &mut emulators {
            emulator.feed(&bytes);
            compare(&mut **emulator, &picture).map_err(|problem| {
                format!(
                    "frame {frame} of {width}x{height}, {:?}: {problem}\nbefore: {:?}\nbytes: {:?}",
                    terminal.backend().capabilities(),
                    String::from_utf8_lossy(&last),
                    String::from_utf8_lossy(&bytes)
                )
            })?;
            let expected = cursor.map(|cursor| (cursor.x, cursor.y));
            if healed
                && emulator
                    .cursor_visible()
                    .is_some_and(|visible| visible != expected.is_some())
            {
                return Err(format!(
                    "frame {frame}: {}: the cursor's visibility",
                    emulator.name()
                ));
            }
            if healed && expected.is_some_and(|expected| expected != emulator.cursor()) {
                return Err(format!(
                    "frame {frame}: {} has its cursor at {:?}, not {expected:?}",
                    emulator.name(),
                    emulator.cursor()
                ));
            }
            emulator.feed(foreign.as_deref().unwrap_or_default().as_bytes());
        }
        last_foreign = foreign.or(last_foreign.filter(|_| bytes.is_empty()));
        last = bytes;
    }
    Ok(terminal.backend().stats())
}
