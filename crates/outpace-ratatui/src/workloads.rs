//! Pictures to measure backends with: the published animation, and pictures as terminal applications draw them.
//!
//! Each draws a whole frame into a buffer, from its own small generator, so that every backend gets the
//! same frames. (Feature `workloads`.)

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// The published animation: every cell a `▀` of two grey levels, brighter and noisier towards the top,
    /// rotating one column to the left each frame.
    Animation,
    /// The same, of other noise each frame.
    Noise,
    /// A log that scrolls by a line each frame, with a title and a status line.
    Log,
    /// An editor: typing, and scrolling now and then.
    Editor,
    /// Gauges, a chart and a table whose numbers change.
    Dashboard,
    /// The dashboard, at rest.
    Idle,
}

impl Workload {
    /// All of them, with the names they go by.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Animation, "animation"),
        (Self::Noise, "noise"),
        (Self::Log, "log"),
        (Self::Editor, "editor"),
        (Self::Dashboard, "dashboard"),
        (Self::Idle, "idle"),
    ];
}

/// A sequence of frames of one workload.
///
/// ```
/// use outpace_ratatui::workloads::{Scene, Workload};
/// use ratatui::{buffer::Buffer, layout::Rect};
///
/// let mut scene = Scene::new(Workload::Animation);
/// let mut buffer = Buffer::empty(Rect::new(0, 0, 20, 5));
/// scene.draw(&mut buffer);
/// assert_eq!(buffer[(0, 4)].symbol(), "▀");
/// ```
#[derive(Clone, Debug)]
pub struct Scene {
    workload: Workload,
    frame: u64,
    levels: Vec<u8>,
    random: Random,
    lines: Vec<String>,
    /// The numbers that gauges, chart and table show.
    gauges: [f64; 8],
    values: Vec<f64>,
    table: Vec<f64>,
    header: Vec<String>,
}

/// xorshift64*: fast, and the same everywhere.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as u32
    }

    fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.next()) * u64::from(n)) >> 32) as u32
    }
}

impl Scene {
    /// The first frame of a workload comes next.
    pub fn new(workload: Workload) -> Self {
        Self {
            workload,
            frame: 0,
            levels: Vec::new(),
            random: Random(0x9E37_79B9_7F4A_7C15),
            lines: Vec::new(),
            gauges: [0.5; 8],
            values: Vec::new(),
            table: Vec::new(),
            header: vec!["the published animation".into(), String::new()],
        }
    }

    /// The lines above the animation, if any: by default a title and an empty line.
    pub fn set_header(&mut self, lines: Vec<String>) {
        self.header = lines;
    }

    /// Draws the next frame into a buffer that need not be empty.
    pub fn draw(&mut self, buffer: &mut Buffer) {
        let area = buffer.area;
        match self.workload {
            Workload::Animation => {
                let rotation = self.frame as usize;
                self.grey_picture(buffer, area, rotation);
            }
            Workload::Noise => {
                self.levels.clear();
                self.grey_picture(buffer, area, 0);
            }
            Workload::Log => self.log(buffer, area),
            Workload::Editor => self.editor(buffer, area),
            Workload::Dashboard => self.dashboard(buffer, area, true),
            Workload::Idle => self.dashboard(buffer, area, self.frame == 0),
        }
        self.frame += 1;
    }

    fn grey_picture(&mut self, buffer: &mut Buffer, area: Rect, rotation: usize) {
        let (columns, rows) = (usize::from(area.width), usize::from(area.height));
        let first = self.header.len().min(rows);
        if self.levels.len() != columns * rows * 2 {
            self.levels = vec![0; columns * rows * 2];
            for (at, level) in self.levels.iter_mut().enumerate() {
                let height = rows * 2 - at / columns;
                let base = (height * 160 / (rows * 2)) as u32;
                let noise = self.random.below((height * 95 / (rows * 2)) as u32 + 1);
                *level = (base + noise) as u8;
            }
        }
        for (row, text) in self.header.iter().enumerate().take(first) {
            // The terminal's own foreground can be read on any background.
            let style = Style::reset().add_modifier(Modifier::BOLD);
            buffer.set_stringn(
                area.x,
                area.y + row as u16,
                format!("{text:<columns$}"),
                columns,
                style,
            );
        }
        for y in first..rows {
            for x in 0..columns {
                let from = (x + rotation) % columns;
                let grey = |row: usize| {
                    let level = self.levels[row * columns + from];
                    Color::Rgb(level, level, level)
                };
                let (top, bottom) = (grey(y * 2), grey(y * 2 + 1));
                let cell = &mut buffer[(area.x + x as u16, area.y + y as u16)];
                cell.set_symbol("▀").set_fg(top).set_bg(bottom);
            }
        }
    }

    fn words(&mut self, length: usize) -> String {
        const WORDS: [&str; 16] = [
            "request", "served", "cache", "miss", "worker", "queue", "flushed", "bytes", "latency",
            "retry", "shard", "session", "opened", "closed", "timeout", "commit",
        ];
        let mut line = String::new();
        while line.len() < length {
            line.push_str(WORDS[self.random.below(WORDS.len() as u32) as usize]);
            line.push(if self.random.below(9) == 0 { '=' } else { ' ' });
            if self.random.below(4) == 0 {
                line.push_str(&self.random.below(100_000).to_string());
                line.push(' ');
            }
        }
        line
    }

    fn log(&mut self, buffer: &mut Buffer, area: Rect) {
        let rows = usize::from(area.height.saturating_sub(2));
        while self.lines.len() < rows + self.frame as usize {
            let length = 40 + self.random.below(100) as usize;
            let line = self.words(length);
            self.lines.push(line);
        }
        let columns = usize::from(area.width);
        let bar = Style::new().fg(Color::Black).bg(Color::Cyan);
        buffer.set_stringn(
            area.x,
            area.y,
            format!("{:<columns$}", " log of everything"),
            columns,
            bar,
        );
        let status = format!(" {} lines, following", self.lines.len());
        let bottom = area.bottom().saturating_sub(1);
        buffer.set_stringn(area.x, bottom, format!("{status:<columns$}"), columns, bar);
        for row in 0..rows {
            let number = self.frame as usize + row;
            let (level, color) = match number % 7 {
                0 => ("WARN ", Color::Yellow),
                3 => ("ERROR", Color::Red),
                _ => ("INFO ", Color::Green),
            };
            let y = area.y + 1 + row as u16;
            let clock = format!(
                "12:{:02}:{:02}.{:03} ",
                number / 60 % 60,
                number % 60,
                number * 7 % 1000
            );
            let text = format!("{:<columns$}", self.lines[number]);
            let dim = Style::new().fg(Color::DarkGray);
            let (x, _) = buffer.set_stringn(area.x, y, clock, columns, dim);
            let style = Style::new().fg(color).add_modifier(Modifier::BOLD);
            let left = |x: u16| usize::from(area.right().saturating_sub(x));
            let (x, _) = buffer.set_stringn(x, y, level, left(x), style);
            let (x, _) = buffer.set_stringn(x, y, " ", left(x), Style::new());
            buffer.set_stringn(x, y, text, left(x), Style::reset());
        }
    }

    fn editor(&mut self, buffer: &mut Buffer, area: Rect) {
        const SCROLL_EVERY: u64 = 12;
        let rows = usize::from(area.height.saturating_sub(1));
        let top = (self.frame / SCROLL_EVERY) as usize;
        while self.lines.len() < top + rows {
            let (depth, length) = (self.random.below(4), 20 + self.random.below(60) as usize);
            let line = format!("{}{}", "    ".repeat(depth as usize), self.words(length));
            self.lines.push(line);
        }
        let row = top + rows / 2;
        let column = 10 + (self.frame % SCROLL_EVERY) as usize;
        let letter = char::from(b'a' + self.random.below(26) as u8);
        let line = &mut self.lines[row];
        line.insert(column.min(line.len()), letter);
        let columns = usize::from(area.width);
        for y in 0..rows {
            let number = top + y;
            let at = area.y + y as u16;
            let current = number == row;
            let back = if current {
                Color::Indexed(236)
            } else {
                Color::Reset
            };
            let gutter = Style::new().fg(Color::DarkGray).bg(back);
            let (mut x, _) =
                buffer.set_stringn(area.x, at, format!("{:>5} ", number + 1), columns, gutter);
            for word in self.lines[number].split_inclusive(' ') {
                let color = match word.len() % 5 {
                    0 => Color::Rgb(198, 120, 221),
                    1 => Color::Rgb(152, 195, 121),
                    2 => Color::Rgb(97, 175, 239),
                    _ => Color::Rgb(171, 178, 191),
                };
                let left = usize::from(area.right().saturating_sub(x));
                (x, _) = buffer.set_stringn(x, at, word, left, Style::new().fg(color).bg(back));
            }
            let left = usize::from(area.right().saturating_sub(x));
            buffer.set_stringn(
                x,
                at,
                " ".repeat(left),
                left,
                Style::new().fg(Color::Reset).bg(back),
            );
        }
        let status = format!(
            " main.rs  {}:{}  {} changes",
            row + 1,
            column + 1,
            self.frame + 1
        );
        let bar = Style::new().fg(Color::White).bg(Color::Blue);
        let bottom = area.bottom().saturating_sub(1);
        buffer.set_stringn(area.x, bottom, format!("{status:<columns$}"), columns, bar);
    }

    fn dashboard(&mut self, buffer: &mut Buffer, area: Rect, moves: bool) {
        let columns = usize::from(area.width);
        if self.values.len() != columns {
            self.values = vec![0.5; columns];
            self.table = vec![0.5; usize::from(area.height) * 4];
        }
        if moves {
            let mut step = |value: &mut f64| {
                let step = f64::from(self.random.below(2001)) / 1000.0 - 1.0;
                *value = (*value + step * 0.05).clamp(0.0, 1.0);
            };
            self.gauges.iter_mut().for_each(&mut step);
            // The chart moves on by one value; a quarter of the table has news.
            self.values.rotate_left(1);
            if let [.., before, newest] = &mut self.values[..] {
                *newest = *before;
                step(newest);
            }
            let first = self.frame as usize % 4;
            self.table
                .iter_mut()
                .skip(first)
                .step_by(4)
                .for_each(&mut step);
        }
        let gauges = 8.min(area.height / 4);
        for row in 0..gauges {
            self.gauge(buffer, area, row);
        }
        let chart = Rect {
            y: area.y + gauges,
            height: area.height / 3,
            ..area
        };
        self.chart(buffer, chart);
        let table = Rect {
            y: chart.bottom(),
            height: area.bottom().saturating_sub(chart.bottom()),
            ..area
        };
        self.table(buffer, table);
    }

    fn gauge(&self, buffer: &mut Buffer, area: Rect, row: u16) {
        let value = self.gauges[usize::from(row)];
        let y = area.y + row;
        let label = format!("core {row} {:5.1} % ", value * 100.0);
        let (start, _) =
            buffer.set_stringn(area.x, y, label, usize::from(area.width), Style::reset());
        let width = area.right().saturating_sub(start);
        let filled = (f64::from(width) * value) as u16;
        let color = if value > 0.8 {
            Color::Red
        } else {
            Color::Green
        };
        for x in 0..width {
            let symbol = if x < filled { "█" } else { "░" };
            buffer[(start + x, y)]
                .set_symbol(symbol)
                .set_style(Style::new().fg(color).bg(Color::Reset));
        }
    }

    fn chart(&self, buffer: &mut Buffer, area: Rect) {
        const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
        for x in 0..area.width {
            let value = self.values[usize::from(x) % self.values.len()];
            let height = (value * f64::from(area.height) * 8.0) as u16;
            for row in 0..area.height {
                let eighths = height.saturating_sub(row * 8).min(8);
                let y = area.bottom() - 1 - row;
                buffer[(area.x + x, y)]
                    .set_symbol(EIGHTHS[usize::from(eighths)])
                    .set_style(Style::new().fg(Color::LightBlue).bg(Color::Reset));
            }
        }
    }

    fn table(&self, buffer: &mut Buffer, area: Rect) {
        let columns = usize::from(area.width);
        for row in 0..area.height {
            let y = area.y + row;
            let value = |n: usize| self.table[usize::from(row) * 4 + n];
            let line = format!(
                "│ process-{row:<4} │ {:>7.2} % │ {:>9.0} KiB │ {:>6} threads │ {:<12} │",
                value(0) * 100.0,
                value(1) * 1e6,
                (value(2) * 40.0) as u32,
                if value(3) > 0.5 {
                    "running"
                } else {
                    "sleeping"
                },
            );
            let style = if row % 2 == 0 {
                Style::reset()
            } else {
                Style::reset().bg(Color::Indexed(235))
            };
            buffer.set_stringn(area.x, y, format!("{line:<columns$}"), columns, style);
        }
    }
}
