//! A shell inside the application, by tui-term: `cargo run --bin terminal`. Keys go to the shell; the end of the shell is the end.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use outpace_ratatui::DefaultTerminal;
use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use ratatui::layout::{Margin, Size};
use ratatui::widgets::Block;
use tui_term::vt100::Parser;
use tui_term::widget::PseudoTerminal;

/// The shell's screen, and whether it has ended.
type Shared = Arc<Mutex<(Parser, bool)>>;

fn main() -> io::Result<()> {
    let pair = native_pty_system()
        .openpty(PtySize::default())
        .map_err(io::Error::other)?;
    let shell = CommandBuilder::new_default_prog();
    let _child = pair.slave.spawn_command(shell).map_err(io::Error::other)?;
    drop(pair.slave);
    let mut output = pair.master.try_clone_reader().map_err(io::Error::other)?;
    let shared = Shared::new(Mutex::new((Parser::new(24, 80, 0), false)));
    let theirs = shared.clone();
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        // Reading fails when the shell has ended.
        while let Ok(length @ 1..) = output.read(&mut bytes) {
            let mut shared = theirs.lock().unwrap_or_else(PoisonError::into_inner);
            shared.0.process(&bytes[..length]);
        }
        theirs.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
    });
    outpace_ratatui::run(|terminal| show(terminal, &*pair.master, &shared))
}

fn show(terminal: &mut DefaultTerminal, master: &dyn MasterPty, shared: &Shared) -> io::Result<()> {
    let mut input = master.take_writer().map_err(io::Error::other)?;
    let mut size = Size::default();
    loop {
        let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if state.1 {
            return Ok(());
        }
        terminal.draw(|frame| {
            let inside = frame.area().inner(Margin::new(1, 1));
            if inside.as_size() != size {
                size = inside.as_size();
                let (rows, cols) = (size.height.max(1), size.width.max(1));
                state.0.screen_mut().set_size(rows, cols);
                // A shell that has ended has no size.
                let _ = master.resize(PtySize {
                    rows,
                    cols,
                    ..PtySize::default()
                });
            }
            frame.render_widget(Block::bordered().title("tui-term"), frame.area());
            frame.render_widget(PseudoTerminal::new(state.0.screen()), inside);
        })?;
        drop(state);
        if event::poll(Duration::from_millis(20))?
            && let Event::Key(key) = event::read()?
        {
            // As above.
            let _ = input.write_all(&bytes(key)).and_then(|()| input.flush());
        }
    }
}

/// The bytes that a terminal sends for a key, for the few keys that this example knows.
fn bytes(key: KeyEvent) -> Vec<u8> {
    match key.code {
        KeyCode::Char(letter) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            vec![letter as u8 & 0x1f]
        }
        KeyCode::Char(letter) => letter.to_string().into_bytes(),
        KeyCode::Enter => b"\r".to_vec(),
        KeyCode::Tab => b"\t".to_vec(),
        KeyCode::Esc => b"\x1b".to_vec(),
        KeyCode::Backspace => b"\x7f".to_vec(),
        KeyCode::Up => b"\x1b[A".to_vec(),
        KeyCode::Down => b"\x1b[B".to_vec(),
        KeyCode::Right => b"\x1b[C".to_vec(),
        KeyCode::Left => b"\x1b[D".to_vec(),
        _ => Vec::new(),
    }
}
