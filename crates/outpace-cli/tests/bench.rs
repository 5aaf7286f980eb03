//! `bench` and `report` as a user meets them: rows, tables, pages, exit statuses.

mod bench_support;
mod profiler;
mod scripted;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use bench_support::{
    Scratch, command, ladder_with, outpace, programs, results_in, row, rows_in, run, undisturbed,
};
use scripted::text;
use serde_json::Value;

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

#[test]
fn help_lists_every_subcommand_and_the_manual_has_them() {
    let help = text(&run(&["--help"]).stdout);
    let manual = text(&run(&["man"]).stdout);
    for subcommand in [
        "bench",
        "report",
        "rung",
        "fps",
        "run",
        "trace",
        "contest",
        "completions",
        "man",
    ] {
        let listed = format!("\n  {subcommand} ");
        assert!(help.contains(&listed), "no {subcommand} in {help}");
        let section = format!(".SH OUTPACE {}\n", subcommand.to_uppercase());
        assert!(manual.contains(&section), "no {section} in {manual}");
    }
    assert!(text(&run(&["completions", "bash"]).stdout).contains("export-json"));
}
