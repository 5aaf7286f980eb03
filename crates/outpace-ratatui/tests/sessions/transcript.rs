//! Transcripts: how they end, stop, and give the terminal to others.

use std::io::Write;

use rustix::process::{Signal, kill_process};

use super::session::{Session, is_stopped};

#[test]
fn a_transcript_stays_as_text_with_the_shell_below_however_its_program_ends() {
    for (how, message) in [
        ("exit\n", None),
        ("leave\n", None),
        ("panic\n", Some("the message of the panic")),
        ("\x03", None),
        ("\x1c", None),
        ("TERM", None),
        ("HUP", None),
        ("KILL", None),
    ] {
        let mut session = Session::start("talks");
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
        // As a shell would.
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
    let mut session = Session::start("talks");
    let pid = session.pid();
    for round in 0..2 {
        session.press("\x1a");
        session.wait_until("stopped", || is_stopped(pid));
        let screen = session.wait("given back", |screen| {
            !screen.hide_cursor() && !screen.contents().contains("keys [")
        });
        assert!(screen.contains("streamed further"), "{screen}");
        write!(&session.program, "the shell {round}\r\n").unwrap();
        kill_process(pid, Signal::CONT).unwrap();
        session.wait("shown again", |screen| {
            screen.hide_cursor() && screen.contents().contains("keys [")
        });
        session.wait_until("running", || !is_stopped(pid));
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
    let mut session = Session::start("talks");
    session.pid();
    // Both lines are there when the editor starts: the second is still there when it ends.
    session.press("editor\nexit\n");
    session.wait_for_end();
    assert_eq!(session.questions(), 0, "an answer is read with the keys");
    let screen = session.wait("given back", |screen| {
        !screen.hide_cursor() && screen.contents().contains("edited")
    });
    let rows: Vec<String> = session
        .screen
        .0
        .lock()
        .unwrap()
        .screen()
        .rows(0, 60)
        .collect();
    let at = |text: &str| {
        rows.iter()
            .position(|row| row.trim_end() == text)
            .unwrap_or_else(|| panic!("no {text}: {screen}"))
    };
    assert!(
        at("streamed further") < at("a child")
            && at("a child") + 1 == at("without an end")
            && at("without an end") + 1 == at("edited"),
        "{screen}"
    );
    assert!(
        !screen.contains("the editor") && !screen.contains("keys ["),
        "{screen}"
    );
}

#[test]
fn a_signal_to_a_child_of_a_fork_is_the_childs_alone() {
    let mut session = Session::start("talks");
    session.pid();
    session.press("fork\nexit\n");
    session.wait_for_end();
    session.wait_for("the child was ended by 15");
    session.wait("given back", |screen| !screen.hide_cursor());
}

#[test]
fn a_signal_while_a_child_has_the_terminal_erases_none_of_its_output() {
    for signal in ["TERM", "TSTP"] {
        let mut session = Session::start("talks");
        let pid = session.pid();
        session.press(&format!("{signal}\n"));
        let is_working = |screen: &vt100::Screen| screen.contents().contains("working...");
        if signal == "TSTP" {
            session.wait_until("stopped", || is_stopped(pid));
            let screen = session.wait("shown", is_working);
            assert!(!screen.contains("keys ["), "{screen}");
            kill_process(pid, Signal::CONT).unwrap();
            session.wait_for("round 1 ");
            session.press("exit\n");
        }
        session.wait_for_end();
        let screen = session.wait("shown", |screen| {
            is_working(screen) && !screen.hide_cursor()
        });
        assert!(!screen.contains("keys ["), "{signal}: {screen}");
    }
}

#[test]
fn a_user_can_turn_off_the_optimisations_of_a_transcript() {
    for (off, said) in [
        ("", "moves rows: true, synchronizes: true"),
        ("scroll", "moves rows: false, synchronizes: true"),
        ("sync, repeat", "moves rows: true, synchronizes: false"),
        ("scrol", "there is no optimisation `scrol`"),
    ] {
        let off = format!("OUTPACE_DRAW_OFF={off}");
        let launcher = ["env", "TERM=alacritty", off.as_str()];
        let mut session = Session::start_by(&launcher, "", "talks elsewhere");
        session.wait_for(said);
        session.wait_for_end();
    }
}

#[test]
fn in_a_dumb_terminal_there_are_lines_alone() {
    let in_raw_mode = "stty raw -echo; exec env TERM=dumb \"$@\"";
    for launcher in [&["env", "TERM=dumb"][..], &["sh", "-c", in_raw_mode, "sh"]] {
        let mut session = Session::start_by(launcher, "", "talks behind others");
        let screen = session.wait_for("the end");
        session.wait_for_end();
        let lines: Vec<&str> = screen.lines().map(str::trim_end).collect();
        // What the test harness prints in raw mode may stand before it.
        let begins = |row: &str| row.ends_with("Connecting... line 1");
        let are_said = |rows: &[&str]| begins(rows[0]) && rows[1..] == ["line 2", "the end"];
        assert!(lines.windows(3).any(are_said), "{screen}");
    }
}
