//! Programs without other threads. On a terminal that keeps up such a program draws by itself: the backend starts no thread. Without the
//! usual harness, which has threads.

#[cfg(not(all(target_os = "linux", not(outpace_portable))))]
fn main() {}

#[cfg(all(target_os = "linux", not(outpace_portable)))]
#[path = "support/fill.rs"]
mod fill;
#[cfg(all(target_os = "linux", not(outpace_portable)))]
#[path = "support/pty.rs"]
mod pty;

#[cfg(all(target_os = "linux", not(outpace_portable)))]
fn main() {
    linux::main();
}

#[cfg(all(target_os = "linux", not(outpace_portable)))]
mod linux {
    use std::io::Read;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use outpace_ratatui::OutpaceBackend;
    use ratatui::Terminal;

    /// Says that this executable is to be the program.
    const PROGRAM: &str = "OUTPACE_TEST_PROGRAM";

    pub(super) fn main() {
        match std::env::var(PROGRAM).as_deref() {
            Ok("draws") => return draw(),
            Ok("stalls") => return stall(),
            Ok("stalls beside a thread") => {
                std::thread::spawn(std::thread::park);
                return stall();
            }
            _ => {}
        }
        draws_without_threads();
        for program in ["stalls", "stalls beside a thread"] {
            waits_for_no_terminal_that_has_stalled(program);
        }
    }

    /// A command for this executable as one of the programs.
    fn command(program: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("this executable"));
        command.env(PROGRAM, program).stdin(Stdio::null());
        command
    }

    fn draws_without_threads() {
        let (mut emulator, program) = super::pty::open(60, 10);
        let reader = std::thread::spawn(move || {
            let mut shown = Vec::new();
            // It ends with an error, when no process has the terminal open any more.
            let _ = emulator.read_to_end(&mut shown);
            String::from_utf8_lossy(&shown).into_owned()
        });
        let started = command("draws").stdout(program).spawn();
        let mut child = started.expect("it starts");
        let status = child.wait().expect("it ends");
        let shown = reader.join().expect("it is read");
        assert!(status.success(), "{status}: {shown}");
        assert!(shown.contains("printed 19"), "{shown}");
        let place = |text| shown.find(text).expect(text);
        assert!(place("goodbye") < place("farewell"), "{shown:?}");
    }

    fn waits_for_no_terminal_that_has_stalled(program: &str) {
        let (_emulator, terminal) = super::pty::open(60, 10);
        let mut command = command(program);
        let started = command.stdout(terminal).stderr(Stdio::piped()).spawn();
        let mut child = started.expect("it starts");
        let mut said = child.stderr.take().expect("a pipe");
        let (sender, drawn) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut text = [0; 5];
            sender.send(said.read_exact(&mut text).map(|()| text))
        });
        let drawn = drawn.recv_timeout(Duration::from_secs(60));
        // The text that it has printed would hold up its end.
        child.kill().expect("it has not ended");
        child.wait().expect("it has ended");
        let drawn = drawn.expect("draw does not wait");
        assert_eq!(drawn.expect("no error"), *b"drawn");
    }

    /// Draws a picture, which the terminal takes at once, and then text that was printed and not flushed, and pictures, which it does not take.
    fn stall() {
        let backend = OutpaceBackend::stdout().expect("a terminal");
        let mut terminal = Terminal::new(backend).expect("a terminal");
        let draw = |terminal: &mut Terminal<OutpaceBackend>, text: &str| {
            let drawn = terminal.draw(|frame| frame.render_widget(text, frame.area()));
            drawn.expect("it is drawn");
        };
        draw(&mut terminal, "a picture");
        // On a busy machine the presenter's thread has still to write it, and would hold the lock of standard output for that.
        let shown = terminal.backend_mut().flush_and_wait(None);
        assert!(shown.expect("no error"), "the first picture");
        super::fill::fill_stdout().expect("it stalls");
        print!("printed");
        for number in 0..100 {
            draw(&mut terminal, &format!("picture {number}"));
        }
        eprint!("drawn");
        loop {
            std::thread::park();
        }
    }

    /// Draws small pictures, each behind text that was printed and not flushed.
    fn draw() {
        let backend = OutpaceBackend::stdout().expect("a terminal");
        let mut terminal = Terminal::new(backend).expect("a terminal");
        for number in 0..20 {
            print!("printed {number}");
            let text = format!("picture {number}");
            terminal
                .draw(|frame| frame.render_widget(text.as_str(), frame.area()))
                .expect("it is drawn");
            assert_eq!(threads(), 1, "after picture {number}");
        }
        // Another thread may hold the lock of standard output, so a thread of the backend's takes it from then on.
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || wait.recv());
        print!("goodbye");
        terminal
            .draw(|frame| frame.render_widget("farewell", frame.area()))
            .expect("it is drawn");
        // On a busy machine the lock takes longer than a draw call waits: the presenter's thread then writes the frame.
        assert!((3..=4).contains(&threads()), "beside another thread");
        // Which waits for the text that was printed before. A drop does not.
        let shown = terminal.backend_mut().flush_and_wait(None);
        assert!(shown.expect("no error"), "the last picture");
        drop(terminal);
        drop(done);
        let _ = other.join();
    }

    fn threads() -> usize {
        let tasks = std::fs::read_dir("/proc/self/task").expect("Linux has it");
        tasks.count()
    }
}
