//! Whole sessions on a pseudo-terminal: taking the terminal over and giving it back, by a process of its own,
//! which is this test executable started again.
#![cfg(all(target_os = "linux", not(outpace_portable)))]

#[path = "support/pty.rs"]
mod pty;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode};
use crossterm::execute;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use outpace_ratatui::{Options, OutpaceBackend};
use ratatui::widgets::Widget;
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, getpid, kill_process, setpgid};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr, tcsetpgrp};

const LONG: Duration = Duration::from_secs(60);
/// Names the program that this executable is to be.
const PROGRAM: &str = "OUTPACE_TEST_PROGRAM";
/// It has been started by a shell, as a job.
const SHELL: &str = "OUTPACE_TEST_SHELL";

/// Not a test: what the tests start on their terminals.
#[test]
fn program() {
    let program = std::env::var(PROGRAM);
    if program.is_ok() && std::env::var_os(SHELL).is_some() {
        // What the shell would have done, which is not interactive.
        let terminal = rustix::stdio::stdin();
        setpgid(None, None).unwrap();
        tcsetpgrp(terminal, getpid()).unwrap();
    }
    match program.as_deref() {
        Ok("keys") => keys().unwrap(),
        Ok("panics") => {
            // Without the harness's own words about it.
            let _ = std::panic::catch_unwind(panics);
            std::process::exit(101);
        }
        Ok("inline") => inline().unwrap(),
        Ok("coloured") => coloured().unwrap(),
        Ok("short") => outpace_ratatui::run(|_| ()),
        Ok("classic") => classic(false).unwrap(),
        Ok("classic with commands") => classic(true).unwrap(),
        Ok("erases without a flush") => erases_without_a_flush(Options::default()).unwrap(),
        Ok("erases without a flush, directly") => {
            erases_without_a_flush(Options::default().direct()).unwrap();
        }
        Ok("prints on a stalled terminal") => prints_on_a_stalled_terminal(false).unwrap(),
        Ok("prints on a stalled terminal and leaves") => {
            prints_on_a_stalled_terminal(true).unwrap();
        }
        Ok("draws while another prints") => draws_while_another_prints().unwrap(),
        Ok("opens on a stalled terminal") => opens_on_a_stalled_terminal(),
        Ok("leaves by stdout") => leaves_by_stdout().unwrap(),
        Ok("another panics") => another_panics(),
        Ok("editor") => editor().unwrap(),
        Ok("printed before") => printed_before().unwrap(),
        Ok("talks") => match std::panic::catch_unwind(talks) {
            Ok(result) => result.unwrap(),
            Err(_) => std::process::exit(101),
        },
        Ok("last words") => last_words().unwrap(),
        Ok(other) => panic!("no program {other}"),
        Err(_) => {}
    }
}

/// Shows its process id and every key; `z` suspends, `q` quits.
fn keys() -> std::io::Result<()> {
    let mut pressed = String::new();
    outpace_ratatui::run(|terminal| {
        loop {
            let size = terminal.size()?;
            let text = format!("pid {} keys [{pressed}] {size}", std::process::id());
            terminal.draw(|frame| frame.render_widget(text.as_str(), frame.area()))?;
            if let Event::Key(key) = event::read()? {
                match key.code {
                    KeyCode::Char('q') => return Ok(()),
                    KeyCode::Char('z') => outpace_ratatui::suspend()?,
                    KeyCode::Char(letter) => pressed.push(letter),
                    other => pressed += &format!("<{other}>"),
                }
            }
        }
    })
}

fn panics() {
    let mut terminal = outpace_ratatui::init();
    let draw = |frame: &mut ratatui::Frame| frame.render_widget("about to panic", frame.area());
    terminal.draw(draw).unwrap();
    event::read().unwrap();
    panic!("the message of the panic");
}

/// Lines above a viewport of two rows, on a terminal of which it has to ask where the cursor is.
fn inline() -> std::io::Result<()> {
    let viewport = Viewport::Inline(2);
    let mut terminal = outpace_ratatui::init_with_options(TerminalOptions { viewport });
    for number in 0..30 {
        let line = format!("line {number}");
        terminal.insert_before(1, |buffer| line.as_str().render(buffer.area, buffer))?;
        let text = format!("viewport {number}");
        terminal.draw(|frame| frame.render_widget(text.as_str(), frame.area()))?;
    }
    event::read()?;
    drop(terminal);
    outpace_ratatui::restore();
    Ok(())
}

/// Shows a word in colours, bold and underlined.
fn coloured() -> std::io::Result<()> {
    use ratatui::style::{Color, Style};

    outpace_ratatui::run(|terminal| {
        let style = Style::new().fg(Color::Red).bg(Color::Rgb(1, 2, 3));
        let text = ratatui::text::Span::styled("word", style.bold().underlined());
        terminal.draw(|frame| frame.render_widget(text, frame.area()))?;
        event::read().map(|_| ())
    })
}

/// Takes the terminal over by itself, as most applications do, and in the end clears what it has drawn. The commands
/// go through standard output, or through the backend.
fn classic(through_backend: bool) -> std::io::Result<()> {
    print!("\x1b[2J\x1b[H$ before\r\n");
    enable_raw_mode()?;
    execute!(std::io::stdout(), EnterAlternateScreen)?;
    let mut terminal = Terminal::new(OutpaceBackend::stdout()?)?;
    for number in 0..2 {
        terminal.clear()?;
        let text = format!("picture {number}");
        terminal.draw(|frame| frame.render_widget(text.as_str(), frame.area()))?;
    }
    event::read()?;
    terminal.clear()?;
    if through_backend {
        execute!(terminal.backend_mut(), LeaveAlternateScreen)?;
    } else {
        terminal.backend_mut().flush_and_wait(None)?;
        execute!(std::io::stdout(), LeaveAlternateScreen)?;
    }
    disable_raw_mode()?;
    terminal.show_cursor()?;
    drop(terminal);
    println!("$ after");
    Ok(())
}

/// Draws while another thread keeps the lock of standard output for as long as the process lives.
fn draws_while_another_prints() -> std::io::Result<()> {
    let mut terminal = Terminal::new(OutpaceBackend::stdout()?)?;
    let (sender, holds) = mpsc::channel();
    std::thread::spawn(move || {
        let _lock = std::io::stdout().lock();
        let _ = sender.send(());
        loop {
            std::thread::park();
        }
    });
    holds.recv().unwrap();
    for number in 0..20 {
        let text = format!("picture {number}");
        terminal.draw(|frame| frame.render_widget(text.as_str(), frame.area()))?;
    }
    // Until it is killed.
    loop {
        std::thread::park();
    }
}

/// Leaves the screen through standard output while frames are on their way.
fn leaves_by_stdout() -> std::io::Result<()> {
    print!("\x1b[2J\x1b[H$ before\r\n");
    enable_raw_mode()?;
    execute!(std::io::stdout(), EnterAlternateScreen)?;
    let mut terminal = Terminal::new(OutpaceBackend::stdout()?)?;
    for number in 0..50_u8 {
        terminal.draw(|frame| {
            let area = frame.area();
            for (at, position) in area.positions().enumerate() {
                let color = ratatui::style::Color::Rgb(at as u8, number, 7);
                let cell = &mut frame.buffer_mut()[position];
                cell.set_char(char::from(b'a' + number.wrapping_add(at as u8) % 26))
                    .set_fg(color);
            }
        })?;
    }
    execute!(std::io::stdout(), LeaveAlternateScreen)?;
    disable_raw_mode()?;
    drop(terminal);
    println!("$ after");
    Ok(())
}

/// Writes to standard output, flushes that after it has drawn, and then draws another word.
fn erases_without_a_flush(options: Options) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    enable_raw_mode()?;
    execute!(out, EnterAlternateScreen)?;
    let mut terminal = Terminal::new(OutpaceBackend::new(options)?)?;
    write!(out, "\x1b[2J")?;
    terminal.draw(|frame| frame.render_widget("a picture", frame.area()))?;
    terminal.backend_mut().flush_and_wait(None)?;
    out.flush()?;
    terminal.draw(|frame| frame.render_widget("a picture, and more", frame.area()))?;
    event::read()?;
    execute!(out, LeaveAlternateScreen)?;
    disable_raw_mode()
}

/// Writes to standard output until the terminal takes no more bytes.
fn fill_stdout() -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;

    let without_waiting = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut filler = File::options()
        .write(true)
        .custom_flags(without_waiting.bits().try_into().unwrap())
        .open("/proc/self/fd/1")?;
    // What was written may still be on its way to where it is read from, and leave room behind.
    let moment = Timespec {
        tv_sec: 0,
        tv_nsec: 300_000_000,
    };
    loop {
        while filler.write(b"#").is_ok() {}
        let mut events = [PollFd::new(&filler, PollFlags::OUT)];
        if poll(&mut events, Some(&moment))? == 0 {
            return Ok(());
        }
    }
}

/// Takes over a terminal that takes no bytes, in each way, draws, and leaves. Says on standard error how far it has got.
fn opens_on_a_stalled_terminal() {
    fill_stdout().unwrap();
    let mut terminal = outpace_ratatui::try_init().unwrap();
    eprintln!("opened");
    for number in 0..100 {
        let text = format!("picture {number}");
        terminal
            .draw(|frame| frame.render_widget(text.as_str(), frame.area()))
            .unwrap();
    }
    eprintln!("drawn");
    drop(terminal);
    let given_up = outpace_ratatui::try_restore().unwrap_err();
    assert!(given_up.to_string().contains("does not read"), "{given_up}");
    eprintln!("left");
    let viewport = Viewport::Inline(2);
    let options = TerminalOptions { viewport };
    let error = outpace_ratatui::try_init_with_options(options).unwrap_err();
    assert!(error.to_string().contains("does not read"), "{error}");
    eprintln!("not opened");
    let transcript = outpace_ratatui::Transcript::stdout().unwrap();
    eprintln!("a transcript");
    drop(transcript);
    eprintln!("no transcript");
    loop {
        std::thread::park();
    }
}

/// Prints without a flush on a terminal that takes no bytes, and then draws. Says on standard error how far it has got.
fn prints_on_a_stalled_terminal(leaves: bool) -> std::io::Result<()> {
    let mut terminal = Terminal::new(OutpaceBackend::stdout()?)?;
    fill_stdout()?;
    print!("printed before");
    for number in 0..100 {
        let text = format!("picture {number}");
        terminal.draw(|frame| frame.render_widget(text.as_str(), frame.area()))?;
    }
    eprintln!("drawn");
    if leaves {
        drop(terminal);
        print!("printed after");
        eprintln!("left");
    } else {
        terminal.backend_mut().flush_and_wait(None)?;
        eprintln!("shown");
    }
    // Until it is killed: at its end std writes what is not flushed.
    loop {
        std::thread::park();
    }
}

/// Another thread panics while this one draws. Says what drawing says then.
fn another_panics() {
    let mut terminal = outpace_ratatui::init();
    let draw = |frame: &mut ratatui::Frame| frame.render_widget("drawn", frame.area());
    terminal.draw(draw).unwrap();
    event::read().unwrap();
    let named = std::thread::Builder::new().name("helper".into());
    let helper = named.spawn(|| panic!("the message of the panic")).unwrap();
    let _ = helper.join();
    let error = terminal.draw(draw).unwrap_err();
    drop(terminal);
    println!("drawing says: {error}");
}

/// Gives the terminal back for another program, and takes it over again, many times.
fn editor() -> std::io::Result<()> {
    let open = || std::fs::read_dir("/proc/self/fd").map(Iterator::count);
    let mut terminal = outpace_ratatui::init();
    let mut first = None;
    for number in 0..20 {
        let text = format!("round {number}");
        terminal.draw(|frame| frame.render_widget(text.as_str(), frame.area()))?;
        outpace_ratatui::restore();
        println!("the editor");
        terminal = outpace_ratatui::try_init()?;
        let more = open()? - *first.get_or_insert(open()?);
        let text = format!("{more} more descriptors after round {number}");
        terminal.draw(|frame| frame.render_widget(text.as_str(), frame.area()))?;
    }
    event::read()?;
    drop(terminal);
    outpace_ratatui::restore();
    Ok(())
}

/// Gives the terminal back while the last picture of an inline viewport may still wait to be shown.
fn last_words() -> std::io::Result<()> {
    let viewport = Viewport::Inline(2);
    let mut terminal = outpace_ratatui::init_with_options(TerminalOptions { viewport });
    for number in 0..2000 {
        let text = format!("picture {number}\n{}", "─".repeat(number % 50));
        terminal.draw(|frame| frame.render_widget(text.as_str(), frame.area()))?;
    }
    outpace_ratatui::restore();
    std::process::exit(0)
}

/// Streams a transcript, with a live region of two rows, and does what the first letter of each line says that is typed.
fn talks() -> std::io::Result<()> {
    // What is typed is not echoed, but Ctrl-C is a signal.
    let mut modes = tcgetattr(rustix::stdio::stdin())?;
    modes.local_modes.remove(LocalModes::ECHO);
    tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &modes)?;
    let mut transcript = outpace_ratatui::Transcript::stdout()?;
    for number in 0..20 {
        transcript.append(format!("line {number}"))?;
    }
    transcript.append("streamed")?;
    transcript.extend(" further")?;
    let mut line = String::new();
    for round in 0.. {
        transcript.live(2, |live| {
            let pid = std::process::id();
            let text = format!("pid {pid} round {round} keys [");
            live.buffer_mut()
                .set_string(0, 0, text, ratatui::style::Style::new());
            live.buffer_mut()
                .set_string(0, 1, "live", ratatui::style::Style::new());
        })?;
        line.clear();
        std::io::stdin().read_line(&mut line)?;
        match line.trim() {
            "panic" => panic!("the message of the panic"),
            "editor" => {
                let shell = [
                    "-c",
                    "printf '\\033[?1049hthe editor\\033[?1049l'; echo a child",
                ];
                transcript.suspend(|| Command::new("sh").args(shell).status())??;
                transcript.extend("edited")?;
            }
            "exit" => return transcript.finish(),
            _ => transcript.extend("!")?,
        }
    }
    Ok(())
}

/// A terminal with a program on it.
struct Session {
    emulator: File,
    program: File,
    screen: Arc<(Mutex<vt100::Parser>, Condvar)>,
    /// What it was asked, and how many keys `k` were pressed at that moment.
    questions: Arc<AtomicUsize>,
    child: Child,
}

/// Prints many lines, which are still pending when it takes over the terminal.
fn printed_before() -> std::io::Result<()> {
    const DELAY: Duration = Duration::from_millis(100);
    let capacity = outpace::Buffering::BY_DESTINATION;
    let (out, max_delay) = (outpace::stdout(), DELAY);
    out.set_buffering(outpace::Buffering::Prompt {
        capacity,
        max_delay,
    });
    for number in 0..100 {
        writeln!(outpace::stdout(), "line {number}")?;
    }
    outpace_ratatui::run(|terminal| {
        std::thread::sleep(2 * DELAY);
        terminal.draw(|frame| frame.render_widget("a picture", frame.area()))?;
        event::read().map(|_| ())
    })
}

fn nonzero(n: u16) -> NonZeroU16 {
    n.try_into().expect("not zero")
}

impl Session {
    /// Starts a program on a terminal that takes so long to answer what it is.
    fn start(program: &str, answers_after: Duration) -> Self {
        Self::start_after("", program, answers_after)
    }

    /// The same, after these keys have been pressed.
    fn start_after(keys: &str, program: &str, answers_after: Duration) -> Self {
        let shell = ["sh", "-c", "\"$@\"; exit $?", "sh"];
        // The job moves itself to the foreground.
        let job = [
            "env",
            // `nohup` or a script may have had them ignored.
            "--default-signal=HUP,INT,QUIT,TERM",
            "--ignore-signal=TTOU",
            "OUTPACE_TEST_SHELL=1",
        ];
        Self::start_by(&[&shell[..], &job].concat(), keys, program, answers_after)
    }

    /// The same, by a command whose arguments end with the program's.
    fn start_by(launcher: &[&str], keys: &str, program: &str, answers_after: Duration) -> Self {
        let this = std::env::current_exe().unwrap();
        Self::start_file(&this, launcher, keys, program, answers_after)
    }

    /// The same, of another file that is as this executable.
    fn start_file(
        file: &Path,
        launcher: &[&str],
        keys: &str,
        program: &str,
        answers_after: Duration,
    ) -> Self {
        let (mut emulator, theirs) = pty::open(60, 10);
        emulator.write_all(keys.as_bytes()).unwrap();
        let side = || Stdio::from(theirs.try_clone().unwrap());
        let child = Command::new("setsid")
            .args(["--ctty", "--wait"])
            .args(launcher)
            .arg(file)
            .args(["program", "--exact", "--nocapture", "--quiet"])
            .env(PROGRAM, program)
            .env("TERM", "xterm-256color")
            .env("RUST_BACKTRACE", "0")
            .env_remove("TMUX")
            .env_remove("ZELLIJ")
            .env_remove("OUTPACE_DRAW_OFF")
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn()
            .expect("setsid, of util-linux, is installed");
        let screen = Arc::new((
            Mutex::new(vt100::Parser::new(nonzero(10), nonzero(60), 1000)),
            Condvar::new(),
        ));
        let (ours, theirs_too) = (emulator.try_clone().unwrap(), screen.clone());
        let questions = Arc::new(AtomicUsize::new(0));
        let (asked, types) = (questions.clone(), program == "keys");
        std::thread::spawn(move || emulate(ours, &theirs_too, answers_after, &asked, types));
        Self {
            emulator,
            program: theirs,
            screen,
            questions,
            child,
        }
    }

    fn press(&mut self, keys: &str) {
        self.emulator.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the screen is as it should be, and gives its text.
    fn wait(&self, what: &str, holds: impl Fn(&vt100::Screen) -> bool) -> String {
        let (screen, changed) = &*self.screen;
        let start = Instant::now();
        let mut now = screen.lock().unwrap();
        loop {
            if holds(now.screen()) {
                return now.screen().contents();
            }
            assert!(
                start.elapsed() < LONG,
                "never {what}; the screen:\n{}",
                now.screen().contents()
            );
            let step = Duration::from_millis(50);
            now = changed.wait_timeout(now, step).unwrap().0;
        }
    }

    fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contents().contains(text))
    }

    /// The process id that the program `keys` shows.
    fn pid(&self) -> Pid {
        let shown = self.wait_for(" keys [");
        let number = shown.split("pid ").nth(1).unwrap();
        let number = number.split(' ').next().unwrap();
        Pid::from_raw(number.parse().unwrap()).unwrap()
    }

    fn is_raw(&self) -> bool {
        let modes = tcgetattr(&self.program).unwrap().local_modes;
        !modes.intersects(LocalModes::ICANON | LocalModes::ECHO)
    }

    fn wait_until(&self, what: &str, holds: impl Fn() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < LONG, "never {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn wait_for_end(&mut self) {
        let start = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < LONG, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The terminal as a shell wants it.
    fn assert_given_back(&self) {
        self.wait("given back", |screen| {
            !screen.alternate_screen() && !screen.hide_cursor()
        });
        assert!(!self.is_raw(), "still raw");
    }

    /// What a shell would read now.
    fn unread(&self) -> u64 {
        rustix::io::ioctl_fionread(&self.program).unwrap()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Shows what is written, and answers where the cursor is and, after a while, what it is.
fn emulate(
    mut terminal: File,
    screen: &(Mutex<vt100::Parser>, Condvar),
    answers_after: Duration,
    questions: &AtomicUsize,
    types: bool,
) {
    let (screen, changed) = screen;
    let mut chunk = [0; 65536];
    let mut written = Vec::new();
    loop {
        let read = terminal.read(&mut chunk).unwrap_or(0);
        if read == 0 {
            return;
        }
        for byte in &chunk[..read] {
            let mut now = screen.lock().unwrap();
            now.process(&[*byte]);
            let (row, column) = now.screen().cursor_position();
            drop(now);
            written.push(*byte);
            if types && (written.ends_with(b"\x1b[6n") || written.ends_with(b"\x1b[c")) {
                // Somebody types just then.
                questions.fetch_add(1, Ordering::Release);
                terminal.write_all(b"k").unwrap();
            }
            if written.ends_with(b"\x1b[6n") {
                let answer = format!("\x1b[{};{}R", row + 1, column + 1);
                terminal.write_all(answer.as_bytes()).unwrap();
            } else if written.ends_with(b"\x1b[c") {
                std::thread::sleep(answers_after);
                let answer = b"\x1b[?1049;1$y\x1b[?2026;2$y\x1b[?62;22c";
                terminal.write_all(answer).unwrap();
            }
        }
        // The beginning of a question may be the end of what was read.
        written.drain(..written.len().saturating_sub(8));
        changed.notify_all();
    }
}

#[test]
fn a_session_takes_the_terminal_over_and_gives_it_back() {
    let mut session = Session::start("keys", Duration::ZERO);
    session.pid();
    session.wait("the alternate screen", vt100::Screen::alternate_screen);
    assert!(session.is_raw());
    session.press("ab");
    session.wait_for("[ab]");
    session.press("q");
    session.wait_for_end();
    session.assert_given_back();
}

#[test]
fn a_stop_from_outside_gives_the_terminal_back_and_going_on_draws_again() {
    let mut session = Session::start("keys", Duration::ZERO);
    let pid = session.pid();
    stops_and_goes_on(&mut session, pid, |_| {
        kill_process(pid, Signal::TSTP).unwrap()
    });
}

#[test]
fn suspending_gives_the_terminal_back_and_going_on_draws_again() {
    let mut session = Session::start("keys", Duration::ZERO);
    let pid = session.pid();
    stops_and_goes_on(&mut session, pid, |session| session.press("z"));
}

#[test]
fn without_a_shell_to_go_on_by_nothing_stops_and_everything_is_drawn_again() {
    let mut session = Session::start_by(&[], "", "keys", Duration::ZERO);
    let pid = session.pid();
    for (stop, round) in [(false, 'a'), (true, 'b'), (false, 'c')] {
        // Destroyed, to see that it is drawn again.
        write!(&session.program, "\x1b[H\x1b[Jnothing").unwrap();
        session.wait_for("nothing");
        if stop {
            kill_process(pid, Signal::TSTP).unwrap();
        } else {
            session.press("z");
        }
        session.wait_for("keys [");
        session.wait_until("raw", || session.is_raw());
        session.press(&round.to_string());
        session.wait_for(&format!("{round}]"));
    }
    session.press("q");
    session.wait_for_end();
    session.assert_given_back();
}

fn stops_and_goes_on(session: &mut Session, pid: Pid, stop: impl Fn(&mut Session)) {
    session.press("a");
    session.wait_for("[a]");
    let stat = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let state = || {
        let stat = std::fs::read_to_string(&stat).unwrap();
        stat.rsplit(") ").next().unwrap().chars().next().unwrap()
    };
    for round in 0..2 {
        stop(session);
        session.wait_until("stopped", || state() == 'T');
        session.assert_given_back();
        // Meanwhile a shell writes.
        write!(&session.program, "\x1b[H\x1b[Jthe shell {round}\r\n").unwrap();
        session.wait_for(&format!("the shell {round}"));
        kill_process(pid, Signal::CONT).unwrap();
        session.wait_for("[a]");
        session.wait("the alternate screen", vt100::Screen::alternate_screen);
        session.wait_until("raw", || session.is_raw());
    }
    session.press("b");
    session.wait_for("[ab]");
    session.press("q");
    session.wait_for_end();
    session.assert_given_back();
}

#[test]
fn a_panic_gives_the_terminal_back_and_its_message_can_be_read() {
    let mut session = Session::start("panics", Duration::ZERO);
    session.wait_for("about to panic");
    assert!(session.is_raw());
    session.press("x");
    session.wait_for_end();
    let screen = session.wait_for("the message of the panic");
    session.assert_given_back();
    let line = screen
        .lines()
        .find(|line| line.contains("the message of the panic"));
    assert_eq!(
        line.map(str::trim_end),
        Some("the message of the panic"),
        "{screen}"
    );
}

#[test]
fn keys_pressed_while_the_terminal_is_asked_are_not_lost() {
    for delay in [0, 400] {
        let mut session = Session::start("keys", Duration::from_millis(delay));
        session.pid();
        session.press("a");
        session.wait_for("a]");
        let typed = "k".repeat(session.questions.load(Ordering::Acquire));
        session.wait_for(&format!("keys [{typed}a]"));
        session.press("q");
        session.wait_for_end();
        assert_eq!(session.unread(), 0, "left for the shell");
    }
}

#[test]
fn a_new_size_is_drawn_while_frames_are_on_their_way() {
    let mut session = Session::start("keys", Duration::ZERO);
    session.pid();
    // Who has read a key is told of changes of size, too.
    session.press("a");
    session.wait_for("keys [a]");
    for (columns, rows) in [(50, 8), (70, 12), (60, 10)] {
        {
            let (screen, _) = &*session.screen;
            let mut now = screen.lock().unwrap();
            now.screen_mut().set_size(nonzero(rows), nonzero(columns));
        }
        pty::resize(&session.program, columns, rows);
        session.wait_for(&format!("{columns}x{rows}"));
    }
}

#[test]
fn lines_inserted_above_an_inline_viewport_are_all_there_in_order() {
    let mut session = Session::start("inline", Duration::ZERO);
    session.wait_for("viewport 29");
    let screen = session.wait_for("line 29");
    let numbers: Vec<u32> = screen
        .lines()
        .filter_map(|line| line.trim().strip_prefix("line ")?.parse().ok())
        .collect();
    let last: Vec<u32> = (30 - numbers.len() as u32..30).collect();
    assert!(numbers.len() >= 7, "{screen}");
    assert_eq!(numbers, last, "{screen}");
    session.press("x");
    session.wait_for_end();
    session.assert_given_back();
}

#[test]
fn keys_pressed_ahead_are_not_lost() {
    let mut session = Session::start_after("ab", "keys", Duration::ZERO);
    session.wait_for("keys [ab]");
    session.press("cq");
    session.wait_for_end();
    session.assert_given_back();
}

#[test]
fn the_terminal_can_be_given_to_an_editor_again_and_again() {
    let mut session = Session::start("editor", Duration::ZERO);
    session.wait_for("0 more descriptors after round 19");
    session.press("x");
    session.wait_for_end();
    session.assert_given_back();
}

#[test]
fn an_application_that_leaves_its_screen_by_itself_leaves_the_shell_as_it_was() {
    for program in ["classic", "classic with commands"] {
        let mut session = Session::start(program, Duration::ZERO);
        session.wait_for("picture 1");
        session.press("x");
        session.wait_for_end();
        let screen = session.wait_for("$ after");
        session.assert_given_back();
        let lines: Vec<_> = screen.lines().map(str::trim_end).collect();
        assert_eq!(&lines[..2], ["$ before", "$ after"], "{program}: {screen}");
    }
}

#[test]
fn what_was_written_before_a_frame_and_not_flushed_comes_before_it() {
    for program in ["erases without a flush", "erases without a flush, directly"] {
        let mut session = Session::start(program, Duration::ZERO);
        let screen = session.wait_for("more");
        assert!(
            screen.contains("a picture, and more"),
            "{program}: {screen}"
        );
        session.press("x");
        session.wait_for_end();
    }
}

#[test]
fn frames_are_shown_though_another_thread_keeps_standard_output_to_itself() {
    let session = Session::start("draws while another prints", Duration::ZERO);
    session.wait_for("picture 19");
}

/// Starts a program whose standard output is a terminal that nobody reads. What it says on standard error is received line by line.
fn start_on_a_stalled_terminal(program: &str) -> (File, Killed, mpsc::Receiver<String>) {
    let (emulator, theirs) = pty::open(60, 10);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["program", "--exact", "--nocapture", "--quiet"])
        .env(PROGRAM, program)
        .env("TERM", "xterm-256color")
        .stdin(Stdio::null())
        .stdout(theirs)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stderr.take().unwrap());
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let mut lines = said.lines().map_while(Result::ok);
        lines.all(|line| sender.send(line).is_ok())
    });
    (emulator, Killed(child), lines)
}

/// A process that does not end by itself.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_was_not_flushed_holds_up_no_call_on_a_stalled_terminal() {
    let program = "prints on a stalled terminal and leaves";
    let (_emulator, _child, said) = start_on_a_stalled_terminal(program);
    for step in ["drawn", "left"] {
        assert_eq!(said.recv_timeout(LONG).as_deref(), Ok(step));
    }
}

#[test]
fn opening_waits_for_no_stalled_terminal() {
    let (_emulator, _child, said) = start_on_a_stalled_terminal("opens on a stalled terminal");
    let steps = [
        "opened",
        "drawn",
        "left",
        "not opened",
        "a transcript",
        "no transcript",
    ];
    for step in steps {
        assert_eq!(said.recv_timeout(LONG).as_deref(), Ok(step));
    }
}

#[test]
fn what_was_not_flushed_comes_before_the_frame_once_a_stalled_terminal_reads() {
    let (mut emulator, child, said) = start_on_a_stalled_terminal("prints on a stalled terminal");
    assert_eq!(said.recv_timeout(LONG).as_deref(), Ok("drawn"));
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        // An error once the program has ended.
        let _ = emulator.read_to_end(&mut all);
        String::from_utf8(all).unwrap()
    });
    assert_eq!(said.recv_timeout(LONG).as_deref(), Ok("shown"));
    drop(child);
    let all = reader.join().unwrap();
    let at = |text| all.find(text).unwrap_or_else(|| panic!("no {text}: {all}"));
    assert!(at("printed before") < at("picture"), "{all}");
}

#[test]
fn what_was_printed_before_a_session_has_the_lines_that_it_had() {
    let mut session = Session::start("printed before", Duration::ZERO);
    session.wait_for("a picture");
    session.press("x");
    session.wait_for_end();
    let screen = session.wait_for("line 99");
    session.assert_given_back();
    let numbers = screen.lines().filter(|line| line.starts_with("line "));
    let expected = (0..100).map(|number| format!("line {number}"));
    let expected: Vec<_> = expected.skip(100 - numbers.clone().count()).collect();
    assert!(expected.len() >= 5, "{screen}");
    assert_eq!(numbers.collect::<Vec<_>>(), expected, "{screen}");
}

/// A file that is removed.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_set_user_id_program_writes_no_file_that_its_environment_names() {
    use std::os::unix::fs::{PermissionsExt, chown};
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can give a program the rights of root");
    }
    let name = |what| format!("outpace-test-{what}-{}", std::process::id());
    let program = Temporary(std::env::temp_dir().join(name("privileged")));
    let report = Temporary(std::env::temp_dir().join(name("report")));
    let named = format!("OUTPACE_DRAW_REPORT={}", report.0.display());
    std::fs::copy(std::env::current_exe().unwrap(), &program.0).unwrap();
    // Nobody else may start it in the meantime.
    chown(&program.0, None, Some(65534)).unwrap();
    std::fs::set_permissions(&program.0, PermissionsExt::from_mode(0o4710)).unwrap();
    let nobody = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let root = ["env"];
    for (user, is_written) in [(&nobody[..], false), (&root[..], true)] {
        let launcher = [&["env", &named], user].concat();
        let mut session = Session::start_file(&program.0, &launcher, "", "short", Duration::ZERO);
        session.wait_for_end();
        assert_eq!(report.0.exists(), is_written, "{user:?}");
    }
}

#[test]
fn the_last_picture_is_shown_before_the_terminal_is_given_back() {
    let mut session = Session::start("last words", Duration::ZERO);
    session.wait_for_end();
    session.wait_for("picture 1999");
    session.assert_given_back();
}

#[test]
fn the_script_is_the_example_with_a_manifest() {
    let example = include_str!("../examples/simple.rs");
    let script = include_str!("../scripts/simple.rs");
    let code = |text: &'static str| text.lines().skip_while(|line| !line.starts_with("use "));
    assert!(code(example).eq(code(script)), "they differ");
    assert!(example.lines().count() < 50, "an example is short");
}

#[test]
fn no_color_takes_the_colours_and_leaves_the_attributes() {
    let off = (vt100::Color::Default, vt100::Color::Default);
    let on = (vt100::Color::Idx(1), vt100::Color::Rgb(1, 2, 3));
    for (variable, colors) in [("NO_COLOR=1", off), ("NO_COLOR=", on)] {
        let mut session = Session::start_by(&["env", variable], "", "coloured", Duration::ZERO);
        session.wait_for("word");
        session.wait("styled", |screen| {
            let cell = screen.cell(0, 0).unwrap();
            cell.bold() && cell.underline() && (cell.fgcolor(), cell.bgcolor()) == colors
        });
        session.press("x");
        session.wait_for_end();
    }
}

#[test]
fn frames_on_their_way_never_land_on_the_screen_that_comes_after_theirs() {
    for _ in 0..3 {
        let mut session = Session::start("leaves by stdout", Duration::ZERO);
        session.wait_for_end();
        let screen = session.wait_for("$ after");
        session.assert_given_back();
        let lines: Vec<_> = screen.lines().map(str::trim_end).collect();
        assert_eq!(lines[..2], ["$ before", "$ after"], "{screen}");
        assert!(!screen.contains("abcdef"), "{screen}");
    }
}

#[test]
fn a_panic_in_another_thread_gives_the_terminal_back_and_drawing_says_so() {
    let mut session = Session::start("another panics", Duration::ZERO);
    session.wait_for("drawn");
    session.press("x");
    session.wait_for_end();
    let screen = session.wait_for("drawing says:");
    session.assert_given_back();
    assert!(screen.contains("the message of the panic"), "{screen}");
    assert!(screen.contains("`helper` panicked"), "{screen}");
}

#[test]
fn a_transcript_stays_as_text_with_the_shell_below_however_its_program_ends() {
    for (how, message) in [
        ("exit\n", None),
        ("panic\n", Some("the message of the panic")),
        ("\x03", None),
        ("\x1c", None),
        ("TERM", None),
        ("HUP", None),
        ("KILL", None),
    ] {
        let mut session = Session::start("talks", Duration::ZERO);
        let pid = session.pid();
        session.wait("printed", |screen| {
            screen.contents().contains("streamed further")
        });
        match how {
            "TERM" => kill_process(pid, Signal::TERM).unwrap(),
            "HUP" => kill_process(pid, Signal::HUP).unwrap(),
            "KILL" => {
                // The line has not been extended for a while.
                let below = |screen: &vt100::Screen| screen.cursor_position().0 == 8;
                session.wait("below the last line", below);
                kill_process(pid, Signal::KILL).unwrap();
            }
            keys => session.press(keys),
        }
        session.wait_for_end();
        // What a shell would write.
        write!(&session.program, "\r\x1b[J$ prompt").unwrap();
        let screen = session.wait_for("$ prompt");
        if how != "KILL" {
            session.wait("shown", |screen| !screen.hide_cursor());
        }
        let lines: Vec<&str> = screen.lines().map(str::trim_end).collect();
        let said: Vec<&str> = lines
            .iter()
            .copied()
            .filter(|line| line.contains("message of"))
            .collect();
        assert_eq!(
            said.len(),
            usize::from(message.is_some()),
            "{how:?}: {screen}"
        );
        let rest: Vec<String> = lines
            .iter()
            .filter(|line| {
                line.starts_with("line") || line.starts_with("streamed") || line.starts_with('$')
            })
            .map(|line| (*line).to_owned())
            .collect();
        assert_eq!(
            rest.last().map(String::as_str),
            Some("$ prompt"),
            "{how:?}: {screen}"
        );
        assert_eq!(
            rest[rest.len() - 2],
            "streamed further",
            "{how:?}: {screen}"
        );
        let left = screen.contains("keys [");
        assert_eq!(
            left,
            how == "KILL",
            "the live region after {how:?}: {screen}"
        );
    }
}

#[test]
fn a_transcript_stops_and_goes_on() {
    let mut session = Session::start("talks", Duration::ZERO);
    let pid = session.pid();
    let stat = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let state = || {
        let stat = std::fs::read_to_string(&stat).unwrap();
        stat.rsplit(") ").next().unwrap().chars().next().unwrap()
    };
    for round in 0..2 {
        session.press("\x1a");
        session.wait_until("stopped", || state() == 'T');
        let screen = session.wait("given back", |screen| {
            !screen.hide_cursor() && !screen.contents().contains("keys [")
        });
        assert!(screen.contains("streamed further"), "{screen}");
        write!(&session.program, "the shell {round}\r\n").unwrap();
        kill_process(pid, Signal::CONT).unwrap();
        session.wait("shown again", |screen| {
            screen.hide_cursor() && screen.contents().contains("keys [")
        });
        session.wait_until("running", || state() != 'T');
    }
    session.press("exit\n");
    session.wait_for_end();
    let screen = session.wait("given back", |screen| !screen.hide_cursor());
    assert!(
        screen.contains("the shell 0") && screen.contains("the shell 1"),
        "{screen}"
    );
    assert!(!screen.contains("keys ["), "{screen}");
}

#[test]
fn what_an_editor_and_a_child_print_comes_between_the_lines_of_a_transcript() {
    let mut session = Session::start("talks", Duration::ZERO);
    session.pid();
    session.press("editor\n");
    session.wait_for("edited");
    session.wait_for("round 1 ");
    session.press("exit\n");
    session.wait_for_end();
    let screen = session.wait("given back", |screen| !screen.hide_cursor());
    let lines: Vec<&str> = screen.lines().map(str::trim_end).collect();
    let at = |text: &str| {
        lines
            .iter()
            .position(|line| *line == text)
            .unwrap_or_else(|| panic!("no {text}: {screen}"))
    };
    assert!(
        at("streamed further") < at("a child") && at("a child") < at("edited"),
        "{screen}"
    );
    assert!(
        !screen.contains("the editor") && !screen.contains("keys ["),
        "{screen}"
    );
}
