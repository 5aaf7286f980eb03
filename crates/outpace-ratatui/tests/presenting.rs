//! How frames reach a terminal that is slow, stalled, gone, or shared with a shell: on pseudo-terminals.
#![cfg(all(unix, not(outpace_portable)))]

#[path = "support/pty.rs"]
mod pty;

use std::fs::File;
use std::io::Read;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use outpace_ratatui::{Capabilities, Options, OutpaceBackend};
use pty::resize;
use ratatui::Terminal;
use ratatui::backend::Backend;
use ratatui::style::{Color, Style};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

const LONG: Duration = Duration::from_secs(30);

/// A pseudo-terminal: the emulator's end and the program's.
fn terminal() -> (File, File) {
    let (emulator, program) = pty::open(80, 24);
    let mut modes = tcgetattr(&program).unwrap();
    modes.make_raw();
    tcsetattr(&program, OptionalActions::Now, &modes).unwrap();
    (emulator, program)
}

fn options() -> Options {
    Options::default().capabilities(Capabilities::full())
}

/// Fills the screen with something else each time.
fn fill(terminal: &mut Terminal<OutpaceBackend>, number: u32) -> std::io::Result<()> {
    let draw = |frame: &mut ratatui::Frame| {
        let area = frame.area();
        for (at, position) in area.positions().enumerate() {
            let level = (at as u32 * 31 + number * 97) as u8;
            let style = Style::new().fg(Color::Rgb(level, number as u8, 7));
            let letter = char::from(b'a' + (level % 26));
            frame.buffer_mut()[position]
                .set_char(letter)
                .set_style(style);
        }
    };
    terminal.draw(draw).map(|_| ())
}

/// Reads the emulator's end to its end of file, into an emulator of the test's.
fn show(mut emulator: File, width: u16, height: u16) -> mpsc::Receiver<String> {
    let (sender, screens) = mpsc::channel();
    std::thread::spawn(move || {
        let size = |n| std::num::NonZeroU16::new(n).unwrap();
        let mut parser = vt100::Parser::new(size(height), size(width), 100);
        let mut chunk = [0; 4096];
        while let Ok(n @ 1..) = emulator.read(&mut chunk) {
            parser.process(&chunk[..n]);
            if sender.send(parser.screen().contents()).is_err() {
                break;
            }
        }
    });
    screens
}

fn wait_for(screens: &mpsc::Receiver<String>, what: impl Fn(&str) -> bool) -> String {
    let deadline = Instant::now() + LONG;
    let mut last = String::new();
    while let Ok(screen) = screens.recv_timeout(deadline - Instant::now()) {
        if what(&screen) {
            return screen;
        }
        last = screen;
    }
    panic!("never shown; last was:\n{last}");
}

#[test]
fn a_stalled_terminal_does_not_hold_the_application_back() {
    let (emulator, program) = terminal();
    let backend = OutpaceBackend::open(&program, options()).unwrap();
    let mut terminal = Terminal::new(backend).unwrap();
    // The terminal is not read, and 500 screens are far more than it holds: every draw returns.
    for number in 0..500 {
        fill(&mut terminal, number).unwrap();
    }
    let stats = terminal.backend().stats();
    assert_eq!(stats.frames_drawn, 500);
    assert!(stats.frames_skipped > 400, "{stats:?}");
    // Once it is read, the newest frame is shown.
    let screens = show(emulator, 80, 24);
    terminal
        .draw(|frame| frame.render_widget("the newest", frame.area()))
        .unwrap();
    assert!(terminal.backend_mut().flush_and_wait(Some(LONG)).unwrap());
    let screen = wait_for(&screens, |screen| screen.trim() == "the newest");
    assert_eq!(screen.trim(), "the newest");
    let stats = terminal.backend().stats();
    assert_eq!(
        stats.frames_presented + stats.frames_skipped,
        stats.frames_drawn,
        "{stats:?}"
    );
}

#[test]
fn flush_and_wait_gives_up_on_a_stalled_terminal() {
    let (_emulator, program) = terminal();
    let backend = OutpaceBackend::open(&program, options()).unwrap();
    let mut terminal = Terminal::new(backend).unwrap();
    for number in 0..100 {
        fill(&mut terminal, number).unwrap();
    }
    let limit = Some(Duration::from_millis(10));
    assert!(!terminal.backend_mut().flush_and_wait(limit).unwrap());
}

#[test]
fn a_terminal_that_goes_away_is_an_error_and_no_hang() {
    for options in [options(), options().direct()] {
        let (emulator, program) = terminal();
        let backend = OutpaceBackend::open(&program, options).unwrap();
        let mut terminal = Terminal::new(backend).unwrap();
        terminal
            .draw(|frame| frame.render_widget("small enough", frame.area()))
            .unwrap();
        drop(emulator);
        let deadline = Instant::now() + LONG;
        let mut number = 1;
        let error = loop {
            assert!(Instant::now() < deadline, "no error");
            number += 1;
            match fill(&mut terminal, number) {
                Ok(()) => {}
                Err(error) => break error,
            }
        };
        assert!(
            error.to_string().contains("the terminal is gone"),
            "{error}"
        );
        assert!(fill(&mut terminal, 3).is_err(), "and it stays an error");
    }
}

#[test]
fn direct_drawing_skips_no_frame_and_takes_one_write_call_for_each() {
    let (emulator, program) = terminal();
    let screens = show(emulator, 80, 24);
    let backend = OutpaceBackend::open(&program, options().direct()).unwrap();
    let mut terminal = Terminal::new(backend).unwrap();
    for number in 0..50 {
        fill(&mut terminal, number).unwrap();
    }
    let stats = terminal.backend().stats();
    let frames = (stats.frames_presented, stats.frames_skipped);
    assert_eq!((frames, stats.writes), ((50, 0), 50));
    drop(screens);
}

#[test]
fn an_unchanged_frame_writes_nothing() {
    let (emulator, program) = terminal();
    let screens = show(emulator, 80, 24);
    let backend = OutpaceBackend::open(&program, options()).unwrap();
    let mut terminal = Terminal::new(backend).unwrap();
    fill(&mut terminal, 1).unwrap();
    assert!(terminal.backend_mut().flush_and_wait(Some(LONG)).unwrap());
    let before = terminal.backend().stats();
    for _ in 0..20 {
        fill(&mut terminal, 1).unwrap();
    }
    assert!(terminal.backend_mut().flush_and_wait(Some(LONG)).unwrap());
    let after = terminal.backend().stats();
    assert_eq!((before.bytes, before.writes), (after.bytes, after.writes));
    drop(screens);
}

#[test]
fn a_resize_redraws_everything() {
    let (emulator, program) = terminal();
    let screens = show(emulator, 80, 24);
    let backend = OutpaceBackend::open(&program, options()).unwrap();
    let mut terminal = Terminal::new(backend).unwrap();
    fill(&mut terminal, 1).unwrap();
    resize(&program, 60, 20);
    terminal
        .draw(|frame| {
            assert_eq!((frame.area().width, frame.area().height), (60, 20));
            frame.render_widget("after the resize", frame.area());
        })
        .unwrap();
    wait_for(&screens, |screen| screen.trim() == "after the resize");
}

#[test]
fn repaint_brings_back_what_another_program_destroyed() {
    let (emulator, mut program) = terminal();
    let screens = show(emulator, 80, 24);
    let backend = OutpaceBackend::open(&program, options()).unwrap();
    let mut terminal = Terminal::new(backend).unwrap();
    let hello = |frame: &mut ratatui::Frame| frame.render_widget("hello", frame.area());
    terminal.draw(hello).unwrap();
    wait_for(&screens, |screen| screen.trim() == "hello");
    std::io::Write::write_all(&mut program, b"\x1b[Hwrite: message from root").unwrap();
    wait_for(&screens, |screen| screen.contains("root"));
    terminal.backend_mut().repaint();
    terminal.draw(hello).unwrap();
    wait_for(&screens, |screen| screen.trim() == "hello");
}

#[test]
fn a_draw_call_waits_for_a_picture_that_is_staler_than_allowed() {
    let (emulator, program) = terminal();
    let bounded = options().max_lag(Duration::ZERO);
    let backend = OutpaceBackend::open(&program, bounded).unwrap();
    let (sender, drawn) = mpsc::channel();
    let application = std::thread::spawn(move || {
        let mut terminal = Terminal::new(backend).unwrap();
        for number in 0..500 {
            fill(&mut terminal, number).unwrap();
            sender.send(()).unwrap();
        }
        drop(sender);
        assert!(terminal.backend_mut().flush_and_wait(Some(LONG)).unwrap());
        terminal.backend().stats()
    });
    drawn.recv_timeout(LONG).unwrap();
    // The terminal is not read. Without a bound, all frames would be drawn all the same.
    let pause = loop {
        if let Err(pause) = drawn.recv_timeout(Duration::from_millis(200)) {
            break pause;
        }
    };
    assert_eq!(pause, mpsc::RecvTimeoutError::Timeout, "no call has waited");
    let screens = show(emulator, 80, 24);
    drop(program);
    while drawn.recv_timeout(LONG).is_ok() {}
    let stats = application.join().unwrap();
    assert_eq!(stats.frames_presented + stats.frames_skipped, 500);
    drop(screens);
}

#[test]
fn dropping_the_backend_shows_the_cursor_and_resets_the_style() {
    let (mut emulator, program) = terminal();
    let backend = OutpaceBackend::open(&program, options().direct()).unwrap();
    let mut terminal = Terminal::new(backend).unwrap();
    terminal
        .draw(|frame| frame.render_widget("x", frame.area()))
        .unwrap();
    drop((terminal, program));
    let mut shown = Vec::new();
    // It ends with an error, since the other side is closed.
    let _ = emulator.read_to_end(&mut shown);
    assert!(
        shown.ends_with(b"\x1b[m\x1b[?25h"),
        "{:?}",
        String::from_utf8_lossy(&shown)
    );
}

#[test]
fn scrolling_the_terminal_waits_for_the_frames_before() {
    let (emulator, program) = terminal();
    let screens = show(emulator, 80, 24);
    let mut backend = OutpaceBackend::open(&program, options()).unwrap();
    let cell = ratatui::buffer::Cell::new("x");
    backend.set_cursor_position((0, 0)).unwrap();
    backend.clear().unwrap();
    backend.draw([(0, 23, &cell)].into_iter()).unwrap();
    backend.flush().unwrap();
    backend.set_cursor_position((0, 23)).unwrap();
    backend.append_lines(3).unwrap();
    let screen = wait_for(&screens, |screen| screen.matches('\n').count() == 20);
    assert_eq!(screen.trim(), "x");
}

#[test]
fn a_terminal_that_does_not_know_its_size_is_taken_to_have_the_usual_one() {
    let (_emulator, program) = terminal();
    resize(&program, 0, 0);
    let backend = OutpaceBackend::open(&program, options()).unwrap();
    let terminal = Terminal::new(backend).unwrap();
    let size = terminal.size().unwrap();
    assert_eq!((size.width, size.height), (80, 24));
}

#[test]
fn escape_sequences_in_a_cell_reach_the_terminal_however_long_they_are() {
    let (mut emulator, program) = terminal();
    let mut backend = OutpaceBackend::open(&program, options().direct()).unwrap();
    let link = format!("\x1b]8;;https://{}\x07l\x1b]8;;\x07", "a".repeat(200));
    let cell = ratatui::buffer::Cell::default();
    let cell = cell.clone().set_symbol(&link).clone();
    backend.draw([(78, 3, &cell)].into_iter()).unwrap();
    backend.flush().unwrap();
    let mut chunk = [0; 4096];
    let n = emulator.read(&mut chunk).unwrap();
    assert!(String::from_utf8_lossy(&chunk[..n]).contains(&link));
}

/// Does something that must not wait for a terminal, and fails if it does.
fn without_waiting<T: Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (sender, done) = mpsc::channel();
    std::thread::spawn(move || {
        let result = work();
        let _ = sender.send(result);
    });
    done.recv_timeout(LONG)
        .unwrap_or_else(|_| panic!("{what} waits for the terminal"))
}

/// A terminal of which a full screen has been drawn so often that it takes no more bytes.
fn stalled(viewport: ratatui::Viewport) -> (File, File, Terminal<OutpaceBackend>) {
    let (emulator, program) = terminal();
    let mut backend = OutpaceBackend::open(&program, options()).unwrap();
    backend.set_cursor_position((0, 0)).unwrap();
    let options = ratatui::TerminalOptions { viewport };
    let mut terminal = Terminal::with_options(backend, options).unwrap();
    for number in 0..100 {
        fill(&mut terminal, number).unwrap();
    }
    (emulator, program, terminal)
}

/// Reads all that comes, until the terminal is closed, which is an error.
fn reading(mut emulator: File) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        let _ = emulator.read_to_end(&mut all);
        all
    })
}

#[test]
fn no_call_waits_for_a_stalled_terminal() {
    use crossterm::execute;
    use crossterm::terminal::{LeaveAlternateScreen, SetTitle};

    let (emulator, program, terminal) = stalled(ratatui::Viewport::Fullscreen);
    let terminal = without_waiting("a call", move || {
        let mut terminal = terminal;
        terminal.clear().unwrap();
        fill(&mut terminal, 1).unwrap();
        resize(&program, 60, 20);
        fill(&mut terminal, 2).unwrap();
        for number in 0..500 {
            execute!(terminal.backend_mut(), SetTitle(number)).unwrap();
            fill(&mut terminal, number).unwrap();
        }
        terminal.show_cursor().unwrap();
        // This waits for half a second, and says that it was too short.
        let error = execute!(terminal.backend_mut(), LeaveAlternateScreen).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        terminal
    });
    // Once it is read, every command arrives, in order, and the screen is left behind the last frame.
    let reader = reading(emulator);
    drop(terminal);
    let all = reader.join().unwrap();
    let text = String::from_utf8_lossy(&all);
    let titles: Vec<&str> = text
        .split("\x1b]0;")
        .skip(1)
        .map(|rest| rest.split('\x07').next().unwrap())
        .collect();
    let wanted: Vec<String> = (0..500).map(|number| number.to_string()).collect();
    assert_eq!(titles, wanted);
    let after = text.split("\x1b[?1049l").nth(1).expect("left");
    assert!(!after.contains("38;2"), "a frame after leaving: {after:?}");
}

/// Drawing it on the application's thread took longer than any other call while a terminal stalled.
#[test]
fn commands_behind_large_frames_arrive_in_order_and_do_not_draw_the_frames() {
    use crossterm::execute;
    use crossterm::terminal::SetTitle;

    let (emulator, program, mut terminal) = stalled(ratatui::Viewport::Fullscreen);
    resize(&program, 200, 60);
    let before = terminal.backend().stats().frames_presented;
    // Without repetitions, which are sent as such.
    let letters = |number: u32, columns: std::ops::Range<u32>| -> String {
        let letter = |column| b'a' + (column * (number + 3) % 26) as u8;
        columns.map(|column| char::from(letter(column))).collect()
    };
    // More than wait for their commands one by one.
    for number in 0..8 {
        let rows = vec![letters(number, 0..200); 60].join("\n");
        let show = |frame: &mut ratatui::Frame<'_>| frame.render_widget(&*rows, frame.area());
        terminal.draw(show).unwrap();
        execute!(terminal.backend_mut(), SetTitle(number)).unwrap();
    }
    assert_eq!(terminal.backend().stats().frames_presented, before);
    let reader = reading(emulator);
    assert!(terminal.backend_mut().flush_and_wait(Some(LONG)).unwrap());
    drop((terminal, program));
    let all = reader.join().unwrap();
    let text = String::from_utf8_lossy(&all);
    let place = |what: String| text.find(&what).unwrap_or_else(|| panic!("no {what}"));
    let title = |number: u32| place(format!("\x1b]0;{number}\x07"));
    for number in 0..8 {
        let part = letters(number, 1..12);
        let is_drawn = text.contains(&part);
        assert_eq!(is_drawn, number < 4 || number == 7, "{number}");
        if number < 4 {
            assert!(place(part) < title(number));
        }
        assert!(number == 0 || title(number - 1) < title(number));
    }
}

/// `Terminal`'s drop shows the cursor, when the application has left its screen and raw mode.
#[test]
fn a_frame_that_waits_is_not_shown_with_a_cursor_that_is_shown_after_raw_mode() {
    let (mut emulator, program, mut terminal) = stalled(ratatui::Viewport::Fullscreen);
    terminal
        .draw(|frame| frame.render_widget("newest", frame.area()))
        .unwrap();
    let mut modes = tcgetattr(&program).unwrap();
    modes.local_modes |= LocalModes::ICANON | LocalModes::ECHO;
    tcsetattr(&program, OptionalActions::Now, &modes).unwrap();
    terminal.show_cursor().unwrap();
    let reader = std::thread::spawn(move || {
        let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
        // An error once the terminal is closed.
        while let Ok(n @ 1..) = emulator.read(&mut chunk) {
            bytes.extend_from_slice(&chunk[..n]);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    });
    terminal.backend_mut().flush_and_wait(None).unwrap();
    drop((terminal, program));
    let text = reader.join().unwrap();
    assert!(!text.contains("newest"), "it is shown");
    assert!(text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l"));
}

#[test]
fn a_command_that_comes_in_several_writes_arrives_whole() {
    use std::io::Write;

    let (emulator, program, mut terminal) = stalled(ratatui::Viewport::Fullscreen);
    for (number, piece) in ["\x1b]0;ti", "tle\x07", "\x1b[?25;10", "49l"]
        .iter()
        .enumerate()
    {
        fill(&mut terminal, number as u32).unwrap();
        let backend = terminal.backend_mut();
        backend.write_all(piece.as_bytes()).unwrap();
    }
    let reader = reading(emulator);
    // Leaving waits for half a second only, in which a busy machine may not run the reader.
    assert!(terminal.backend_mut().flush_and_wait(Some(LONG)).unwrap());
    drop((terminal, program));
    let all = reader.join().unwrap();
    let text = String::from_utf8_lossy(&all);
    assert!(text.contains("\x1b]0;title\x07"), "{text:?}");
    let after = text.split("\x1b[?25;1049l").nth(1).expect("left");
    assert!(!after.contains("38;2"), "a frame after leaving: {after:?}");
}

#[test]
fn lines_inserted_before_an_inline_viewport_wait_for_no_terminal_and_are_all_there() {
    let (emulator, _program, terminal) = stalled(ratatui::Viewport::Inline(3));
    let mut terminal = without_waiting("insert_before", move || {
        let mut terminal = terminal;
        for number in 0..200 {
            let line = format!("line {number}.");
            terminal
                .insert_before(1, |buffer| {
                    buffer.set_string(0, 0, &line, Style::new());
                })
                .unwrap();
            fill(&mut terminal, number).unwrap();
        }
        terminal
    });
    let parser = std::sync::Arc::new(std::sync::Mutex::new(vt100::Parser::new(
        24.try_into().unwrap(),
        80.try_into().unwrap(),
        1000,
    )));
    let theirs = parser.clone();
    let mut emulator = emulator;
    std::thread::spawn(move || {
        let mut chunk = [0; 4096];
        while let Ok(n @ 1..) = emulator.read(&mut chunk) {
            theirs.lock().unwrap().process(&chunk[..n]);
        }
    });
    assert!(terminal.backend_mut().flush_and_wait(Some(LONG)).unwrap());
    // Not the picture of 5,000 bytes for each line: after a while the application would wait, or the memory be full.
    let bytes = terminal.backend().stats().bytes;
    assert!(bytes < 200_000, "{bytes} bytes");
    let deadline = Instant::now() + LONG;
    loop {
        let mut lines: Vec<String> = Vec::new();
        {
            let mut parser = parser.lock().unwrap();
            // From the oldest line of the scrollback on, a row at a time.
            parser.screen_mut().set_scrollback(1000);
            let kept = parser.screen().scrollback();
            for back in (0..=kept).rev() {
                parser.screen_mut().set_scrollback(back);
                let mut rows = parser.screen().rows(0, 80);
                lines.extend(rows.next());
                if back == 0 {
                    lines.extend(rows);
                }
            }
        }
        let numbers: Vec<u32> = lines
            .iter()
            .filter_map(|line| {
                line.trim_end()
                    .strip_prefix("line ")?
                    .strip_suffix('.')?
                    .parse()
                    .ok()
            })
            .collect();
        if numbers.iter().copied().eq(0..200) {
            return;
        }
        assert!(Instant::now() < deadline, "{numbers:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn leaving_a_stalled_terminal_takes_no_longer_than_a_bounded_time() {
    let (_emulator, _program, terminal) = stalled(ratatui::Viewport::Fullscreen);
    without_waiting("leaving", move || drop(terminal));
}

#[test]
fn a_transcript_waits_for_no_terminal_and_loses_no_line() {
    let (emulator, program) = terminal();
    let mut transcript = outpace_ratatui::Transcript::open(&program).unwrap();
    let mut transcript = without_waiting("a transcript", move || {
        for number in 0..5_000 {
            transcript.append(format!("line {number}.")).unwrap();
            transcript
                .live(2, |live| {
                    let text = format!("status {number}");
                    live.buffer_mut().set_string(0, 0, text, Style::new());
                })
                .unwrap();
        }
        transcript
    });
    assert!(
        transcript.stats().frames_skipped > 4_000,
        "{:?}",
        transcript.stats()
    );
    let reader = reading(emulator);
    transcript.finish().unwrap();
    drop((transcript, program));
    let all = reader.join().unwrap();
    let text = String::from_utf8_lossy(&all);
    let numbers: Vec<u32> = text
        .split("line ")
        .skip(1)
        .map(|rest| rest[..rest.find('.').unwrap()].parse().unwrap())
        .collect();
    assert!(
        numbers.iter().copied().eq(0..5_000),
        "{} lines",
        numbers.len()
    );
    assert!(
        text.ends_with("\x1b[m\r\x1b[K\x1b[C\x1b[J\r\x1b[?25h"),
        "the live region goes"
    );
}
