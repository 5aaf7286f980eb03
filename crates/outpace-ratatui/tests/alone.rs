//! A program without other threads, on a terminal that keeps up, draws by itself: the backend starts no thread. Without the usual
//! harness, which has threads.

#[cfg(not(all(target_os = "linux", not(outpace_portable))))]
fn main() {}

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

    use outpace_ratatui::OutpaceBackend;
    use ratatui::Terminal;

    /// Says that this executable is to be the program.
    const PROGRAM: &str = "OUTPACE_TEST_PROGRAM";

    pub(super) fn main() {
        if std::env::var_os(PROGRAM).is_some() {
            return draw();
        }
        let (mut emulator, program) = super::pty::open(60, 10);
        let reader = std::thread::spawn(move || {
            let mut shown = Vec::new();
            // It ends with an error, when no process has the terminal open any more.
            let _ = emulator.read_to_end(&mut shown);
            String::from_utf8_lossy(&shown).into_owned()
        });
        let mut child = Command::new(std::env::current_exe().expect("this executable"))
            .env(PROGRAM, "1")
            .stdin(Stdio::null())
            .stdout(program)
            .spawn()
            .expect("it starts");
        let status = child.wait().expect("it ends");
        let shown = reader.join().expect("it is read");
        assert!(status.success(), "{status}: {shown}");
        assert!(shown.contains("printed 19"), "{shown}");
        let place = |text| shown.find(text).expect(text);
        assert!(place("goodbye") < place("farewell"), "{shown:?}");
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
        drop(terminal);
        drop(done);
        let _ = other.join();
    }

    fn threads() -> usize {
        let tasks = std::fs::read_dir("/proc/self/task").expect("Linux has it");
        tasks.count()
    }
}
