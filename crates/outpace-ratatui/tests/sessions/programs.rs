//! The programs that the tests start on their terminals.

use std::io::{Read, Write};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode};
use crossterm::execute;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use outpace_ratatui::{Options, OutpaceBackend, Transcript};
use ratatui::widgets::Widget;
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::process::{Pid, WaitOptions, getpid, setpgid};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr, tcsetpgrp};

use super::fill::fill_stdout;
use super::{PROGRAM, SHELL, pty};

/// Its terminal reads more slowly than it draws.
pub(crate) const DRAWS_ON: &str = "draws on while another panics";
/// The program `inline`, on a terminal where a key is pressed just when it is asked for its cursor.
pub(crate) const PRESSED_WHILE_ASKED: &str = "inline, a key pressed while it asks";

/// Not a test: the programs, each by its name.
#[test]
fn program() {
    let program = std::env::var(PROGRAM);
    if program.is_ok() && std::env::var_os(SHELL).is_some() {
        // As an interactive shell would have done.
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
        Ok("inline" | PRESSED_WHILE_ASKED) => inline().unwrap(),
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
        Ok("another panics, and reports slowly") => another_reports_slowly(),
        Ok(DRAWS_ON) => draws_on(),
        Ok("editor") => editor().unwrap(),
        Ok("editor by commands") => editor_by_commands().unwrap(),
        Ok("printed before") => printed_before().unwrap(),
        Ok("talks") => match std::panic::catch_unwind(talks) {
            Ok(result) => result.unwrap(),
            Err(_) => std::process::exit(101),
        },
        Ok("talks elsewhere") => talks_elsewhere().unwrap(),
        Ok("talks behind others") => talks_behind_others().unwrap(),
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

/// Takes the terminal over by itself, as most applications do, and in the end clears its picture. The commands go through standard
/// output, or through the backend.
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
    // Until it is killed: at its end std would write the text that is not flushed.
    loop {
        std::thread::park();
    }
}

/// Another thread panics while this one draws. Prints the error of drawing then.
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

/// Another thread panics, whose report takes longer than this one takes to find that it cannot draw, and to end by that.
fn another_reports_slowly() {
    std::panic::set_hook(Box::new(|_| {
        std::thread::sleep(std::time::Duration::from_millis(300));
        println!("the message of the panic");
    }));
    let mut terminal = outpace_ratatui::init();
    let helper = std::thread::spawn(|| panic!("for the hook"));
    while terminal.draw(|_| ()).is_ok() {}
    // It does not wait for the thread.
    drop(helper);
    std::process::exit(0);
}

/// Another thread panics while this one draws large frames without a pause: one is always on its way.
fn draws_on() {
    use ratatui::style::{Color, Style};
    let mut terminal = outpace_ratatui::init();
    let helper = std::thread::spawn(|| {
        std::thread::sleep(Duration::from_millis(100));
        panic!("the message of the panic")
    });
    let mut number = 0_usize;
    let error = loop {
        number += 1;
        let fill = |frame: &mut ratatui::Frame| {
            for (at, position) in frame.area().positions().enumerate() {
                let level = (at * 31 + number * 97) as u8;
                let (near, far) = (Color::Rgb(level, 1, 7), Color::Rgb(7, 3, !level));
                let style = Style::new().fg(near).bg(far);
                frame.buffer_mut()[position]
                    .set_char(char::from(b'a' + level % 26))
                    .set_style(style);
            }
        };
        if let Err(error) = terminal.draw(fill) {
            break error;
        }
    };
    let _ = helper.join();
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

/// Gives the terminal to a child as a program does that was written for ratatui's own `init`: by crossterm's commands on standard output,
/// then through the backend.
fn editor_by_commands() -> std::io::Result<()> {
    let mut terminal = outpace_ratatui::init();
    for number in 0..3 {
        let text = format!("round {number}");
        terminal.draw(|frame| frame.render_widget(text.as_str(), frame.area()))?;
        event::read()?;
        match number {
            0 => execute!(std::io::stdout(), LeaveAlternateScreen)?,
            _ => execute!(terminal.backend_mut(), LeaveAlternateScreen)?,
        }
        disable_raw_mode()?;
        let script = r#"echo child $1; echo reads $1; read line"#;
        Command::new("sh")
            .args(["-c", script, "sh", &number.to_string()])
            .status()?;
        match number {
            0 => execute!(std::io::stdout(), EnterAlternateScreen)?,
            _ => execute!(terminal.backend_mut(), EnterAlternateScreen)?,
        }
        enable_raw_mode()?;
        terminal.clear()?;
    }
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

/// Streams a transcript, with a live region of two rows, and follows the command of each line that is typed.
fn talks() -> std::io::Result<()> {
    // Keys are not echoed, but Ctrl-C is a signal.
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
                    "printf '\\033[?1049hthe editor\\033[?1049l'; echo a child; printf 'without an end'",
                ];
                transcript.suspend(|| Command::new("sh").args(shell).status())??;
                transcript.extend("edited")?;
            }
            signal @ ("TERM" | "TSTP") => {
                let child = format!("printf working...; kill -{signal} $PPID; sleep 0.1");
                transcript.suspend(|| Command::new("sh").args(["-c", &child]).status())??;
            }
            "fork" => {
                let ended_by = child_of_a_fork_ends_itself()?;
                transcript.append(format!("the child was ended by {ended_by}"))?;
            }
            "exit" => return transcript.finish(),
            "leave" => std::process::exit(0),
            _ => transcript.extend("!")?,
        }
    }
    Ok(())
}

/// The signal that has ended a child of a fork, which has sent SIGTERM to itself; 0 if none has.
#[allow(unsafe_code)]
fn child_of_a_fork_ends_itself() -> std::io::Result<i32> {
    // SAFETY: the child calls nothing that is not async-signal-safe.
    let child = unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::raise(libc::SIGTERM);
            libc::_exit(0);
        }
        child
    };
    let ended = rustix::process::waitpid(Pid::from_raw(child), WaitOptions::empty())?;
    let signal = ended.and_then(|(_, status)| status.terminating_signal());
    Ok(signal.unwrap_or(0))
}

/// A transcript behind a text without a newline.
fn talks_behind_others() -> std::io::Result<()> {
    print!("Connecting... ");
    std::io::stdout().flush()?;
    let mut transcript = Transcript::stdout()?;
    transcript.append("line 1")?;
    transcript.live(1, |live| live.render_widget("live", live.area()))?;
    transcript.append("line 2")?;
    transcript.finish()?;
    println!("the end");
    Ok(())
}

/// Streams a transcript with a live region on a terminal of its own, and says which optimisations it has used.
fn talks_elsewhere() -> std::io::Result<()> {
    let (mut emulator, terminal) = pty::open(40, 10);
    let mut transcript = match outpace_ratatui::Transcript::open(&terminal) {
        Ok(transcript) => transcript,
        Err(error) => {
            println!("{error}");
            return Ok(());
        }
    };
    drop(terminal);
    for number in 0..3 {
        transcript.extend(format!("line {number}\n"))?;
        transcript.live(1, |live| live.render_widget("live", live.area()))?;
        transcript.flush_and_wait(None)?;
    }
    transcript.finish()?;
    drop(transcript);
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
    // An error once the terminal is closed.
    while let Ok(read @ 1..) = emulator.read(&mut chunk) {
        bytes.extend_from_slice(&chunk[..read]);
    }
    let text = String::from_utf8_lossy(&bytes);
    let moves = text.contains("\x1b[L");
    let synchronizes = text.contains("\x1b[?2026h");
    println!("moves rows: {moves}, synchronizes: {synchronizes}");
    Ok(())
}

/// Prints many lines, which are still pending when it takes over the terminal.
fn printed_before() -> std::io::Result<()> {
    outpace::stdout().set_buffering(outpace::Buffering::Prompt {
        capacity: outpace::Buffering::BY_DESTINATION,
        max_delay: Duration::from_secs(3600),
    });
    for number in 0..100 {
        writeln!(outpace::stdout(), "line {number}")?;
    }
    outpace_ratatui::run(|terminal| {
        // Lines that still wait would be written now, to a terminal in raw mode.
        outpace::stdout().flush()?;
        terminal.draw(|frame| frame.render_widget("a picture", frame.area()))?;
        event::read().map(|_| ())
    })
}
