//! `bench` at terminals: pseudo-terminals, and the one that it runs in.

mod bench_support;
mod scripted;

use bench_support::{Scratch, command, rows_in, run};
use scripted::{on_a_terminal, text};

#[test]
fn a_rung_that_draws_asks_for_a_terminal() {
    for rung in ["fps/stdout-line", "calls/stdout"] {
        let output = run(&["rung", rung]);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(
            text(&output.stderr),
            format!(
                "outpace: {rung}: it draws, and its output is not a terminal\n  run it in a terminal\n"
            )
        );
    }
}

#[test]
fn a_terminal_is_measured_until_it_answers() {
    let scratch = Scratch::new("terminal");
    let file = scratch.path("terminal.json");
    let output = command("bench terminal --to pty --runs 2 --messages 2000 --export-json")
        .arg(&file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("pty works through"), "{said}");
    let rows = &rows_in(&file);
    assert_eq!(rows.len(), 7, "{said}");
    for row in rows {
        assert_eq!(row["verified"], true, "{row}");
        let (rate, answer) = (&row["consumed_per_second"], &row["report_ns"]["median"]);
        if row["rung"] == "answer" {
            assert!(rate.is_null() && answer.as_u64() > Some(0), "{row}");
        } else {
            assert!(rate.as_f64() > Some(0.0) && answer.is_null(), "{row}");
        }
    }
    // A file is no terminal: asked for by name, that is an error.
    let output = command("bench terminal/text --to null --runs 1")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.contains("it measures terminals, and this is none"),
        "{said}"
    );
}

#[test]
fn this_terminal_is_measured_on_its_alternate_screen() {
    let arguments = [
        "bench",
        "lines",
        "--to",
        "tty",
        "--runs",
        "1",
        "--messages",
        "50",
    ];
    let (shown, status) = on_a_terminal(&arguments, "xterm", (80, 24), None);
    assert_eq!(status, Some(0), "{shown}");
    let place = |text: &str| {
        shown
            .find(text)
            .unwrap_or_else(|| panic!("no {text:?} in {shown}"))
    };
    let (enter, leave) = (place("\x1b[?1049h"), place("\x1b[?1049l"));
    assert!(
        enter < place("\r\n49\r\n") && place("\r\n49\r\n") < leave,
        "{shown}"
    );
    assert!(leave < place("lines to tty"), "{shown}");
    assert!(
        shown.contains("\x1b[1m"),
        "strong text on a terminal: {shown}"
    );
}

/// crossterm takes the size of the process's terminal for the size of every terminal.
#[test]
fn a_transcript_is_measured_though_the_terminal_of_the_process_has_no_size() {
    for rung in [
        "draw/transcript-token-insert-before",
        "draw/transcript-token-outpace",
    ] {
        let arguments = [
            "bench",
            rung,
            "--to",
            "pty",
            "--runs",
            "1",
            "--messages",
            "50",
        ];
        let (shown, status) = on_a_terminal(&arguments, "xterm", (0, 0), None);
        assert_eq!(status, Some(0), "{shown}");
        assert!(shown.contains("bytes a frame"), "{shown}");
    }
}
