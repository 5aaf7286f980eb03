//! Real terminal emulators: how each is started with a size and a command, and the private X server
//! they are drawn by when the user has no display.
//!
//! A terminal's window runs a shell that writes the name of its device and its `TERM` to a file, and sleeps. Rungs then write
//! to that device as they would to any terminal's.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::ttyname;
use tempfile::TempDir;

use super::size::{Size, open_pty};
use crate::bench::toolchain::{cache, find_program, first_line};
use crate::platform::{interrupts, quiet};

/// A terminal emulator by name, with what runs inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Emulator {
    terminal: &'static Launch,
    inside: Option<&'static Multiplexer>,
}

/// A program between the rung and the emulator. `{session}` stands for the name of a session of its own.
#[derive(Debug, PartialEq, Eq)]
struct Multiplexer {
    name: &'static str,
    /// The argument that asks for its version.
    version: &'static str,
    /// The arguments by which it runs the command behind them. It reads no configuration.
    start: &'static str,
    /// The arguments that end the session, which outlives the terminal otherwise.
    quit: &'static str,
}

const TMUX: Multiplexer = Multiplexer {
    name: "tmux",
    version: "-V",
    start: "-L {session} -f /dev/null new-session",
    quit: "-L {session} kill-server",
};

const SCREEN: Multiplexer = Multiplexer {
    name: "screen",
    version: "-v",
    start: "-c /dev/null -S {session}",
    quit: "-S {session} -X quit",
};

/// How one emulator is started.
#[derive(Debug, PartialEq, Eq)]
struct Launch {
    name: &'static str,
    /// The argument that asks for its version.
    version: &'static str,
    /// Its arguments, where `{columns}` and `{rows}` stand for the size; the command follows.
    arguments: &'static str,
    display: Display,
}

/// The display that an emulator draws on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Display {
    /// X11, and so also a private X server.
    X,
    /// Wayland alone, and so also a private compositor.
    Wayland,
    /// None: a multiplexer without a terminal.
    None,
    /// None: the engine of a terminal, without a window or a shell. It reads a pseudo-terminal of ours.
    Engine,
}

/// To add an emulator: an entry here.
#[rustfmt::skip]
const TERMINALS: &[Launch] = &[
    terminal("xterm", "-version", "-geometry {columns}x{rows} -e", Display::X),
    terminal("alacritty", "--version", "-o window.dimensions.columns={columns} -o window.dimensions.lines={rows} -e", Display::X),
    terminal("kitty", "--version", "-o remember_window_size=no -o initial_window_width={columns}c -o initial_window_height={rows}c", Display::X),
    terminal("foot", "--version", "-W {columns}x{rows}", Display::Wayland),
    terminal("wezterm", "--version", "--config initial_cols={columns} --config initial_rows={rows} start --always-new-process --", Display::X),
    terminal("konsole", "--version", "--separate -p TerminalColumns={columns} -p TerminalRows={rows} -e", Display::X),
    terminal("urxvt", "-help", "-geometry {columns}x{rows} -e", Display::X),
    terminal("st", "-v", "-g {columns}x{rows} -e", Display::X),
    terminal("tmux", "-V", "-L {session} -f /dev/null new-session -d -x {columns} -y {rows}", Display::None),
    terminal(XTERM_JS, "", "{columns} {rows}", Display::Engine),
];

const fn terminal(
    name: &'static str,
    version: &'static str,
    arguments: &'static str,
    display: Display,
) -> Launch {
    Launch {
        name,
        version,
        arguments,
        display,
    }
}

/// VS Code's terminal without its window.
const XTERM_JS: &str = "xterm.js";

/// The program that reads a pseudo-terminal for it.
const ENGINE: &str = include_str!("../../../bench/terminal/xterm.cjs");

/// The names of the emulators that can be asked for.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TERMINALS.iter().map(|terminal| terminal.name)
}

impl fmt::Display for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.terminal.name)?;
        match self.inside {
            None => Ok(()),
            Some(inside) => write!(f, "/{}", inside.name),
        }
    }
}

impl FromStr for Emulator {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, inside) = text
            .split_once('/')
            .map_or((text, None), |(name, inside)| (name, Some(inside)));
        let terminal = TERMINALS
            .iter()
            .find(|terminal| terminal.name == name)
            .ok_or_else(|| "no such destination".to_owned())?;
        let inside = match inside {
            None => None,
            Some("tmux") => Some(&TMUX),
            Some("screen") => Some(&SCREEN),
            Some(other) => {
                return Err(format!(
                    "only tmux and screen run inside a terminal, not {other:?}"
                ));
            }
        };
        Ok(Self { terminal, inside })
    }
}

/// Arguments with these texts in the place of their names.
fn filled(arguments: &str, texts: &[(&str, &str)]) -> Vec<String> {
    let fill = |word: &str| {
        let fill = |word: String, (name, text): &(&str, &str)| word.replace(name, text);
        texts.iter().fold(word.to_owned(), fill)
    };
    arguments.split(' ').map(fill).collect()
}

/// An emulator's open window; dropped, it is closed.
pub(crate) struct Window {
    /// The terminal's device.
    pub(crate) device: PathBuf,
    /// The emulator's version, in its own words.
    pub(crate) version: String,
    /// The `TERM` that programs in it are given.
    pub(crate) term: String,
    process: Child,
    session: Option<(&'static Multiplexer, String)>,
    /// The program's end of an engine's pseudo-terminal, held open.
    _program: Option<OwnedFd>,
    _display: Option<PrivateDisplay>,
}

impl Emulator {
    /// Opens a window of a size and waits until its shell runs.
    pub(crate) fn open(&self, size: Size, scratch: &TempDir) -> Result<Window, String> {
        let terminal = self.terminal;
        if terminal.display == Display::Engine {
            return open_engine(terminal, size);
        }
        let program = find_program(terminal.name)
            .ok_or_else(|| format!("{} is not installed", terminal.name))?;
        if let Some(inside) = self.inside
            && find_program(inside.name).is_none()
        {
            return Err(format!("{} is not installed", inside.name));
        }
        let mut command = Command::new(program);
        let display = PrivateDisplay::instead_of(terminal.display, &mut command, scratch)?;
        if terminal.display == Display::X || display.is_some() {
            command.env("XDG_RUNTIME_DIR", scratch.path());
        }
        let place = scratch.path().join("device");
        let script = format!(
            "{{ tty && echo \"$TERM\"; }} >'{0}.draft' && mv '{0}.draft' '{0}'; exec sleep 100000",
            place.display()
        );
        let mut shell = vec!["sh".to_owned(), "-c".to_owned(), script];
        let mut session = None;
        let name = format!("outpace-{}", std::process::id());
        if let Some(inside) = self.inside {
            let start = filled(inside.start, &[("{session}", &name)]);
            shell = [vec![inside.name.to_owned()], start, shell].concat();
            session = Some((inside, name.clone()));
        } else if terminal.display == Display::None {
            session = Some((&TMUX, name.clone()));
        }
        let arguments = arguments(terminal, size, &name);
        let log = scratch.path().join("terminal.log");
        let errors = File::create(&log).map_err(|error| error.to_string())?;
        let process = command
            .args(arguments)
            .args(shell)
            .env_remove("TMUX")
            // Files that it leaves there are removed with the rest.
            .env("TMPDIR", scratch.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn()
            .map_err(|error| format!("{}: {error}", terminal.name))?;
        let mut window = Window {
            device: PathBuf::new(),
            version: self.version(),
            term: String::new(),
            process,
            session,
            _program: None,
            _display: display,
        };
        let written = window.wait_for(&place).map_err(|reason| {
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            let last = log.lines().last().map(|line| format!(" ({line})"));
            format!("{}: {reason}{}", terminal.name, last.unwrap_or_default())
        })?;
        let (device, term) = written
            .trim_end()
            .split_once('\n')
            .unwrap_or((&written, ""));
        (window.device, window.term) = (device.into(), term.to_owned());
        Ok(window)
    }

    fn version(&self) -> String {
        let own = (self.terminal.name, self.terminal.version);
        let inside = self.inside.map(|inside| (inside.name, inside.version));
        let lines = [Some(own), inside].into_iter().flatten();
        // Some end with an error when they are asked.
        let lines =
            lines.filter_map(|(name, flag)| first_line(name, &[flag]).map(|(_, line)| line));
        lines.collect::<Vec<_>>().join(", ")
    }
}

/// Its arguments for a size and for a session of this name.
fn arguments(terminal: &Launch, size: Size, session: &str) -> Vec<String> {
    let (columns, rows) = (size.columns.to_string(), size.rows.to_string());
    let texts = [
        ("{columns}", &*columns),
        ("{rows}", &*rows),
        ("{session}", session),
    ];
    filled(terminal.arguments, &texts)
}

/// Starts an engine on a pseudo-terminal.
fn open_engine(terminal: &Launch, size: Size) -> Result<Window, String> {
    let node = find_program("node").ok_or("node is not installed, in which xterm.js runs")?;
    let (modules, version) = engine_modules()?;
    let reason = |error: io::Error| format!("{}: {error}", terminal.name);
    let (ours, program) = open_pty(size).map_err(reason)?;
    let device = ttyname(&program, Vec::new()).map_err(|error| reason(error.into()))?;
    let process = Command::new(node)
        .args(["-e", ENGINE, "--"])
        .args(arguments(terminal, size, ""))
        .env("NODE_PATH", modules)
        .stdin(ours.try_clone().map_err(reason)?)
        .stdout(ours)
        .stderr(Stdio::null())
        .spawn()
        .map_err(reason)?;
    Ok(Window {
        device: OsString::from_vec(device.into_bytes()).into(),
        version: format!("@xterm/headless {version}"),
        term: "xterm-256color".to_owned(),
        process,
        session: None,
        _program: Some(program),
        _display: None,
    })
}

/// Where npm's `@xterm/headless` is, and its version; it is fetched once, into our cache.
fn engine_modules() -> Result<(PathBuf, String), String> {
    let home = cache()?.join(XTERM_JS);
    let modules = home.join("node_modules");
    let version = || {
        let package = modules.join("@xterm/headless/package.json");
        let package: serde_json::Value =
            serde_json::from_slice(&std::fs::read(package).ok()?).ok()?;
        Some(package["version"].as_str()?.to_owned())
    };
    if version().is_none() {
        let npm =
            find_program("npm").ok_or("npm is not installed, which fetches @xterm/headless")?;
        let fetched = Command::new(npm)
            .args(["install", "--no-audit", "--no-fund", "--prefix"])
            .arg(&home)
            .arg("@xterm/headless")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("npm: {error}"))?;
        if !fetched.status.success() {
            return Err(format!(
                "npm cannot fetch @xterm/headless ({})",
                fetched.status
            ));
        }
    }
    let version = version().ok_or("npm has fetched no @xterm/headless")?;
    Ok((modules, version))
}

impl Window {
    /// Waits for the shell in the window to name its device and kind.
    fn wait_for(&mut self, place: &std::path::Path) -> Result<String, String> {
        let started = Instant::now();
        loop {
            match std::fs::read_to_string(place) {
                Ok(written) => {
                    // The place is free for the next window.
                    let _ = std::fs::remove_file(place);
                    return Ok(written);
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error.to_string());
                }
                Err(_) => {}
            }
            // The process that starts a multiplexer's server ends before the server.
            let is_detached = |status: &ExitStatus| self.session.is_some() && status.success();
            if let Ok(Some(status)) = self.process.try_wait()
                && !is_detached(&status)
            {
                return Err(format!("it ended at once, with {status}"));
            }
            if started.elapsed() > Duration::from_secs(20) {
                return Err("it ran no shell within 20 s".to_owned());
            }
            if !interrupts::pause(Duration::from_millis(20)) {
                return Err("interrupted".to_owned());
            }
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // Both may have ended already.
        if let Some((inside, session)) = &self.session {
            let mut quit = Command::new(inside.name);
            quit.args(filled(inside.quit, &[("{session}", session)]));
            let _ = quiet(&mut quit).status();
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The time a server may take to end when asked to.
const PATIENCE: Duration = Duration::from_secs(5);

/// An X server or a Wayland compositor that draws into memory, for a machine without a display.
struct PrivateDisplay {
    name: String,
    server: Child,
    /// Of a compositor: the X server that it draws on, which ends after it.
    _screen: Option<Box<PrivateDisplay>>,
}

impl PrivateDisplay {
    /// A display for a command, if the user has none of that kind.
    fn instead_of(
        display: Display,
        command: &mut Command,
        scratch: &TempDir,
    ) -> Result<Option<Self>, String> {
        let is_missing = |name| std::env::var_os(name).is_none();
        let (variable, private) = match display {
            Display::Wayland if is_missing("WAYLAND_DISPLAY") => {
                ("WAYLAND_DISPLAY", Self::wayland(scratch)?)
            }
            Display::X if is_missing("DISPLAY") => {
                // Xvfb has no graphics processor: say so before an emulator looks for one.
                command.env("LIBGL_ALWAYS_SOFTWARE", "1");
                ("DISPLAY", Self::x11()?)
            }
            _ => return Ok(None),
        };
        command.env(variable, &private.name);
        Ok(Some(private))
    }

    /// A compositor in an X server of ours, with its socket in a directory of ours. Without an X server it would have no
    /// keyboard, which foot asks for.
    fn wayland(scratch: &TempDir) -> Result<Self, String> {
        let program = find_program("weston").ok_or(
            "there is no Wayland display ($WAYLAND_DISPLAY is not set) and no weston to make one",
        )?;
        let screen = Self::x11()?;
        let name = "outpace-wayland";
        let mut server = Command::new(program);
        server
            .args(["--backend=x11-backend.so", "--use-pixman", "--no-config"])
            .args(["--idle-time=0", "--width=4000", "--height=2400"])
            .arg(format!("--socket={name}"))
            .env("DISPLAY", &screen.name)
            .env("XDG_RUNTIME_DIR", scratch.path());
        let server = quiet(&mut server)
            .spawn()
            .map_err(|error| format!("weston: {error}"))?;
        let mut private = Self {
            name: name.to_owned(),
            server,
            _screen: Some(Box::new(screen)),
        };
        let started = Instant::now();
        while !scratch.path().join(name).exists() {
            if started.elapsed() > PATIENCE || !matches!(private.server.try_wait(), Ok(None)) {
                return Err("weston did not start".to_owned());
            }
            if !interrupts::pause(Duration::from_millis(10)) {
                return Err("interrupted".to_owned());
            }
        }
        Ok(private)
    }

    fn x11() -> Result<Self, String> {
        let program = find_program("Xvfb").ok_or(
            "there is no display ($DISPLAY is not set) and no Xvfb; install xvfb, or run it in a desktop session",
        )?;
        let mut server = Command::new(program)
            .args("-displayfd 1 -screen 0 4000x2400x24 -nolisten tcp".split(' '))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("Xvfb: {error}"))?;
        let mut number = String::new();
        // It writes the number of the display when it is ready.
        let read = server
            .stdout
            .take()
            .map(|stdout| BufReader::new(stdout).read_line(&mut number));
        let private = Self {
            name: format!(":{}", number.trim()),
            server,
            _screen: None,
        };
        match read {
            Some(Ok(_)) if !number.trim().is_empty() => Ok(private),
            _ => Err("Xvfb did not start".to_owned()),
        }
    }
}

impl Drop for PrivateDisplay {
    fn drop(&mut self) {
        let asked = Instant::now();
        while matches!(self.server.try_wait(), Ok(None)) && asked.elapsed() < PATIENCE {
            // A server that is asked to end removes its socket and its lock from /tmp. It misses a signal between its check
            // for signals and its wait for events: so the signal is repeated.
            let _ = kill_process(Pid::from_child(&self.server), Signal::TERM);
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
