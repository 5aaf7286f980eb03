//! Terminal emulators with a scrollback: four and a small one in this process, kitty's screen and xterm.js in processes of their own, and tmux.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicU32, Ordering};

use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Flags;
use outpace_ratatui::Reflow;
use ratatui::layout::Size;

use crate::emulator::{Alacritty, Emulator, Wezterm};
use crate::prompt::Prompting;

const HISTORY: usize = 20_000;

pub trait Scrollback {
    fn name(&self) -> &'static str;
    /// Its treatment of lines when its width changes.
    fn reflow(&self) -> Reflow {
        Reflow::All
    }
    /// Whether its size may change while something is on its way to it.
    fn may_be_overtaken(&self) -> bool {
        matches!(
            self.reflow(),
            Reflow::All | Reflow::AbovePrompt | Reflow::Ahead
        )
    }
    /// Whether its changes of size have left no blanks in a line that were not there.
    fn adds_no_blanks(&mut self) -> bool {
        true
    }
    /// Whether that keeps wide symbols: others lose some of them, or put blanks beside them.
    fn reflows_wide_symbols(&self) -> bool {
        false
    }
    /// Whether lines may differ from now on by what the terminal does by itself. Asked before each change of size, and at the end.
    fn may_differ(&mut self) -> bool {
        false
    }
    /// Whether it knows scrolling regions.
    fn has_regions(&self) -> bool {
        true
    }
    /// Begins with an empty screen.
    fn start(&mut self, size: Size);
    fn feed(&mut self, bytes: &[u8]);
    fn resize(&mut self, size: Size);
    /// All lines, rows that were wrapped put together.
    fn lines(&mut self) -> Vec<String>;
}

/// Those of this process.
pub fn in_process() -> Vec<Box<dyn Scrollback>> {
    vec![
        Box::new(Alacritty::with_history(1, 1, HISTORY)),
        Box::new(Avt(None)),
        Box::new(Vt100(None)),
        Box::new(Wezterm::with_history(1, 1, HISTORY)),
        Box::new(Prompting::new(false)),
        Box::new(Prompting::new(true)),
    ]
}

/// Those that are there, and the names of those that are not.
pub fn all() -> (Vec<Box<dyn Scrollback>>, Vec<&'static str>) {
    let mut here = in_process();
    let mut missing = Vec::new();
    for (name, emulator) in [
        ("kitty", External::kitty()),
        ("xterm.js", External::xterm_js()),
    ] {
        match emulator {
            Some(emulator) => here.push(Box::new(emulator)),
            None => missing.push(name),
        }
    }
    match tmux() {
        Some(tmux) => here.push(tmux),
        None => missing.push("tmux"),
    }
    (here, missing)
}

/// `None`: it is not installed.
pub fn kitty() -> Option<Box<dyn Scrollback>> {
    Some(Box::new(External::kitty()?))
}

/// `None`: it is not installed.
pub fn xterm_js() -> Option<Box<dyn Scrollback>> {
    Some(Box::new(External::xterm_js()?))
}

/// `None`: it is not installed.
pub fn tmux() -> Option<Box<dyn Scrollback>> {
    #[cfg(target_os = "linux")]
    return Some(Box::new(Tmux::new()?));
    #[cfg(not(target_os = "linux"))]
    None
}

impl Scrollback for Alacritty {
    fn name(&self) -> &'static str {
        Emulator::name(self)
    }

    fn reflows_wide_symbols(&self) -> bool {
        true
    }

    fn start(&mut self, size: Size) {
        *self = Self::with_history(size.width, size.height, HISTORY);
    }

    fn feed(&mut self, bytes: &[u8]) {
        Emulator::feed(self, bytes);
    }

    fn resize(&mut self, size: Size) {
        Emulator::resize(self, size.width, size.height);
    }

    fn lines(&mut self) -> Vec<String> {
        let grid = self.term().grid();
        let mut lines = vec![String::new()];
        for line in grid.topmost_line().0..=grid.bottommost_line().0 {
            let row = &grid[Line(line)];
            let mut wrapped = false;
            for column in 0..grid.columns() {
                let cell = &row[Column(column)];
                wrapped = cell.flags.contains(Flags::WRAPLINE);
                if cell
                    .flags
                    .intersects(Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER)
                {
                    continue;
                }
                let line = lines.last_mut().unwrap();
                line.push(cell.c);
                line.extend(cell.zerowidth().into_iter().flatten());
            }
            if !wrapped {
                lines.push(String::new());
            }
        }
        lines
    }
}

impl Scrollback for Wezterm {
    fn name(&self) -> &'static str {
        Emulator::name(self)
    }

    /// The cells that were beyond its edge when it became narrower are there again, as blanks, when it becomes wider.
    fn adds_no_blanks(&mut self) -> bool {
        false
    }

    /// It keeps symbols beyond its edge that were printed there without wrapping.
    fn may_be_overtaken(&self) -> bool {
        false
    }

    /// A row that goes on in the next is wider than the terminal: the next change of size puts its part beyond the edge into the middle of a
    /// line, which may then take more rows than its text (`a_row_that_was_erased_in_wezterm_stays_as_wide_as_it_was`).
    fn may_differ(&mut self) -> bool {
        let width = self.width();
        self.rows()
            .iter()
            .any(|(text, goes_on)| *goes_on && text.chars().count() > width)
    }

    fn start(&mut self, size: Size) {
        *self = Self::with_history(size.width, size.height, HISTORY);
    }

    fn feed(&mut self, bytes: &[u8]) {
        Emulator::feed(self, bytes);
    }

    fn resize(&mut self, size: Size) {
        Emulator::resize(self, size.width, size.height);
    }

    fn lines(&mut self) -> Vec<String> {
        let mut lines = vec![String::new()];
        for row in self.rows() {
            lines.last_mut().unwrap().push_str(&row.0);
            if !row.1 {
                lines.push(String::new());
            }
        }
        lines
    }
}

struct Avt(Option<avt::Terminal>);

impl Scrollback for Avt {
    fn name(&self) -> &'static str {
        "avt"
    }

    fn start(&mut self, size: Size) {
        let terminal =
            avt::Terminal::with_scrollback(size.width.into(), size.height.into(), Some(HISTORY));
        self.0 = terminal.ok();
    }

    fn feed(&mut self, bytes: &[u8]) {
        // Cut within a symbol, it is put together by the sender.
        let text = std::str::from_utf8(bytes).unwrap();
        self.0.as_mut().unwrap().feed([text]);
    }

    fn resize(&mut self, size: Size) {
        let terminal = self.0.as_mut().unwrap();
        terminal.resize(size.width.into(), size.height.into());
    }

    fn lines(&mut self) -> Vec<String> {
        let mut lines = vec![String::new()];
        for row in self.0.as_ref().unwrap().screen().all_lines() {
            lines.last_mut().unwrap().push_str(&row.text());
            if !row.is_wrapped() {
                lines.push(String::new());
            }
        }
        lines
    }
}

struct Vt100(Option<vt100::Parser>);

impl Scrollback for Vt100 {
    fn name(&self) -> &'static str {
        "vt100"
    }

    fn reflow(&self) -> Reflow {
        Reflow::Never
    }

    fn start(&mut self, size: Size) {
        let nonzero = |n: u16| n.try_into().unwrap();
        let parser = vt100::Parser::new(nonzero(size.height), nonzero(size.width), HISTORY);
        self.0 = Some(parser);
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.0.as_mut().unwrap().process(bytes);
    }

    fn resize(&mut self, _: Size) {
        unreachable!("it does not reflow");
    }

    fn lines(&mut self) -> Vec<String> {
        let parser = self.0.as_mut().unwrap();
        let (height, width) = parser.screen().size();
        parser.screen_mut().set_scrollback(usize::MAX);
        let kept = parser.screen().scrollback();
        let mut lines = vec![String::new()];
        for back in (0..=kept).rev() {
            parser.screen_mut().set_scrollback(back);
            let screen = parser.screen();
            let rows = if back == 0 { height.get() } else { 1 };
            for row in 0..rows {
                for column in 0..width.get() {
                    let cell = screen.cell(row, column).unwrap();
                    match cell.contents() {
                        "" if cell.is_wide_continuation() => {}
                        "" => lines.last_mut().unwrap().push(' '),
                        text => lines.last_mut().unwrap().push_str(text),
                    }
                }
                if !screen.row_wrapped(row) {
                    lines.push(String::new());
                }
            }
        }
        lines
    }
}

/// An emulator in a process of its own, which reads commands from its standard input.
struct External {
    name: &'static str,
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl External {
    /// `None`: it is not installed.
    fn start_process(name: &'static str, command: &mut Command) -> Option<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let commands = child.stdin.take()?;
        let answers = BufReader::new(child.stdout.take()?);
        let mut this = Self {
            name,
            child,
            commands,
            answers,
        };
        let asked = this.commands.write_all(b"start 2 2\nlines\n");
        (asked.is_ok() && this.read_lines().is_some()).then_some(this)
    }

    fn kitty() -> Option<Self> {
        let code = include_str!("kitty.py");
        Self::start_process("kitty", Command::new("kitty").args(["+runpy", code]))
    }

    fn xterm_js() -> Option<Self> {
        let code = include_str!("xterm.js");
        Self::start_process("xterm.js", Command::new("node").args(["-e", code]))
    }

    fn tell(&mut self, command: &str, bytes: &[u8]) {
        self.commands.write_all(command.as_bytes()).unwrap();
        self.commands.write_all(bytes).unwrap();
    }

    fn read_lines(&mut self) -> Option<Vec<String>> {
        let mut line = || {
            let mut text = String::new();
            self.answers.read_line(&mut text).ok()?;
            text.pop()
                .filter(|end| *end == '\n')
                .map(|_| std::mem::take(&mut text))
        };
        let number: usize = line()?.parse().ok()?;
        (0..number).map(|_| line()).collect()
    }
}

impl Drop for External {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Scrollback for External {
    fn name(&self) -> &'static str {
        self.name
    }

    fn reflow(&self) -> Reflow {
        match self.name {
            "kitty" => Reflow::AbovePrompt,
            _ => Reflow::AboveCursor,
        }
    }

    fn adds_no_blanks(&mut self) -> bool {
        if self.name != "kitty" {
            return true;
        }
        self.tell("gaps\n", &[]);
        self.read_lines().expect("it answers").is_empty()
    }

    /// xterm.js has moved rows out of the screen to which the cursor should go back
    /// (`rows_that_xterm_js_moved_out_of_the_screen_do_not_come_back`).
    fn may_differ(&mut self) -> bool {
        if self.name != "xterm.js" {
            return false;
        }
        self.tell("stopped\n", &[]);
        !self.read_lines().expect("it answers").is_empty()
    }

    fn start(&mut self, size: Size) {
        self.tell(&format!("start {} {}\n", size.width, size.height), &[]);
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.tell(&format!("feed {}\n", bytes.len()), bytes);
    }

    fn resize(&mut self, size: Size) {
        self.tell(&format!("resize {} {}\n", size.width, size.height), &[]);
    }

    fn lines(&mut self) -> Vec<String> {
        self.tell("lines\n", &[]);
        self.read_lines().expect("it answers")
    }
}

/// A tmux server of its own, commanded by a client in control mode. The program of its pane is this process, which writes to the
/// pane's terminal.
#[cfg(target_os = "linux")]
struct Tmux {
    client: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    pane: Option<std::fs::File>,
}

#[cfg(target_os = "linux")]
impl Tmux {
    fn new() -> Option<Self> {
        static SERVERS: AtomicU32 = AtomicU32::new(0);
        let number = SERVERS.fetch_add(1, Ordering::Relaxed);
        let socket = format!("outpace-scrollback-{}-{number}", std::process::id());
        let mut client = Command::new("tmux")
            .args(["-L", &socket, "-f", "/dev/null", "-C"])
            .args(["new-session", "-x", "20", "-y", "10"])
            .arg("exec sleep 1000000")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .env_remove("TMUX")
            .spawn()
            .ok()?;
        let commands = client.stdin.take()?;
        let answers = BufReader::new(client.stdout.take()?);
        let mut this = Self {
            client,
            commands,
            answers,
            pane: None,
        };
        this.answer()?;
        this.command("set-option -g history-limit 20000")?;
        Some(this)
    }

    /// The lines of the next answer.
    fn answer(&mut self) -> Option<Vec<String>> {
        let mut lines = Vec::new();
        let mut inside = false;
        loop {
            let mut line = Vec::new();
            if self.answers.read_until(b'\n', &mut line).ok()? == 0 {
                return None;
            }
            line.pop();
            let line = String::from_utf8_lossy(&line).into_owned();
            match () {
                () if line.starts_with("%begin ") => inside = true,
                () if inside && line.starts_with("%end ") => return Some(lines),
                () if inside && line.starts_with("%error ") => return None,
                () if inside => lines.push(line),
                () => {}
            }
        }
    }

    /// Whether an answer comes within two seconds.
    fn has_answered(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};

        let patience = Timespec {
            tv_sec: 2,
            tv_nsec: 0,
        };
        let mut events = [PollFd::new(self.pane.as_ref().unwrap(), PollFlags::IN)];
        poll(&mut events, Some(&patience)).unwrap() > 0
    }

    fn make_raw(&self) {
        use rustix::termios::{OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};

        let pane = self.pane.as_ref().unwrap();
        let mut modes = tcgetattr(pane).unwrap();
        modes.make_raw();
        modes.special_codes[SpecialCodeIndex::VMIN] = 0;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(pane, OptionalActions::Now, &modes).unwrap();
    }

    fn command(&mut self, command: &str) -> Option<Vec<String>> {
        writeln!(self.commands, "{command}").ok()?;
        self.answer()
    }
}

#[cfg(target_os = "linux")]
impl Drop for Tmux {
    fn drop(&mut self) {
        // It may have ended.
        let _ = writeln!(self.commands, "kill-server");
        let _ = self.client.wait();
    }
}

#[cfg(target_os = "linux")]
impl Scrollback for Tmux {
    fn name(&self) -> &'static str {
        "tmux"
    }

    fn reflow(&self) -> Reflow {
        Reflow::Ahead
    }

    fn start(&mut self, size: Size) {
        // A window of its own: a pane keeps its limit of history.
        self.pane = None;
        let window = "new-window -k -t :0 'exec sleep 1000000'";
        self.command(window).unwrap();
        self.resize(size);
        // Until then tmux sets the modes of the terminal.
        let program = "display-message -p -t :0 '#{pane_current_command}'";
        while self.command(program).unwrap() != ["sleep"] {
            std::thread::yield_now();
        }
        let named = self
            .command("display-message -p -t :0 '#{pane_tty}'")
            .unwrap();
        let pane = std::fs::File::options()
            .read(true)
            .write(true)
            .open(&named[0])
            .unwrap();
        self.pane = Some(pane);
        self.make_raw();
        self.feed(b"");
        // Until the modes are ours, an answer may have been echoed.
        self.feed(b"\x1b[H\x1b[2J");
        self.command("clear-history -t :0").unwrap();
    }

    /// Returns when tmux has answered that it is through: as often as it was asked.
    fn feed(&mut self, bytes: &[u8]) {
        const ANSWER: &[u8] = b"\x1b[0n";
        let mut pane = self.pane.as_ref().unwrap();
        pane.write_all(bytes).unwrap();
        let (mut asked, mut answers) = (0, Vec::new());
        while asked < 20 {
            pane.write_all(b"\x1b[5n").unwrap();
            asked += 1;
            while self.has_answered() {
                let mut answer = [0; 64];
                let length = pane.read(&mut answer).unwrap();
                answers.extend_from_slice(&answer[..length]);
                if answers == ANSWER.repeat(asked) {
                    return;
                }
                assert!(answers.len() < asked * ANSWER.len(), "answered {answers:?}");
            }
            // tmux may have set its modes after ours, under which an answer waits for the end of its line.
            self.make_raw();
        }
        panic!("tmux does not answer");
    }

    fn resize(&mut self, size: Size) {
        let Size { width, height } = size;
        self.command(&format!("resize-window -t :0 -x {width} -y {height}"))
            .unwrap();
    }

    fn lines(&mut self) -> Vec<String> {
        self.command("capture-pane -p -J -t :0 -S - -E -").unwrap()
    }
}
