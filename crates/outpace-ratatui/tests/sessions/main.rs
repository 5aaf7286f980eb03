//! Whole sessions on a pseudo-terminal: taking the terminal over and giving it back, by a process of its own,
//! which is this test executable started again.
#![cfg(all(target_os = "linux", not(outpace_portable)))]

#[path = "../support/fill.rs"]
mod fill;
mod programs;
#[path = "../support/pty.rs"]
mod pty;
mod session;
mod stalled;
mod transcript;

use std::io::Write;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use session::{Session, is_stopped};

const LONG: Duration = Duration::from_secs(60);
/// Names the program that this executable is to be.
const PROGRAM: &str = "OUTPACE_TEST_PROGRAM";
/// Has this executable be a program.
const PROGRAMS: [&str; 4] = ["programs::program", "--exact", "--nocapture", "--quiet"];
/// Says that it has been started by a shell, as a job.
const SHELL: &str = "OUTPACE_TEST_SHELL";

fn nonzero(n: u16) -> NonZeroU16 {
    n.try_into().expect("not zero")
}

#[test]
fn a_session_takes_the_terminal_over_and_gives_it_back() {
    let mut session = Session::start("keys");
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
    let mut session = Session::start("keys");
    let pid = session.pid();
    stops_and_goes_on(&mut session, pid, |_| {
        kill_process(pid, Signal::TSTP).unwrap()
    });
}

#[test]
fn suspending_gives_the_terminal_back_and_going_on_draws_again() {
    let mut session = Session::start("keys");
    let pid = session.pid();
    stops_and_goes_on(&mut session, pid, |session| session.press("z"));
}

#[test]
fn without_a_shell_to_go_on_by_nothing_stops_and_everything_is_drawn_again() {
    let mut session = Session::start_by(&[], "", "keys");
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
    for round in 0..2 {
        stop(session);
        session.wait_until("stopped", || is_stopped(pid));
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
    let mut session = Session::start("panics");
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
fn a_key_pressed_while_the_terminal_is_asked_for_its_cursor_is_not_lost() {
    let mut session = Session::start(programs::PRESSED_WHILE_ASKED);
    // It ends by that key, which the emulator presses.
    session.wait_for_end();
    assert!(session.questions() > 0, "it was not asked");
    session.wait_for("line 29");
    session.assert_given_back();
}

#[test]
fn a_fullscreen_application_asks_its_terminal_for_nothing_that_could_take_keys() {
    let mut session = Session::start("keys");
    session.press("a");
    session.wait_for("keys [a]");
    session.press("q");
    session.wait_for_end();
    assert_eq!((session.questions(), session.unread()), (0, 0));
}

#[test]
fn a_new_size_is_drawn_while_frames_are_on_their_way() {
    let mut session = Session::start("keys");
    session.pid();
    // A program that has read a key is told of changes of size, too.
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
    let mut session = Session::start("inline");
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
    let mut session = Session::start_after("ab", "keys");
    session.wait_for("keys [ab]");
    session.press("cq");
    session.wait_for_end();
    session.assert_given_back();
}

#[test]
fn the_terminal_can_be_given_to_an_editor_again_and_again() {
    let mut session = Session::start("editor");
    session.wait_for("0 more descriptors after round 19");
    session.press("x");
    session.wait_for_end();
    session.assert_given_back();
}

#[test]
fn a_child_has_the_terminal_as_a_shell_does_between_commands_of_crossterm() {
    let mut session = Session::start("editor by commands");
    for number in 0..3 {
        session.wait_for(&format!("round {number}"));
        session.wait("the alternate screen", vt100::Screen::alternate_screen);
        session.wait_until("raw", || session.is_raw());
        session.press("x");
        let reads = format!("reads {number}");
        let screen = session.wait_for(&reads);
        assert!(!session.is_raw(), "round {number}");
        let lines: Vec<_> = screen.lines().map(str::trim_end).collect();
        let child = format!("child {number}");
        let at = lines.iter().position(|line| *line == child);
        let at = at.unwrap_or_else(|| panic!("no {child}: {screen}"));
        assert_eq!(lines[at + 1], reads, "{screen}");
        // Deletes its last letter, and is echoed.
        session.press(&format!("typed {number}!\x7f"));
        let typed = format!("typed {number}");
        session.wait("echoed", |screen| {
            let contents = screen.contents();
            contents.lines().any(|line| line.trim_end() == typed)
        });
        session.press("\r");
    }
    session.wait_for_end();
    session.assert_given_back();
}

#[test]
fn an_application_that_leaves_its_screen_by_itself_leaves_the_shell_as_it_was() {
    for program in ["classic", "classic with commands"] {
        let mut session = Session::start(program);
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
        let mut session = Session::start(program);
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
    let session = Session::start("draws while another prints");
    session.wait_for("picture 19");
}

#[test]
fn what_was_printed_before_a_session_has_the_lines_that_it_had() {
    let mut session = Session::start("printed before");
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
    // No other user may start it in the meantime.
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
        let mut session = Session::start_file(&program.0, &launcher, "", "short");
        session.wait_for_end();
        assert_eq!(report.0.exists(), is_written, "{user:?}");
    }
}

#[test]
fn the_last_picture_is_shown_before_the_terminal_is_given_back() {
    let mut session = Session::start("last words");
    session.wait_for_end();
    session.wait_for("picture 1999");
    session.assert_given_back();
}

#[test]
fn the_script_is_the_example_with_a_manifest() {
    let example = include_str!("../../examples/simple.rs");
    let script = include_str!("../../scripts/simple.rs");
    let code = |text: &'static str| text.lines().skip_while(|line| !line.starts_with("use "));
    assert!(code(example).eq(code(script)), "they differ");
    assert!(example.lines().count() < 50, "an example is short");
}

#[test]
fn no_color_takes_the_colours_and_leaves_the_attributes() {
    let off = (vt100::Color::Default, vt100::Color::Default);
    let on = (vt100::Color::Idx(1), vt100::Color::Rgb(1, 2, 3));
    for (variable, colors) in [("NO_COLOR=1", off), ("NO_COLOR=", on)] {
        let mut session = Session::start_by(&["env", variable], "", "coloured");
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
        let mut session = Session::start("leaves by stdout");
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
    let mut session = Session::start("another panics");
    session.wait_for("drawn");
    session.press("x");
    session.wait_for_end();
    let screen = session.wait_for("drawing says:");
    session.assert_given_back();
    assert!(screen.contains("the message of the panic"), "{screen}");
    assert!(screen.contains("`helper` panicked"), "{screen}");
}

#[test]
fn a_panic_gives_the_terminal_back_though_another_thread_draws_without_a_pause() {
    let mut session = Session::start(programs::DRAWS_ON);
    session.wait_for_end();
    session.wait_for("drawing says: the terminal was given back");
    session.assert_given_back();
}

#[test]
fn an_application_that_cannot_draw_any_more_ends_after_the_message_of_the_panic() {
    let mut session = Session::start("another panics, and reports slowly");
    session.wait_for_end();
    session.wait_for("the message of the panic");
    session.assert_given_back();
}
