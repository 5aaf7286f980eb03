//! A small emulator that treats a shell's prompt as kitty does when its size changes: for machines without kitty, and for both of its ways.
//! It knows the sequences of transcripts, and symbols of one column.

use std::collections::VecDeque;

use outpace_ratatui::Reflow;
use ratatui::layout::Size;

use crate::scrollback::Scrollback;

#[derive(Clone, Default)]
struct Row {
    text: Vec<char>,
    /// It goes on in the next.
    wrapped: bool,
    prompt: bool,
}

impl Row {
    /// The columns up to the last that was written.
    fn trimmed(&self) -> &[char] {
        let end = self.text.iter().rposition(|&c| c != '\0');
        &self.text[..end.map_or(0, |last| last + 1)]
    }

    fn is_blank(&self) -> bool {
        self.trimmed().is_empty()
    }

    fn erase_from(&mut self, column: usize) {
        self.text.truncate(column);
        self.wrapped = false;
    }
}

/// The rows from the last prompt above the cursor on are left to the shell: they are blank after a change of size (kitty before 0.34), or stay
/// as they were, without wrapping. All above is wrapped anew. The cursor stays as many rows below the prompt as it was. Without a prompt it
/// is lost if its row is followed by others.
pub struct Prompting {
    keeps: bool,
    size: Size,
    history: Vec<Row>,
    screen: VecDeque<Row>,
    x: usize,
    y: usize,
    saved: (usize, usize),
    wraps: bool,
    /// Prompts are left to the shell.
    redraws: bool,
}

impl Prompting {
    pub fn new(keeps: bool) -> Self {
        let mut this = Self {
            keeps,
            size: Size::ZERO,
            history: Vec::new(),
            screen: VecDeque::new(),
            x: 0,
            y: 0,
            saved: (0, 0),
            wraps: true,
            redraws: false,
        };
        this.start(Size::new(1, 1));
        this
    }

    fn width(&self) -> usize {
        self.size.width.into()
    }

    fn height(&self) -> usize {
        self.size.height.into()
    }

    /// Adds blank rows at the bottom, or moves rows from the top into the history.
    fn fit(&mut self) {
        while self.screen.len() > self.height() {
            self.history.extend(self.screen.pop_front());
        }
        self.screen.resize(self.height(), Row::default());
    }

    fn go_down(&mut self) {
        if self.y + 1 == self.height() {
            self.screen.push_back(Row::default());
            self.fit();
        } else {
            self.y += 1;
        }
        if let Some(above) = self.y.checked_sub(1) {
            self.screen[above].wrapped = false;
        }
    }

    fn print(&mut self, c: char) {
        if self.x == self.width() && self.wraps {
            self.x = 0;
            self.go_down();
            match self.y.checked_sub(1) {
                Some(above) => self.screen[above].wrapped = true,
                None => self.history.last_mut().unwrap().wrapped = true,
            }
        }
        self.x = self.x.min(self.width() - 1);
        let row = &mut self.screen[self.y].text;
        row.resize(row.len().max(self.x + 1), '\0');
        row[self.x] = c;
        self.x += 1;
    }

    fn control(&mut self, parameters: &str, command: char) {
        let number = parameters.parse::<usize>().unwrap_or(1);
        match (command, parameters) {
            ('A', _) => self.y = self.y.saturating_sub(number),
            ('C', _) => self.x = (self.x + number).min(self.width() - 1),
            ('G', _) => self.x = (number - 1).min(self.width() - 1),
            ('K', "") => self.screen[self.y].erase_from(self.x),
            ('J', "") => {
                self.screen[self.y].erase_from(self.x);
                self.screen.truncate(self.y + 1);
                self.fit();
            }
            ('L', _) => {
                for _ in 0..number {
                    self.screen.insert(self.y, Row::default());
                }
                self.screen.truncate(self.height());
                self.x = 0;
            }
            ('M', _) => {
                let end = (self.y + number).min(self.height());
                self.screen.drain(self.y..end);
                self.fit();
                self.x = 0;
            }
            // It has no scrolling region.
            ('r', "") => (self.x, self.y) = (0, 0),
            ('h' | 'l', "?7") => self.wraps = command == 'h',
            // It never inserts.
            ('h' | 'l', "?25" | "?2026" | "4") | ('m', _) => {}
            _ => panic!("it does not know CSI {parameters} {command}"),
        }
    }

    /// So many rows of the screen, wrapped anew, and the cursor's place there.
    fn rewrap(&self, used: usize, width: usize) -> (Vec<Row>, (usize, usize)) {
        let mut rows: Vec<Row> = Vec::new();
        let mut cursor = (0, self.y);
        let mut goes_on = false;
        for (y, row) in self.screen.iter().take(used).enumerate() {
            if !goes_on {
                rows.push(Row {
                    prompt: row.prompt,
                    ..Row::default()
                });
            }
            goes_on = row.wrapped;
            let text = row.trimmed();
            let column = self.x.min(text.len().saturating_sub(1));
            for (x, &c) in text.iter().enumerate() {
                if rows.last().unwrap().text.len() == width {
                    rows.last_mut().unwrap().wrapped = true;
                    rows.push(Row::default());
                }
                let last = rows.len() - 1;
                if (x, y) == (column, self.y) {
                    cursor = (rows[last].text.len(), last);
                }
                rows[last].text.push(c);
            }
        }
        (rows, cursor)
    }

    /// The row of the prompt that the cursor is in.
    fn prompt(&self) -> Option<usize> {
        let found = (0..=self.y).rev().find(|&y| self.screen[y].prompt);
        found.filter(|_| self.redraws)
    }
}

impl Scrollback for Prompting {
    fn name(&self) -> &'static str {
        match self.keeps {
            true => "a terminal that keeps prompts",
            false => "a terminal that blanks prompts",
        }
    }

    fn reflow(&self) -> Reflow {
        Reflow::AbovePrompt
    }

    fn has_regions(&self) -> bool {
        false
    }

    fn start(&mut self, size: Size) {
        self.size = size;
        self.history.clear();
        self.screen.clear();
        self.fit();
        (self.x, self.y) = (0, 0);
        (self.wraps, self.redraws) = (true, false);
    }

    fn feed(&mut self, bytes: &[u8]) {
        let mut rest = std::str::from_utf8(bytes).unwrap();
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                '\r' => self.x = 0,
                '\n' | '\x0b' => self.go_down(),
                '\x1b' if rest.starts_with('[') => {
                    let end = 1 + rest[1..].find(|c: char| c.is_alphabetic()).unwrap();
                    let command = rest[end..].chars().next().unwrap();
                    self.control(&rest[1..end], command);
                    rest = &rest[end + 1..];
                }
                '\x1b' if rest.starts_with(['7', '8']) => {
                    match rest.starts_with('7') {
                        true => self.saved = (self.x, self.y),
                        // A wrap that was pending is lost.
                        false => {
                            (self.x, self.y) = (self.saved.0.min(self.width() - 1), self.saved.1)
                        }
                    }
                    rest = &rest[1..];
                }
                '\x1b' => {
                    let (mark, after) = rest.split_once('\x07').unwrap();
                    self.redraws = !mark.contains("redraw=0");
                    assert!(mark.starts_with("]133;A;k=s"), "it does not know {mark:?}");
                    self.screen[self.y].prompt = true;
                    rest = after;
                }
                c => self.print(c),
            }
        }
    }

    fn resize(&mut self, size: Size) {
        let prompt = self.prompt();
        let mut kept = Vec::new();
        for y in prompt.unwrap_or(self.height())..self.height() {
            kept.push(self.screen[y].clone());
            self.screen[y].erase_from(0);
            if y <= self.y {
                self.screen[y].text.push(' ');
            }
        }
        let used = self.screen.iter().rposition(|row| !row.is_blank());
        let used = used.map_or(0, |last| last + 1);
        let (mut rows, place) = self.rewrap(used, size.width.into());
        let above = prompt.map_or(0, |from| self.y - from);
        if self.y >= used {
            (self.x, self.y) = (0, rows.len());
            rows.push(Row::default());
        } else {
            // Not followed when rows below it move it up.
            (self.x, self.y) = place;
        }
        self.size = size;
        self.screen = rows.into();
        self.fit();
        self.y = self.y.min(self.height() - 1);
        if self.keeps {
            for (y, mut row) in (self.y.saturating_sub(above)..self.height()).zip(kept) {
                row.text.truncate(self.width());
                self.screen[y] = row;
            }
        }
    }

    fn lines(&mut self) -> Vec<String> {
        let mut lines = vec![String::new()];
        for row in self.history.iter().chain(&self.screen) {
            let text = row
                .trimmed()
                .iter()
                .map(|&c| if c == '\0' { ' ' } else { c });
            lines.last_mut().unwrap().extend(text);
            if !row.wrapped {
                lines.push(String::new());
            }
        }
        lines
    }
}
