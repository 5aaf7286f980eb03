//! Compares the picture on a terminal with the expected one: rungs that draw are verified so, since each has
//! bytes of its own. The terminal is an emulator that shares no code with those that drew.

use outpace_ratatui::workloads::Workload;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use crate::bench::destination::size::Size;
use crate::bench::experiment::bare_scene;

/// The look of a cell, which several encodings may have.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Appearance {
    /// Two colours, one above the other: blocks, half blocks and spaces.
    Colors { upper: Color, lower: Color },
    /// A symbol; empty behind a wide one.
    Symbol {
        text: String,
        fg: Color,
        bg: Color,
        modifier: Modifier,
    },
}

/// The modifiers that the emulator keeps.
const MODIFIERS: Modifier = Modifier::BOLD
    .union(Modifier::DIM)
    .union(Modifier::ITALIC)
    .union(Modifier::UNDERLINED)
    .union(Modifier::REVERSED)
    .union(Modifier::CROSSED_OUT);
/// The modifiers that show on a space.
const ON_SPACES: Modifier = Modifier::UNDERLINED
    .union(Modifier::REVERSED)
    .union(Modifier::CROSSED_OUT);

impl Appearance {
    fn new(text: &str, fg: Color, bg: Color, modifier: Modifier) -> Self {
        let modifier = modifier & MODIFIERS;
        let colors = match text {
            " " if !modifier.intersects(ON_SPACES) => Some((bg, bg)),
            _ if !modifier.is_empty() => None,
            "█" => Some((fg, fg)),
            "▀" => Some((fg, bg)),
            "▄" => Some((bg, fg)),
            _ => None,
        };
        // The default foreground and the default background are two colours.
        let chosen = |color| color != Color::Reset;
        let told_apart = match text {
            " " => true,
            "█" => chosen(fg),
            _ => chosen(fg) && chosen(bg),
        };
        match colors {
            Some((upper, lower)) if told_apart => Self::Colors { upper, lower },
            _ => Self::Symbol {
                text: text.to_owned(),
                fg,
                bg,
                modifier,
            },
        }
    }

    fn wanted(cell: &Cell) -> Self {
        let (fg, bg) = (numbered(cell.fg), numbered(cell.bg));
        Self::new(cell.symbol(), fg, bg, cell.modifier)
    }

    fn shown(cell: &avt::Cell) -> Self {
        let pen = cell.pen();
        let flags = [
            (pen.is_bold(), Modifier::BOLD),
            (pen.is_faint(), Modifier::DIM),
            (pen.is_italic(), Modifier::ITALIC),
            (pen.is_underline(), Modifier::UNDERLINED),
            (pen.is_inverse(), Modifier::REVERSED),
            (pen.is_strikethrough(), Modifier::CROSSED_OUT),
        ];
        let set = flags.iter().filter(|(set, _)| *set);
        let modifier = set.fold(Modifier::empty(), |all, (_, one)| all | *one);
        let color = |color| match color {
            None => Color::Reset,
            Some(avt::Color::Indexed(index)) => Color::Indexed(index),
            Some(avt::Color::RGB(rgb)) => Color::Rgb(rgb.r, rgb.g, rgb.b),
        };
        let mut utf8 = [0; 4];
        let text = cell.char().encode_utf8(&mut utf8);
        Self::new(
            text,
            color(pen.foreground()),
            color(pen.background()),
            modifier,
        )
    }
}

/// A named colour as its number in the palette.
fn numbered(color: Color) -> Color {
    const NAMED: [Color; 16] = [
        Color::Black,
        Color::Red,
        Color::Green,
        Color::Yellow,
        Color::Blue,
        Color::Magenta,
        Color::Cyan,
        Color::Gray,
        Color::DarkGray,
        Color::LightRed,
        Color::LightGreen,
        Color::LightYellow,
        Color::LightBlue,
        Color::LightMagenta,
        Color::LightCyan,
        Color::White,
    ];
    let place = NAMED.iter().position(|named| *named == color);
    place.map_or(color, |index| Color::Indexed(index as u8))
}

/// Feeds an emulator the bytes of a rung and compares its lines, the first of which may have left the screen, with the
/// expected ones. The error says how many are missing.
pub(crate) fn verify_lines(bytes: &[u8], wanted: &[String], size: Size) -> Result<(), String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("no UTF-8: {error}"))?;
    let (columns, rows) = (size.columns.into(), size.rows.into());
    let mut terminal = avt::Terminal::with_scrollback(columns, rows, Some(1 << 20))
        .map_err(|error| format!("no terminal of such a size: {error:?}"))?;
    terminal.feed(text);
    let mut shown = vec![String::new()];
    for row in terminal.screen().all_lines() {
        if let Some(line) = shown.last_mut() {
            line.push_str(&row.text());
        }
        if !row.is_wrapped() {
            shown.push(String::new());
        }
    }
    let same = |(one, other): &(&String, &String)| one.trim_end() == other.trim_end();
    let right = shown.iter().zip(wanted).take_while(same).count();
    if right == wanted.len() {
        return Ok(());
    }
    Err(format!(
        "lines lost: of {} the first {right} are there; then `{}` instead of `{}`",
        wanted.len(),
        shown.get(right).map_or("", |line| line.trim_end()),
        wanted[right]
    ))
}

/// Feeds an emulator the bytes of a rung and compares the screen with frame number `frames`, the first being 0. The error
/// names the first cell that differs.
pub(crate) fn verify(
    bytes: &[u8],
    workload: Workload,
    frames: u64,
    size: Size,
) -> Result<(), String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("no UTF-8: {error}"))?;
    let mut terminal = avt::Terminal::new(size.columns.into(), size.rows.into())
        .map_err(|error| format!("no terminal of such a size: {error:?}"))?;
    terminal.feed(text);
    let mut wanted = Buffer::empty(Rect::new(0, 0, size.columns, size.rows));
    let mut scene = bare_scene(workload);
    for _ in 0..=frames {
        wanted.reset();
        scene.draw(&mut wanted);
    }
    let screen = terminal.screen();
    for position in wanted.area.positions() {
        let line = screen.line(position.y.into());
        let Some(cell) = line.and_then(|line| line.cells().get(usize::from(position.x))) else {
            return Err(format!("the screen has no {position}"));
        };
        let (wanted, shown) = (
            Appearance::wanted(&wanted[position]),
            Appearance::shown(cell),
        );
        if wanted != shown {
            return Err(format!(
                "after {frames} frames column {}, row {} shows {shown:?}, not {wanted:?}",
                position.x + 1,
                position.y + 1
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size {
        columns: 4,
        rows: 2,
    };

    fn picture(frames: u64) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, SIZE.columns, SIZE.rows));
        let mut scene = bare_scene(Workload::Animation);
        (0..=frames).for_each(|_| scene.draw(&mut buffer));
        let mut text = String::from("\x1b[H");
        for (at, cell) in buffer.content.iter().enumerate() {
            let (Color::Rgb(upper, ..), Color::Rgb(lower, ..)) = (cell.fg, cell.bg) else {
                panic!("{cell:?}");
            };
            // Every other cell upside down.
            text += &match at % 2 {
                0 => format!("\x1b[38;2;{upper};{upper};{upper};48;2;{lower};{lower};{lower}m▀"),
                _ => format!("\x1b[48;2;{upper};{upper};{upper};38;2;{lower};{lower};{lower}m▄"),
            };
        }
        text
    }

    #[test]
    fn the_right_picture_passes_however_it_is_drawn() {
        let verified = verify(picture(5).as_bytes(), Workload::Animation, 5, SIZE);
        assert_eq!(verified, Ok(()));
    }

    #[test]
    fn a_wrong_cell_is_found_and_named() {
        let wrong = picture(5) + "\x1b[2;3Hx";
        let error = verify(wrong.as_bytes(), Workload::Animation, 5, SIZE).unwrap_err();
        assert!(error.contains("column 3, row 2 shows"), "{error}");
        let late = verify(picture(4).as_bytes(), Workload::Animation, 5, SIZE);
        assert!(late.is_err(), "a frame is missing");
    }

    #[test]
    fn a_default_colour_is_not_a_chosen_one() {
        let look = |text, fg, bg| Appearance::new(text, fg, bg, Modifier::empty());
        let red = Color::Indexed(1);
        assert_eq!(look("█", red, Color::Reset), look(" ", Color::Reset, red));
        assert_eq!(look("▄", red, red), look("▀", red, red));
        assert_ne!(look("▄", red, Color::Reset), look("▀", Color::Reset, red));
        assert_ne!(
            look("█", Color::Reset, Color::Reset),
            look(" ", Color::Reset, Color::Reset)
        );
        assert_eq!(numbered(Color::LightBlue), Color::Indexed(12));
    }
}
