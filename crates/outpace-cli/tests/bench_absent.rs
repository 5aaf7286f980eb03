//! `bench` asked for a thing that is not there: a name, a compiler, a terminal, a file, a cache.

mod bench_support;
mod scripted;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use bench_support::{
    Scratch, command, ladder_with, outpace, programs, row, rows_in, run, undisturbed,
};
use scripted::text;

#[test]
fn without_compilers_their_rungs_are_skipped_with_the_reason() {
    let scratch = Scratch::new("no-compilers");
    let (status, rows) = ladder_with(&scratch, &programs(&scratch, &[]));
    assert_eq!(status, Some(0));
    let skipped = row(&rows, "turbo-c")["skipped"].as_str().unwrap();
    assert!(
        skipped.contains("no C here (looked for gcc, clang, cc)"),
        "{skipped}"
    );
    assert_eq!(row(&rows, "vecbuf")["verified"], true);
    assert!(row(&rows, "mappy")["fails_as_published"].is_string());
}

#[test]
fn a_compiler_that_has_no_other_name_than_cc_is_found() {
    let path = std::env::var_os("PATH").unwrap();
    let Some(gcc) = std::env::split_paths(&path)
        .map(|place| place.join("gcc"))
        .find(|gcc| gcc.is_file())
    else {
        eprintln!("skipped: no gcc here");
        return;
    };
    let scratch = Scratch::new("cc");
    let script = format!("PATH={}; exec {} \"$@\"", path.display(), gcc.display());
    let (status, rows) = ladder_with(&scratch, &programs(&scratch, &[("cc", &script)]));
    assert_eq!(status, Some(0));
    assert_eq!(row(&rows, "turbo-c")["verified"], true);
}

#[test]
fn a_named_thing_that_is_not_there_ends_with_status_1_and_a_remedy() {
    let scratch = Scratch::new("missing");
    let empty = programs(&scratch, &[]);
    let brief = ["--runs", "1", "--messages", "100"];
    for (arguments, object, remedy) in [
        (
            vec!["lines", "--to", "wezterm"],
            "--to wezterm: wezterm is not installed",
            "install it",
        ),
        (
            vec!["lines", "--to", "pipe,wezterm"],
            "--to wezterm: wezterm is not installed",
            "--to pty",
        ),
        (
            vec!["ladder/turbo-c", "--to", "pipe"],
            "ladder/turbo-c: no C here",
            "install",
        ),
        (
            vec!["draw/idle-outpace", "--to", "pipe"],
            "--to pipe: it draws",
            "another destination",
        ),
    ] {
        let output = outpace(&["bench"])
            .args(&arguments)
            .args(brief)
            .env("PATH", &empty)
            .env("XDG_CACHE_HOME", scratch.path("cache"))
            .output()
            .unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(
            said.contains(&format!("outpace: {object}")),
            "{arguments:?}: {said}"
        );
        assert!(said.contains(remedy), "{arguments:?}: {said}");
    }
    // Every rung that was asked for wants a compiler, and there is none.
    let output = command("bench endl --to pipe --quick")
        .env("PATH", &empty)
        .env("XDG_CACHE_HOME", scratch.path("cache"))
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(said.contains("outpace: nothing was measured"), "{said}");
    // If a destination is the experiment's own, its absence is a note and no failure.
    let output = command("bench fps/outpace --quick --runs 1 --messages 3")
        .env("PATH", &empty)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn without_a_terminal_of_its_own_a_bench_of_it_ends_with_status_1() {
    let output = undisturbed(Command::new("setsid"))
        .args(["--wait", env!("CARGO_BIN_EXE_outpace"), "bench", "lines"])
        .args(["--to", "tty", "--runs", "1", "--messages", "100"])
        .stdin(Stdio::null())
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: setsid is not installed");
        return;
    };
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("outpace: --to tty: this terminal cannot be opened"),
        "{said}"
    );
    assert!(said.contains("run it in a terminal"), "{said}");
}

#[test]
fn nothing_is_compiled_for_a_destination_that_is_not_there() {
    let scratch = Scratch::new("nowhere");
    let used = scratch.path("used");
    let compiler = format!(
        "case $1 in --version) echo 'gcc 99'; exit;; esac\necho \"$@\" >>'{}'",
        used.display()
    );
    let json = scratch.path("a.json");
    let output = command("bench languages --to wezterm --export-json")
        .arg(&json)
        .env("PATH", programs(&scratch, &[("gcc", compiler.as_str())]))
        .env("XDG_CACHE_HOME", scratch.path("cache"))
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("--to wezterm: wezterm is not installed"),
        "{said}"
    );
    assert!(!used.exists(), "{}", fs::read_to_string(&used).unwrap());
    let rows = &rows_in(&json);
    assert!(
        !rows.is_empty() && rows.iter().all(|row| row["skipped"].is_string()),
        "{rows:?}"
    );
}

#[test]
fn a_cache_that_cannot_be_written_gives_way_to_a_private_one() {
    let scratch = Scratch::new("cache");
    let json = scratch.path("a.json");
    // Not even root can create a file there.
    let output = command("bench ladder/turbo-c --to pipe --runs 1 --messages 500")
        .args([Path::new("--export-json"), &json])
        .env("XDG_CACHE_HOME", "/proc/self")
        .env("HOME", "/proc/self")
        .output()
        .unwrap();
    let rows = &rows_in(&json);
    assert!(!rows.is_empty(), "{output:?}");
    if rows.iter().all(|row| row["skipped"].is_string()) {
        eprintln!("skipped: no C compiler");
        return;
    }
    assert!(output.status.success(), "{output:?}");
    assert!(rows.iter().all(|row| row["verified"] == true), "{rows:?}");
}

#[test]
fn a_file_that_has_no_results_is_a_failure() {
    let scratch = Scratch::new("unreadable");
    let path = scratch.path("x.json");
    let name = path.to_str().unwrap();
    let missing = run(&["report", name]);
    assert_eq!(missing.status.code(), Some(1));
    fs::write(&path, "[]").unwrap();
    let wrong = run(&["report", name]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        text(&wrong.stderr).contains("not results of a bench"),
        "{wrong:?}"
    );
}

#[test]
fn an_export_that_cannot_be_written_is_told_before_anything_is_measured() {
    let output = command("bench lines --export-json /dev/null/a.json")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("/dev/null/a.json"));
    assert_eq!(text(&output.stdout), "");
}

#[test]
fn misspelt_names_get_near_matches_and_status_2() {
    for (arguments, near) in [
        (vec!["bench", "laddr"], "did you mean ladder?"),
        (vec!["bench", "lines", "--to", "pip"], "did you mean pipe?"),
        (vec!["rung", "ladder/turbo-x"], "did you mean ladder/turbo"),
        (vec!["rung", "lader/turbo-c"], "did you mean ladder?"),
        (vec!["bench", "ladder/turboc"], "did you mean ladder/turbo"),
        (vec!["bnech"], "did you mean bench?"),
        (vec!["bench", "--quik"], "did you mean --quick?"),
    ] {
        let output = run(&arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(
            said.starts_with("outpace: ") && said.contains(near),
            "{arguments:?}: {said}"
        );
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
    }
}

#[test]
fn an_option_that_changes_none_of_the_experiments_is_refused() {
    for (option, example) in [
        (&["--slow"][..], "outpace bench when --slow"),
        (
            &["--connections", "2"],
            "outpace bench server --connections 1",
        ),
        (
            &["--profile", "nowhere"],
            "outpace bench calls --profile DIR",
        ),
    ] {
        let output = outpace(&["bench", "lines"]).args(option).output().unwrap();
        let said = text(&output.stderr);
        let expected = format!(
            "outpace: {}: changes none of these experiments\n  such as: {example}\n",
            option[0]
        );
        assert_eq!(said, expected);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(text(&output.stdout), "");
    }
}
