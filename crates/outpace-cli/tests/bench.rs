//! The bench as a user meets it: commands, output, exit statuses.

mod profiler;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

/// The program, without settings from the environment of the tests.
fn outpace(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_outpace"));
    command.args(arguments).stdin(Stdio::null());
    undisturbed(command)
}

/// The program with these words as its arguments.
fn command(words: &str) -> Command {
    outpace(&words.split(' ').collect::<Vec<_>>())
}

fn undisturbed(mut command: Command) -> Command {
    for name in [
        "OUTPACE_STDOUT",
        "OUTPACE_STDERR",
        "_STDBUF_O",
        "_STDBUF_E",
        "OUTPACE_RUNG_REPORT",
        "NO_COLOR",
    ] {
        command.env_remove(name);
    }
    command
}

fn run(arguments: &[&str]) -> Output {
    outpace(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The results that a bench has exported.
fn results_in(json: &Path) -> Value {
    serde_json::from_slice(&fs::read(json).unwrap()).unwrap()
}

/// Their rows.
fn rows_in(json: &Path) -> Vec<Value> {
    results_in(json)["rows"].as_array().unwrap().clone()
}

/// A directory that is removed with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_published_rung_is_in_the_list_and_the_list_has_no_other() {
    let list = text(&run(&["bench", "--list"]).stdout);
    let mut listed: Vec<&str> = list
        .lines()
        .filter(|line| line.contains("(published"))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let mut published: Vec<&str> = include_str!("../bench/published-rungs.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    listed.sort_unstable();
    published.sort_unstable();
    assert_eq!(listed, published);
}

#[test]
fn a_rung_writes_its_bytes_and_nothing_else() {
    let output = command("rung lines/println --messages 3").output().unwrap();
    assert_eq!(text(&output.stdout), "0\n1\n2\n");
    assert_eq!(text(&output.stderr), "");
    let output = run(&["rung", "ladder/turbo", "--messages=12"]);
    assert!(text(&output.stdout).ends_with("Hello, 10\tHello, 11\t"));
    assert!(output.status.success());
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

/// Whether this machine lets us make a file where `file` or `tmpfs` may be: on a disk, or in memory.
fn has_room_for(to: &str) -> bool {
    let in_memory = to == "tmpfs";
    let temporary = std::env::temp_dir();
    let places = if in_memory {
        [temporary, "/dev/shm".into(), "/run".into()]
    } else {
        [temporary, "/var/tmp".into(), ".".into()]
    };
    places.iter().any(|place| {
        let file = place.join(format!("outpace-test-{}", std::process::id()));
        let made = fs::File::create_new(&file);
        let _ = fs::remove_file(&file);
        // TMPFS_MAGIC and RAMFS_MAGIC (statfs(2)).
        let is_in_memory = |file| {
            let about = rustix::fs::fstatfs(file).unwrap();
            matches!(about.f_type, 0x0102_1994 | 0x8584_58f6)
        };
        made.is_ok_and(|file| is_in_memory(file) == in_memory)
    })
}

#[test]
fn a_bench_verifies_measures_and_exports() {
    let scratch = Scratch::new("export");
    let (json, markdown) = (scratch.path("a.json"), scratch.path("a.md"));
    let output = command("bench lines --to null,pipe,file,tmpfs,pty,pty:40MB/s")
        .args(["--runs", "2", "--warmup", "0", "--messages", "1000"])
        .args([
            Path::new("--export-json"),
            &json,
            Path::new("--export-markdown"),
            &markdown,
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let results = results_in(&json);
    for field in [
        "cpu",
        "cores",
        "memory_bytes",
        "gpu",
        "kernel",
        "compilers",
        "crates",
        "outpace",
        "date",
    ] {
        assert!(
            results["machine"].get(field).is_some(),
            "no {field} of the machine"
        );
    }
    let rows = results["rows"].as_array().unwrap();
    assert!(rows.len() >= 6 * 5);
    for row in rows {
        if let (Some(to @ ("file" | "tmpfs")), Some(why)) =
            (row["to"].as_str(), row["skipped"].as_str())
        {
            // A machine may have all of its directories on a disk, or all in memory.
            assert!(!has_room_for(to), "{row}");
            eprintln!("skipped: lines/{} to {to}: {why}", row["rung"]);
            continue;
        }
        assert_eq!(row["skipped"], Value::Null, "{row}");
        assert_eq!(row["failed"], Value::Null, "{row}");
        assert_eq!(row["verified"], true, "{row}");
        assert_eq!(row["messages"], 1000, "{row}");
        let baseline = rows
            .iter()
            .find(|other| other["rung"] == row["baseline"] && other["to"] == row["to"])
            .unwrap_or_else(|| panic!("nothing to compare with: {row}"));
        assert_eq!(row["bytes"], baseline["bytes"], "{row}");
        if row["baseline"] == "bufwriter" {
            assert_eq!(row["bytes"], 3890, "{row}");
        }
        assert_eq!(row["runs"], 2, "{row}");
        for time in ["wall_ns", "caller_ns", "cpu_ns"] {
            let of = |name: &str| row[time][name].as_u64().unwrap();
            assert!(
                of("min") <= of("median") && of("median") <= of("max"),
                "{row}"
            );
        }
        let terminal = row["to"].as_str().unwrap().starts_with("pty");
        assert_eq!(
            row["terminal"]["columns"].as_u64(),
            terminal.then_some(80),
            "{row}"
        );
        assert!(row["ratio"]["median"].as_f64().unwrap() > 0.0, "{row}");
    }
    let said = text(&output.stdout);
    assert!(said.contains("lines to pty:40MB/s of 80x24"), "{said}");
    assert!(!said.contains('\x1b'), "no colours into a pipe: {said}");
    assert!(
        fs::read_to_string(&markdown)
            .unwrap()
            .contains("| rung | a line |")
    );

    let json = json.to_str().unwrap();
    let page = scratch.path("a.html");
    let again = run(&["report", json, "--export-html", page.to_str().unwrap()]);
    assert!(
        fs::read_to_string(&page)
            .unwrap()
            .contains(">outpace-guard</th>")
    );
    assert!(
        text(&again.stdout).contains("lines to pipe, 1,000 lines"),
        "{again:?}"
    );
    let compared = run(&["report", json, json]);
    assert!(
        text(&compared.stdout).contains("no significant change"),
        "{compared:?}"
    );
}

#[test]
fn single_rungs_are_measured_beside_their_baseline() {
    let scratch = Scratch::new("rungs");
    let json = scratch.path("a.json");
    // By a caller that ignores the end of its children, as a few do.
    let output = undisturbed(Command::new("env"))
        .args(["--ignore-signal=CHLD", env!("CARGO_BIN_EXE_outpace")])
        .args(["bench", "lines/println", "lines/outpace", "--to", "pipe"])
        .args(["--runs", "1", "--messages", "100"])
        .args([Path::new("--export-json"), &json])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let results = results_in(&json);
    let rows = rows_in(&json);
    let rungs: Vec<&str> = rows
        .iter()
        .map(|row| row["rung"].as_str().unwrap())
        .collect();
    assert_eq!(rungs, ["println", "bufwriter", "outpace"]);
    assert!(
        results["command"]
            .as_str()
            .unwrap()
            .starts_with("outpace bench lines/println")
    );
}

#[test]
fn servers_under_load_report_requests_answers_and_log_calls() {
    let scratch = Scratch::new("server");
    let json = scratch.path("a.json");
    let output = command("bench server --quick --to null,pty:stalled")
        .args(["--runs", "1"])
        .args([Path::new("--export-json"), &json])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let rows = &rows_in(&json);
    assert_eq!(rows.len(), 2 * 10);
    for row in rows {
        if row["rung"] == "fed" && row["to"] == "null" {
            assert!(row["skipped"].as_str().unwrap().contains("only a terminal"));
            continue;
        }
        assert_eq!(row["skipped"], Value::Null, "{row}");
        assert_eq!(row["verified"], true, "{row}");
        assert_eq!(row["connections"], 8, "{row}");
        assert!(
            row["requests_per_second"]["median"].as_u64().unwrap() > 0,
            "{row}"
        );
        let in_order = |times: &Value| {
            let of = |name: &str| times[name].as_u64().unwrap();
            assert!(of("median") <= of("p99") && of("p99") <= of("max"), "{row}");
        };
        in_order(&row["answer_ns"]);
        let silent = row["rung"] == "silent" || row["rung"] == "fed";
        if silent {
            assert_eq!(row["log_call_ns"], Value::Null, "{row}");
        } else {
            in_order(&row["log_call_ns"]);
        }
    }
    let said = text(&output.stdout);
    assert!(
        said.contains("wrk -t1 -c1 -d10s http://127.0.0.1:7096/"),
        "{said}"
    );
}

#[test]
fn the_animation_is_clocked_on_both_streams_and_recorded_for_the_profiler() {
    let scratch = Scratch::new("calls");
    let (json, profiles) = (scratch.path("a.json"), scratch.path("profiles"));
    let output = command("bench calls --quick --messages 5")
        .args([Path::new("--export-json"), &json])
        .args([Path::new("--profile"), &profiles])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let rows = &rows_in(&json);
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["verified"], true, "{row}");
        assert!(
            (1..=5).contains(&row["messages"].as_u64().unwrap()),
            "{row}"
        );
        let writes = row["writes"].as_u64().unwrap();
        assert!(
            row["write_ns"]["median"].as_u64().unwrap() >= writes,
            "{row}"
        );
        assert!(row["bytes"].as_u64().unwrap() > writes, "{row}");
        assert!(row["profiler_samples"]["published"].is_u64(), "{row}");
    }
    let per_frame =
        |row: &Value| row["writes"].as_u64().unwrap() / row["messages"].as_u64().unwrap();
    // A write for every piece, against one for every 1,024 bytes.
    assert!(per_frame(&rows[1]) > 100 * per_frame(&rows[0]));
    for stream in ["stdout", "stderr"] {
        let profile = fs::read(profiles.join(format!("{stream}.json"))).unwrap();
        let profile: Value = serde_json::from_slice(&profile).unwrap();
        profiler::assert_well_formed(&profile);
        assert!(profiler::calls_on(&profile, stream) > 0, "{stream}");
    }
    assert!(
        text(&output.stdout).contains("samples in 5 s"),
        "{output:?}"
    );
}

#[test]
fn results_that_cannot_be_read_are_a_usage_error() {
    let scratch = Scratch::new("unreadable");
    let path = scratch.path("x.json");
    let name = path.to_str().unwrap();
    let missing = run(&["report", name]);
    assert_eq!(missing.status.code(), Some(2));
    fs::write(&path, "[]").unwrap();
    let wrong = run(&["report", name]);
    assert_eq!(wrong.status.code(), Some(2));
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
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/dev/null/a.json"));
    assert_eq!(text(&output.stdout), "");
}

/// A directory with the given scripts as its only programs.
fn programs(scratch: &Scratch, scripts: &[(&str, &str)]) -> PathBuf {
    let directory = scratch.path("bin");
    fs::create_dir_all(&directory).unwrap();
    for (name, script) in scripts {
        let path = directory.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    directory
}

fn ladder_with(scratch: &Scratch, programs: &Path) -> (Option<i32>, Vec<Value>) {
    let json = scratch.path("ladder.json");
    let output = command("bench ladder --to pipe --runs 1 --messages 2000")
        .args([Path::new("--export-json"), &json])
        .env("PATH", programs)
        .env("XDG_CACHE_HOME", scratch.path("cache"))
        .output()
        .unwrap();
    (output.status.code(), rows_in(&json))
}

fn row<'a>(rows: &'a [Value], rung: &str) -> &'a Value {
    rows.iter()
        .find(|row| row["rung"] == rung)
        .unwrap_or_else(|| panic!("no {rung} in {rows:?}"))
}

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
fn text_from_a_file_is_shown_and_never_obeyed() {
    let scratch = Scratch::new("hostile");
    let json = scratch.path("a\x1b[2J<b>.json");
    let output = command("bench raw/mutex --to pipe --runs 1")
        .args(["--messages", "10"])
        .args([Path::new("--export-json"), &json])
        .output()
        .unwrap();
    assert!(json.exists(), "{output:?}");
    let hostile = r"\u001b]0;x\u0007</table><script>alert(1)</script>\u202e";
    let recorded = fs::read_to_string(&json).unwrap();
    let names = recorded.matches("\"rung\": \"").count();
    let changed = recorded.replace("\"rung\": \"", &format!("\"rung\": \"{hostile}"));
    assert!(names > 0);
    fs::write(&json, changed).unwrap();
    for again in [&[&json][..], &[&json, &json]] {
        let page = scratch.path("a.html");
        let command = outpace(&["report"])
            .args(again)
            .arg("--export-html")
            .arg(&page)
            .output()
            .unwrap();
        let said = text(&command.stdout);
        assert!(
            command.status.success() && said.contains("alert"),
            "{command:?}"
        );
        let page = fs::read_to_string(page).unwrap();
        for shown in [&said, &page] {
            assert!(!shown.contains(['\x1b', '\x07', '\u{202e}']), "{shown}");
        }
        assert!(
            !page.contains("<script") && page.contains("&lt;script&gt;"),
            "{page}"
        );
    }
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
fn a_quick_bench_ends_with_a_line_for_each_experiment() {
    let output = command("bench lines raw --quick --to pipe --messages 300")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stdout);
    let last: Vec<&str> = said.trim_end().lines().rev().take(2).collect();
    assert!(last[1].starts_with("lines to pipe: "), "{said}");
    assert!(last[0].starts_with("raw to pipe: "), "{said}");
}

#[test]
fn the_list_the_tables_and_the_page_name_the_sources() {
    let source = "Bart Massey and others, IO Buffering performance in Rust (fasthello) (2019), https://github.com/BartMassey/fasthello";
    assert!(
        text(&run(&["bench", "ladder", "--list"]).stdout).contains(&format!("from:  {source}"))
    );
    let scratch = Scratch::new("sources");
    let (page, markdown) = (scratch.path("a.html"), scratch.path("a.md"));
    let output = command("bench ladder/vecbuf ladder/turbo --to pipe --runs 1")
        .args(["--messages", "500"])
        .args([
            Path::new("--export-html"),
            &page,
            Path::new("--export-markdown"),
            &markdown,
        ])
        .output()
        .unwrap();
    let said = text(&output.stdout).replace("\n  ", " ");
    assert!(
        said.contains("Bart Massey and others, IO Buffering"),
        "{said}"
    );
    let link = "https://github.com/BartMassey/fasthello";
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.contains(&format!("<a href=\"{link}\">IO Buffering")),
        "{page}"
    );
    let markdown = fs::read_to_string(markdown).unwrap();
    assert!(
        markdown.contains(&format!("(fasthello)]({link}) (2019)")),
        "{markdown}"
    );
}

#[test]
fn wrong_bytes_are_a_failed_row_without_a_time_and_status_1() {
    let scratch = Scratch::new("wrong-bytes");
    // Its programs report short times and write wrong bytes.
    let compiler = r#"case $1 in --version) echo "gcc 99"; exit;; esac
printf '#!/bin/sh\nprintf nonsense\necho wall_ns 1 >"$OUTPACE_RUNG_REPORT"\n' >rung
/bin/chmod +x rung"#;
    let (status, rows) = ladder_with(&scratch, &programs(&scratch, &[("gcc", compiler)]));
    let failed = row(&rows, "turbo-c");
    assert!(
        failed["failed"].as_str().unwrap().contains("wrong bytes"),
        "{failed}"
    );
    assert_eq!(failed["wall_ns"], Value::Null);
    assert_eq!(failed["verified"], false);
    assert_eq!(status, Some(1));
}

#[test]
fn write_calls_are_what_strace_counts() {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("skipped: strace is not installed");
        return;
    }
    let scratch = Scratch::new("strace");
    let (log, report) = (scratch.path("log"), scratch.path("report"));
    for rung in [
        "lines/println",
        "lines/bufwriter",
        "lines/outpace",
        "lines/outpace-background",
        "chunks/100B",
    ] {
        let status = undisturbed(Command::new("strace"))
            .args(["-f", "-e", "trace=write,writev", "-o"])
            .arg(&log)
            .args([
                env!("CARGO_BIN_EXE_outpace"),
                "rung",
                rung,
                "--messages",
                "500",
            ])
            .env("OUTPACE_RUNG_REPORT", &report)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        let traced = fs::read_to_string(&log).unwrap();
        // A container may forbid tracing.
        if !status.success() || !traced.contains("exited") {
            eprintln!("skipped: strace cannot trace here: {status}");
            return;
        }
        // The rung's own report goes to another descriptor.
        let calls = traced
            .lines()
            .filter(|line| line.contains("write(1, ") || line.contains("write(3, "))
            .filter(|line| !line.contains("started_ns"))
            .count();
        let report = fs::read_to_string(&report).unwrap();
        let writes = report.lines().find_map(|line| line.strip_prefix("writes "));
        assert_eq!(writes.unwrap().parse::<usize>().unwrap(), calls, "{rung}");
    }
}

/// Starts a program in the directory `scratch`, sends it SIGINT once `is_time`; returns its status and its stderr.
fn interrupted(
    arguments: &[&str],
    scratch: &Scratch,
    is_time: impl Fn(&Child) -> bool,
) -> (Option<i32>, String) {
    interrupted_by(Signal::INT, arguments, scratch, is_time)
}

/// The same with another signal.
fn interrupted_by(
    signal: Signal,
    arguments: &[&str],
    scratch: &Scratch,
    is_time: impl Fn(&Child) -> bool,
) -> (Option<i32>, String) {
    // A shell that runs the tests in the background may have taken Ctrl-C from them.
    let mut command = Command::new("env");
    command
        .args(["--default-signal=INT,HUP", env!("CARGO_BIN_EXE_outpace")])
        .args(arguments)
        .env("TMPDIR", &scratch.0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = undisturbed(command).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains(": ") || line.starts_with("outpace") {
        line.clear();
        assert!(
            stdout.read_line(&mut line).unwrap() > 0,
            "it ended by itself"
        );
    }
    let started = Instant::now();
    while !is_time(&child) {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "it is not time"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, signal).unwrap();
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let mut said = String::new();
    let mut stderr = child.stderr.take().unwrap();
    stderr.read_to_string(&mut said).unwrap();
    (status.code(), said)
}

#[test]
fn a_signal_ends_it_with_what_there_is_and_the_status_of_that_signal() {
    let scratch = Scratch::new("interrupted");
    let arguments = ["bench", "lines", "--to", "pipe", "--runs", "10000"];
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let (status, said) = interrupted_by(signal, &arguments, &scratch, |_| true);
        assert_eq!(status, Some(128 + signal.as_raw()));
        assert!(said.contains("interrupted"), "{said}");
        assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 0);
    }
}

/// One terminal does not read for days, the other takes hours to read its buffers.
#[test]
fn ctrl_c_is_not_kept_waiting_by_a_slow_terminal() {
    let scratch = Scratch::new("interrupted-slow");
    let days = [
        "draw/idle-outpace",
        "--to",
        "pty:stalled",
        "--messages",
        "10000000",
    ];
    let hours = ["lines/outpace", "--to", "pty:1B/s", "--messages", "2000"];
    // The first rung goes on while its terminal does not read; the other ends, with a report, while its terminal still has to read.
    let goes_on = |bench: &Child| {
        let children = format!("/proc/{0}/task/{0}/children", bench.id());
        !fs::read_to_string(children).unwrap().is_empty()
    };
    let has_ended = || {
        let entries = fs::read_dir(&scratch.0).unwrap().flatten();
        let mut reports = entries.map(|entry| entry.path().join("report"));
        reports.any(|report| fs::metadata(report).is_ok_and(|report| report.len() > 0))
    };
    for what in [days, hours] {
        let arguments: Vec<&str> = ["bench"].into_iter().chain(what).collect();
        let (status, said) = interrupted(&arguments, &scratch, |bench| {
            if what == days {
                goes_on(bench)
            } else {
                has_ended()
            }
        });
        assert_eq!(status, Some(130), "{what:?}");
        assert!(said.contains("interrupted"), "{what:?}: {said}");
        assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 0, "{what:?}");
    }
}

#[test]
fn nothing_more_is_compiled_after_ctrl_c() {
    let scratch = Scratch::new("interrupted-compiling");
    let (log, go) = (scratch.path("log"), scratch.path("go"));
    // They get no Ctrl-C themselves, and go on when it has come.
    let script = format!(
        "[ \"$1\" = --version ] && echo 1 && exit\necho call >>{}\nwhile ! test -e {}; do sleep 0.01; done",
        log.display(),
        go.display()
    );
    let programs = programs(&scratch, &[("gcc", &script), ("g++", &script)]);
    symlink_to_path(&programs, "sleep");
    let mut child = Command::new("/usr/bin/env")
        .args(["--default-signal=INT", env!("CARGO_BIN_EXE_outpace")])
        .args(["bench", "ladder", "--to", "pipe", "--runs", "1"])
        .env("PATH", &programs)
        .env("XDG_CACHE_HOME", scratch.path("cache"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let calls = || fs::read_to_string(&log).unwrap_or_default().lines().count();
    let wait_until = |what: &str, holds: &dyn Fn() -> bool| {
        let started = Instant::now();
        while !holds() {
            assert!(started.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    wait_until("no compiler", &|| calls() > 0);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    wait_until("the signal is pending", &|| {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let pending = |line: &str| line.starts_with("ShdPnd:") && line.ends_with("0000");
        status.lines().any(pending)
    });
    fs::write(&go, "").unwrap();
    child.wait().unwrap();
    // One for each worker, and one more each that began before the signal came.
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    assert!((1..=2 * workers).contains(&calls()), "{} calls", calls());
}

/// Links a program of this machine into a directory.
fn symlink_to_path(directory: &Path, name: &str) {
    let path = std::env::var_os("PATH").unwrap();
    let mut places = std::env::split_paths(&path).map(|place| place.join(name));
    let found = places.find(|place| place.is_file()).unwrap();
    std::os::unix::fs::symlink(found, directory.join(name)).unwrap();
}

#[test]
fn a_terminal_is_measured_until_it_answers() {
    let scratch = Scratch::new("terminal");
    let file = scratch.path("terminal.json");
    let json = file.to_str().unwrap();
    let output = run(&[
        "bench",
        "terminal",
        "--to",
        "pty",
        "--runs",
        "2",
        "--messages",
        "2000",
        "--export-json",
        json,
    ]);
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

/// Runs the program with a terminal as its stdin, stdout, stderr and controlling terminal, one that has no size.
fn on_a_terminal(arguments: &[&str], script: &Path) -> Option<String> {
    let command: Vec<&str> = [
        "timeout",
        "--foreground",
        "300",
        env!("CARGO_BIN_EXE_outpace"),
    ]
    .into_iter()
    .chain(arguments.iter().copied())
    .collect();
    let status = undisturbed(Command::new("script"))
        .args(["-qec", &command.join(" ")])
        .arg(script)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .env("TERM", "xterm")
        .env("SHELL", "/bin/sh")
        .status();
    let Ok(status) = status else {
        eprintln!("skipped: script is not installed");
        return None;
    };
    let shown = fs::read_to_string(script).unwrap_or_default();
    assert!(status.success(), "{status}: {shown}");
    Some(shown)
}

#[test]
fn this_terminal_is_measured_on_its_alternate_screen() {
    let scratch = Scratch::new("tty");
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
    let Some(shown) = on_a_terminal(&arguments, &scratch.path("typescript")) else {
        return;
    };
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

/// As `script` makes one where its stdin is empty: crossterm takes that for the size of every terminal.
#[test]
fn a_transcript_is_measured_though_the_terminal_of_the_process_has_no_size() {
    let scratch = Scratch::new("no-size");
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
        let Some(shown) = on_a_terminal(&arguments, &scratch.path("typescript")) else {
            return;
        };
        assert!(shown.contains("bytes a frame"), "{shown}");
    }
}

#[test]
fn help_lists_every_subcommand_and_the_manual_has_them() {
    let help = text(&run(&["--help"]).stdout);
    for subcommand in ["bench", "report", "rung", "completions", "man"] {
        assert!(help.contains(subcommand), "{help}");
    }
    assert!(text(&run(&["man"]).stdout).contains(".SH OUTPACE BENCH"));
    assert!(text(&run(&["completions", "bash"]).stdout).contains("export-json"));
}
