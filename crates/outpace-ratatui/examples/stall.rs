//! How long calls take while the terminal does not read: each kind of call for half a minute, and leaving in the end.
//! `cargo run --release -p outpace-ratatui --example stall -- 30`
//!
//! `-- 30 400 120` names columns and rows, too.
//!
//! The columns: the longest call; the longest less what its thread waited for a processor (`schedstat`); that of 99.9 % of the calls; the
//! most processor time of one, and that of the one in the middle. Then the slowest call, by the second column. "draw, no terminal" is
//! crossterm's backend that writes into nothing. Of the two without a backend, one takes no cell from ratatui, which leaves the application's
//! picture, and the other takes them, which adds ratatui's comparison. Exits with 1 if a call of ours took 2 ms in the second column, or
//! leaving a second.

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
    use std::hint::black_box;
    use std::io;
    use std::time::{Duration, Instant};

    use crossterm::execute;
    use crossterm::terminal::SetTitle;
    use outpace_ratatui::{Options, OutpaceBackend, Transcript};
    use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
    use ratatui::buffer::Cell;
    use ratatui::layout::{Position, Rect, Size};
    use ratatui::style::{Color, Style};
    use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{Winsize, tcsetwinsize};
    use rustix::time::{ClockId, clock_gettime};

    const LIMIT: Duration = Duration::from_millis(2);
    const LEAVING_LIMIT: Duration = Duration::from_secs(1);
    const CONTROLS: [&str; 3] = ["draw, no terminal", "draw, no backend", "picture alone"];

    /// A terminal that is not read, as long as the first is kept.
    fn terminal((columns, rows): (u16, u16)) -> io::Result<(File, File)> {
        let emulator = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&emulator)?;
        unlockpt(&emulator)?;
        let name = ptsname(&emulator, Vec::new())?;
        let name = name.to_str().map_err(io::Error::other)?;
        let program = File::options().read(true).write(true).open(name)?;
        resize(&program, columns, rows)?;
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

    fn words(path: &str) -> Vec<String> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.split_whitespace().map(String::from).collect()
    }

    fn number(text: Option<&String>) -> u64 {
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// What this thread has used and waited for so far.
    struct Meter {
        /// Waited for a processor (`schedstat`).
        delay: Duration,
        /// Switches to another thread while this one could have gone on (`status`).
        preempted: u64,
        /// Pages of memory that were new to the process (`stat`, the tenth field).
        faults: u64,
        processor: Duration,
        now: Instant,
    }

    fn processor() -> Duration {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }

    impl Meter {
        fn start() -> Self {
            let delay = number(words("/proc/thread-self/schedstat").get(1));
            let status = words("/proc/thread-self/status");
            let mut status = status.iter();
            status.find(|word| *word == "nonvoluntary_ctxt_switches:");
            Self {
                delay: Duration::from_nanos(delay),
                preempted: number(status.next()),
                faults: number(words("/proc/thread-self/stat").get(9)),
                processor: processor(),
                now: Instant::now(),
            }
        }

        fn stop(&self, number: u32) -> Call {
            let (took, processor) = (self.now.elapsed(), processor());
            let after = Self::start();
            Call {
                number,
                took,
                less_delay: took.saturating_sub(after.delay.saturating_sub(self.delay)),
                processor: processor.saturating_sub(self.processor),
                preempted: after.preempted - self.preempted,
                faults: after.faults - self.faults,
            }
        }
    }

    #[derive(Clone, Copy)]
    struct Call {
        number: u32,
        took: Duration,
        less_delay: Duration,
        processor: Duration,
        preempted: u64,
        faults: u64,
    }

    #[derive(Default)]
    struct Clock(BTreeMap<&'static str, Vec<Call>>);

    impl Clock {
        fn time<T>(&mut self, name: &'static str, call: impl FnOnce() -> T) -> T {
            let calls = self.0.entry(name).or_default();
            let meter = Meter::start();
            let result = call();
            calls.push(meter.stop(calls.len() as u32 + 1));
            result
        }
    }

    fn ms(time: Duration) -> f64 {
        time.as_secs_f64() * 1e3
    }

    /// The longest of so many calls in a thousand.
    fn usual(calls: &[Call], of_thousand: usize, time: impl Fn(&Call) -> Duration) -> f64 {
        let mut times: Vec<_> = calls.iter().map(time).collect();
        times.sort_unstable();
        ms(times[(times.len() - 1) * of_thousand / 1000])
    }

    /// A backend that draws nothing. It may take the cells, as ratatui compares a cell when it is taken.
    struct NoBackend {
        takes_cells: bool,
    }

    impl Backend for NoBackend {
        type Error = io::Error;

        fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(
            &mut self,
            content: I,
        ) -> io::Result<()> {
            if self.takes_cells {
                content.for_each(|taken| _ = black_box(taken));
            }
            Ok(())
        }

        fn hide_cursor(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn show_cursor(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn get_cursor_position(&mut self) -> io::Result<Position> {
            Ok(Position::ORIGIN)
        }

        fn set_cursor_position<P: Into<Position>>(&mut self, _: P) -> io::Result<()> {
            Ok(())
        }

        fn clear(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn clear_region(&mut self, _: ClearType) -> io::Result<()> {
            Ok(())
        }

        fn size(&self) -> io::Result<Size> {
            Ok(Size::ZERO)
        }

        fn window_size(&mut self) -> io::Result<WindowSize> {
            Ok(WindowSize {
                columns_rows: Size::ZERO,
                pixels: Size::ZERO,
            })
        }

        #[cfg(feature = "scrolling-regions")]
        fn scroll_region_up(&mut self, _: std::ops::Range<u16>, _: u16) -> io::Result<()> {
            Ok(())
        }

        #[cfg(feature = "scrolling-regions")]
        fn scroll_region_down(&mut self, _: std::ops::Range<u16>, _: u16) -> io::Result<()> {
            Ok(())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// ratatui's terminal over a backend that needs none.
    fn without_terminal<B: Backend>(backend: B, size: (u16, u16)) -> Result<Terminal<B>, B::Error> {
        let viewport = Viewport::Fixed(Rect::new(0, 0, size.0, size.1));
        Terminal::with_options(backend, TerminalOptions { viewport })
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
        let argument = |at| std::env::args().nth(at).and_then(|text| text.parse().ok());
        let seconds = Duration::from_secs(argument(1).unwrap_or(30).into());
        let size = (argument(2).unwrap_or(200), argument(3).unwrap_or(60));
        let (_emulator, program) = terminal(size)?;
        let (_inline_emulator, inline_program) = terminal(size)?;
        let (_talking_emulator, talking_program) = terminal(size)?;
        let (_cooked_emulator, cooked_program) = terminal(size)?;
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
        let mut nowhere = without_terminal(CrosstermBackend::new(io::sink()), size)?;
        let mut compared = without_terminal(NoBackend { takes_cells: true }, size)?;
        let mut alone = without_terminal(NoBackend { takes_cells: false }, size)?;
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
                resize(&program, size.0 - (number / 8 % 2) as u16 * 40, size.1)?;
                clock.time("draw after a resize", || {
                    screen.draw(|frame| picture(frame, number)).map(|_| ())
                })?;
            }
            clock.time("draw, not raw", || {
                cooked.draw(|frame| picture(frame, number)).map(|_| ())
            })?;
            clock.time(CONTROLS[0], || {
                nowhere.draw(|frame| picture(frame, number)).map(|_| ())
            })?;
            clock.time(CONTROLS[1], || {
                compared.draw(|frame| picture(frame, number)).map(|_| ())
            })?;
            clock.time(CONTROLS[2], || {
                alone.draw(|frame| picture(frame, number)).map(|_| ())
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
            "{:22}{:>7}{:>9}{:>9}{:>9}{:>9}{:>9}   slowest: number, wall, processor, preempted, faults",
            "ms", "calls", "wall", "waited-", "99.9 %", "proc.", "middle"
        );
        let mut failed = false;
        for (name, calls) in &clock.0 {
            let limit = match name.starts_with("leaving") {
                true => LEAVING_LIMIT,
                false => LIMIT,
            };
            let longest = |time: fn(&Call) -> Duration| calls.iter().map(time).max();
            let slowest = calls.iter().max_by_key(|call| call.less_delay);
            let slowest = slowest.expect("each kind was called");
            failed |= slowest.less_delay > limit && !CONTROLS.contains(name);
            eprintln!(
                "{name:22}{:>7}{:>9.3}{:>9.3}{:>9.3}{:>9.3}{:>9.3}   {}, {:.3}, {:.3}, {}, {}",
                calls.len(),
                ms(longest(|call| call.took).unwrap_or_default()),
                ms(slowest.less_delay),
                usual(calls, 999, |call| call.less_delay),
                ms(longest(|call| call.processor).unwrap_or_default()),
                usual(calls, 500, |call| call.processor),
                slowest.number,
                ms(slowest.took),
                ms(slowest.processor),
                slowest.preempted,
                slowest.faults,
            );
        }
        std::process::exit(failed.into())
    }
}
