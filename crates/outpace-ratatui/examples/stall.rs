//! How long calls take while the terminal does not read: each kind of call for half a minute, and leaving in the end.
//! `cargo run --release -p outpace-ratatui --example stall -- 30`
//!
//! The times are the caller's; those on the right are less what it waited for a processor (`/proc/thread-self/schedstat`).
//! Exits with 1 if a call took 2 ms of those, or leaving a second.

#[cfg(all(target_os = "linux", not(outpace_portable)))]
fn main() -> std::io::Result<()> {
    linux::main()
}

#[cfg(not(all(target_os = "linux", not(outpace_portable))))]
fn main() {
    eprintln!("this example needs Linux");
}

#[cfg(all(target_os = "linux", not(outpace_portable)))]
mod linux {
    use std::collections::BTreeMap;
    use std::fs::File;
    use std::io;
    use std::time::{Duration, Instant};

    use crossterm::execute;
    use crossterm::terminal::SetTitle;
    use outpace_ratatui::{Options, OutpaceBackend, Transcript};
    use ratatui::backend::Backend;
    use ratatui::style::{Color, Style};
    use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{Winsize, tcsetwinsize};

    const LIMIT: Duration = Duration::from_millis(2);
    const LEAVING_LIMIT: Duration = Duration::from_secs(1);

    /// A terminal that is not read, as long as the first is kept.
    fn terminal() -> io::Result<(File, File)> {
        let emulator = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&emulator)?;
        unlockpt(&emulator)?;
        let name = ptsname(&emulator, Vec::new())?;
        let name = name.to_str().map_err(io::Error::other)?;
        let program = File::options().read(true).write(true).open(name)?;
        resize(&program, 200, 60)?;
        Ok((emulator.into(), program))
    }

    fn resize(program: &File, columns: u16, rows: u16) -> io::Result<()> {
        let size = Winsize {
            ws_col: columns,
            ws_row: rows,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        Ok(tcsetwinsize(program, size)?)
    }

    /// How long this thread has waited for a processor.
    fn delay() -> Duration {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let ns = text.split(' ').nth(1).and_then(|ns| ns.parse().ok());
        Duration::from_nanos(ns.unwrap_or(0))
    }

    #[derive(Default)]
    struct Calls {
        number: u32,
        longest: Duration,
        longest_less_delay: Duration,
    }

    #[derive(Default)]
    struct Clock(BTreeMap<&'static str, Calls>);

    impl Clock {
        fn time<T>(&mut self, name: &'static str, call: impl FnOnce() -> T) -> T {
            let (start, waited) = (Instant::now(), delay());
            let result = call();
            let took = start.elapsed();
            let waited = delay().saturating_sub(waited);
            let calls = self.0.entry(name).or_default();
            calls.number += 1;
            calls.longest = calls.longest.max(took);
            calls.longest_less_delay = calls.longest_less_delay.max(took.saturating_sub(waited));
            result
        }
    }

    /// Draws something else each time.
    fn picture(frame: &mut Frame<'_>, number: u32) {
        for (at, position) in frame.area().positions().enumerate() {
            let level = (at as u32 * 31 + number * 97) as u8;
            let style = Style::new().fg(Color::Rgb(level, number as u8, 7));
            frame.buffer_mut()[position]
                .set_char(char::from(b'a' + level % 26))
                .set_style(style);
        }
    }

    pub(super) fn main() -> io::Result<()> {
        let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok());
        let seconds = Duration::from_secs(seconds.unwrap_or(30));
        let (_emulator, program) = terminal()?;
        let (_inline_emulator, inline_program) = terminal()?;
        let (_talking_emulator, talking_program) = terminal()?;
        let (_cooked_emulator, cooked_program) = terminal()?;
        rustix::stdio::dup2_stdout(&program)?;
        let mut clock = Clock::default();
        let mut screen = outpace_ratatui::try_init()?;
        let mut backend = OutpaceBackend::open(&inline_program, Options::default())?;
        backend.set_cursor_position((0, 0))?;
        let viewport = Viewport::Inline(3);
        let mut inline = Terminal::with_options(backend, TerminalOptions { viewport })?;
        let mut transcript = Transcript::open(&talking_program)?;
        // The other one is in raw mode.
        let mut cooked = Terminal::new(OutpaceBackend::open(&cooked_program, Options::default())?)?;
        let start = Instant::now();
        let mut number = 0;
        while start.elapsed() < seconds {
            number += 1;
            clock.time("draw", || {
                screen.draw(|frame| picture(frame, number)).map(|_| ())
            })?;
            clock.time("command", || {
                execute!(screen.backend_mut(), SetTitle(number))
            })?;
            if number % 8 == 0 {
                clock.time("clear", || screen.clear())?;
                resize(&program, 200 - (number / 8 % 2) as u16 * 40, 60)?;
                clock.time("draw after a resize", || {
                    screen.draw(|frame| picture(frame, number)).map(|_| ())
                })?;
            }
            clock.time("draw, not raw", || {
                cooked.draw(|frame| picture(frame, number)).map(|_| ())
            })?;
            clock.time("command, not raw", || {
                execute!(cooked.backend_mut(), SetTitle(number))
            })?;
            clock.time("insert_before", || {
                inline.insert_before(1, |buffer| {
                    buffer.set_string(0, 0, format!("line {number}"), Style::new());
                })
            })?;
            clock.time("draw, inline", || {
                inline.draw(|frame| picture(frame, number)).map(|_| ())
            })?;
            clock.time("append", || transcript.append(format!("line {number}")))?;
            clock.time("extend", || transcript.extend(" and more"))?;
            clock.time("live", || {
                transcript.live(3, |live| {
                    let text = format!("round {number}");
                    live.buffer_mut().set_string(0, 0, text, Style::new());
                })
            })?;
            std::thread::sleep(Duration::from_millis(16));
        }
        clock.time("leaving", || {
            drop(screen);
            // The error names the output that was given up.
            let _ = outpace_ratatui::try_restore();
        });
        clock.time("leaving, inline", || drop(inline));
        clock.time("leaving, not raw", || drop(cooked));
        clock.time("leaving, transcript", || drop(transcript));
        eprintln!(
            "{:22}{:>8}{:>14}{:>14}",
            "", "calls", "longest", "less delay"
        );
        let mut failed = false;
        for (name, calls) in &clock.0 {
            let limit = match name.starts_with("leaving") {
                true => LEAVING_LIMIT,
                false => LIMIT,
            };
            failed |= calls.longest_less_delay > limit;
            eprintln!(
                "{name:22}{:>8}{:>11.3} ms{:>11.3} ms",
                calls.number,
                calls.longest.as_secs_f64() * 1e3,
                calls.longest_less_delay.as_secs_f64() * 1e3
            );
        }
        std::process::exit(failed.into())
    }
}
