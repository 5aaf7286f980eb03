//! `outpace trace`: on programs whose buffering is known, and against strace's counts.

mod corpus;
mod profiler;
mod scripted;

use corpus::{Mode, Program, To, named, stream, trace};
use scripted::{Terminal, installed, scratch, switches, text, wait_until};
use serde_json::Value;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// With call stacks, where perf may look.
fn with_stacks(arguments: &[&str]) -> Command {
    let mut command = scripted::outpace("trace");
    command.args(arguments).env_remove("PYTHONUNBUFFERED");
    command
}

fn outpace(arguments: &[&str]) -> Command {
    let mut command = with_stacks(arguments);
    command.env("PATH", corpus::path_without_perf());
    command
}

fn run(arguments: &[&str]) -> Output {
    outpace(arguments).output().unwrap()
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The findings on a command whose stdout is read at once.
fn findings(arguments: &[&str], name: &str) -> Value {
    let file = scratch(name);
    let output = run(&[&["--json", file.to_str().unwrap()], arguments].concat());
    assert!(
        file.metadata().unwrap().len() > 0,
        "{}",
        text(&output.stderr)
    );
    json(&file)
}

/// So many lines each program of the corpus is asked for.
const LINES: u32 = 20_000;
/// The same in the exact mode, which sees every write: enough for those that do not write blocks.
const FEW_LINES: u32 = 2_000;

/// Traces every program of the corpus on a terminal, into a pipe and into a file, wherever its buffering is
/// known, and has each judged: the program, where to, what is expected, the findings.
fn judge_the_corpus(exact: bool, mut judge: impl FnMut(&Program, To, &str, &Value)) {
    let programs = corpus::programs();
    let known = |program: &&Program| !program.buffering.concat().is_empty() && program.is_ready();
    for program in programs.iter().filter(known) {
        let places = [To::Terminal, To::Pipe, To::File].into_iter();
        let expectations = places.zip(&program.buffering);
        for (to, expected) in expectations.filter(|(_, expected)| !expected.is_empty()) {
            let mode = if exact { Mode::Exact } else { Mode::Sampled };
            let lines = match exact && !expected.starts_with("block") {
                true => FEW_LINES,
                false => LINES,
            };
            judge(program, to, expected, &trace(program, mode, to, lines));
        }
    }
}

#[test]
fn the_exact_mode_names_the_buffering_of_every_program_of_the_corpus() {
    let mut wrong = Vec::new();
    judge_the_corpus(true, |program, to, expected, findings| {
        let stream = stream(findings, &program.stream);
        if let Some(language) = stream.map(|stream| &stream["language"])
            && *language != *program.language
        {
            wrong.push(format!("{} to {to:?}: {language}", program.name));
        }
        // Node.js opens its terminal once more, and what that descriptor was cannot be found out
        // when the program has ended before its writes were looked at.
        let is_node = program.run[0] == "node" && matches!(to, To::Terminal);
        let elsewhere = findings["elsewhere"]["calls"].as_u64().unwrap_or(0);
        if is_node && stream.is_none() && elsewhere > 0 {
            println!("skipped: {} ended before it could be asked", program.name);
            return;
        }
        let name = stream.map_or("no stream".to_owned(), named);
        if name != expected {
            wrong.push(format!(
                "{} to {to:?}: {name} instead of {expected}",
                program.name
            ));
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Write calls of all processes, by the kernel's counts.
fn write_calls(findings: &Value) -> u64 {
    findings["tree"]["write_calls"].as_u64().unwrap()
}

#[test]
fn the_default_mode_names_nothing_wrong_and_its_advice_saves_calls() {
    let undecided = [
        "small writes",
        "large writes",
        "unknown",
        "too few writes",
        "nothing written",
    ];
    let programs = corpus::programs();
    let (mut wrong, mut unseen, mut judged) = (Vec::new(), Vec::new(), 0);
    let mut mute = Vec::new();
    judge_the_corpus(false, |program, to, expected, findings| {
        let advice = findings["verdict"]["remedies"][0].as_str();
        if let (Some(advice), Some(remedies)) = (advice, &program.remedy)
            && findings["verdict"]["limit"] == "calls"
        {
            let remedy = &remedies[to as usize];
            let remedy = programs.iter().find(|program| program.name == *remedy);
            let remedy = remedy.unwrap_or_else(|| panic!("{}: no such remedy", program.name));
            // A shell's writes stay as many, but cost less.
            if program.run[0] != "sh" && remedy.name != program.name && remedy.is_ready() {
                let before = write_calls(findings);
                let after = write_calls(&trace(remedy, Mode::Sampled, to, LINES));
                if after * 2 > before {
                    wrong.push(format!(
                        "{} to {to:?}: {before} calls before and {after} after {advice:?}",
                        program.name
                    ));
                }
            }
        }
        // All writes are credited to this program, or none if it ended before a sample.
        let streams = findings["streams"].as_array().unwrap();
        let calls = |stream: &&Value| stream["calls"].as_u64().unwrap();
        let by_it = streams
            .iter()
            .filter(|stream| stream["language"] == *program.language);
        let counted = by_it.map(|stream| calls(&stream)).sum::<u64>();
        if counted * 10 < write_calls(findings) * 9 {
            unseen.push(format!(
                "{} to {to:?}: {counted} of {}",
                program.name,
                write_calls(findings)
            ));
        }
        judged += 1;
        let says_how =
            |stream: &Value| stream["language"] == *program.language && named(stream) == *expected;
        if !streams.iter().any(says_how) {
            mute.push(format!("{} to {to:?}", program.name));
        }
        // The shell that starts the program may write, too.
        let by_wrapper = |stream: &&Value| stream["language"] == "shell" && program.run[0] != "sh";
        for stream in findings["streams"].as_array().unwrap() {
            let name = named(stream);
            // Fine-grained and coarse are not confused either.
            let small = name == "small writes" && expected.starts_with("block");
            let is_wrong = small || (name != expected && !undecided.contains(&&*name));
            if is_wrong && !by_wrapper(&stream) {
                wrong.push(format!(
                    "{} to {to:?}: {name} instead of {expected}",
                    program.name
                ));
            }
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
    // Programs may end before the first sample. A tracer that never names a buffering is not wrong either, but useless.
    assert!(mute.len() * 2 <= judged, "{mute:#?} of {judged}");
    // A program of one or two blocks may end before the first sample; most are seen.
    assert!(
        judged >= 9 && unseen.len() * 3 <= judged,
        "{unseen:#?} of {judged}"
    );
}

/// The calls that strace counts for a command, by system call.
fn strace(command: &str) -> Option<(u64, u64)> {
    if !installed("strace") {
        return None;
    }
    let log = scratch("strace");
    let arguments = [
        "-f",
        "-o",
        log.to_str().unwrap(),
        "-e",
        "trace=write,writev",
        "sh",
        "-c",
        command,
    ];
    Command::new("strace")
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let lines = std::fs::read_to_string(&log).unwrap();
    // A call that was interrupted in the log by another process has two lines, of which one is this.
    let calls = |name: &str| {
        lines
            .lines()
            .filter(|line| line.contains(&format!(" {name}(")) && !line.contains("resumed>"))
            .count()
    };
    Some((calls("write") as u64, calls("writev") as u64))
}

#[test]
fn the_exact_mode_counts_what_strace_counts() {
    let command = "for i in 1 2 3 4 5; do /bin/echo $i | cat; done; seq 3000 | while read x; do echo $x; done; \
                   (echo in a subshell >&2)";
    let Some(expected) = strace(command) else {
        return;
    };
    let findings = findings(&["--exact", "--", "sh", "-c", command], "counts.json");
    let streams = findings["streams"].as_array().unwrap();
    let of = |name: &str| -> u64 {
        streams
            .iter()
            .filter_map(|stream| stream["by_name"][name].as_u64())
            .sum()
    };
    let elsewhere = findings["elsewhere"]["calls"].as_u64().unwrap();
    assert_eq!(
        (of("write") + elsewhere, of("writev")),
        expected,
        "{findings:#}"
    );
    assert_eq!(findings["lost"], 0);
}

#[test]
fn without_privileges_ptrace_counts_the_same_and_says_so() {
    let command = "seq 300; for i in 1 2 3; do /bin/echo $i; done; kill -9 $$";
    let (file, expected) = (
        scratch("ptrace.json"),
        findings(&["--exact", "--", "sh", "-c", command], "twin.json"),
    );
    let arguments = [
        "--exact",
        "--json",
        file.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        command,
    ];
    if !installed("setpriv") {
        return;
    }
    let mut command = scripted::without_privileges("trace");
    let output = command.args(arguments).output().unwrap();
    let found = json(&file);
    assert_eq!(found["mode"], "ptrace", "{}", text(&output.stderr));
    assert_eq!(output.status.signal(), Some(9));
    assert!(text(&output.stderr).contains("tracepoints are not available here"));
    let calls = |findings: &Value| -> u64 {
        let streams = findings["streams"].as_array().unwrap();
        streams
            .iter()
            .map(|stream| stream["calls"].as_u64().unwrap())
            .sum()
    };
    assert_eq!(calls(&found), calls(&expected));
}

#[test]
fn what_json_says_is_as_its_schema_describes_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/trace.schema.json");
    let schema = jsonschema::validator_for(&json(&path)).unwrap();
    let lines = "i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); done; ls /nowhere";
    let file = scratch("schema.json");
    let to_file = ["--json", file.to_str().unwrap()];
    for command in [
        &["sh", "-c", lines][..],
        &["--exact", "sh", "-c", lines],
        &["sh", "-c", ":"],
        &["sh", "-c", "kill -9 $$"],
    ] {
        run(&[&to_file[..], command].concat());
        let findings = json(&file);
        let faults: Vec<String> = schema
            .iter_errors(&findings)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{command:?}: {faults:#?}");
    }
    if installed("setpriv") {
        let mut command = scripted::without_privileges("trace");
        command.args(to_file).args(["--exact", "sh", "-c", lines]);
        command.output().unwrap();
        assert!(schema.is_valid(&json(&file)), "{:#}", json(&file));
    }
    // A field that the schema does not know is a fault: it describes all there are.
    let mut more = json(&file);
    more["streams"][0]["more"] = 1.into();
    assert!(!schema.is_valid(&more));
}

/// The program that the C compiler makes of this text; `None` without a compiler.
fn compiled(name: &str, options: &[&str], text: &str) -> Option<String> {
    if !installed("cc") {
        println!("skipped: cc is not installed");
        return None;
    }
    let (program, source) = (scratch(name), scratch(&format!("{name}.c")));
    std::fs::write(&source, text).unwrap();
    let mut command = Command::new("cc");
    command.args(options).arg("-o").args([&program, &source]);
    assert!(command.status().unwrap().success());
    Some(program.to_str().unwrap().to_owned())
}

#[test]
fn the_exact_mode_shows_where_writes_are_made_where_perf_may_look() {
    if !installed("perf") {
        return;
    }
    let text_of_it = "#include <unistd.h>\n\
        __attribute__((noinline)) int say(void) { return write(1, \"x\\n\", 2) + 1; }\n\
        int main(void) { for (int i = 0; i < 30000; i++) if (say() < 0) return 1; }\n";
    let options = ["-O1", "-g", "-fno-omit-frame-pointer"];
    let Some(program) = compiled("where", &options, text_of_it) else {
        return;
    };
    let output = with_stacks(&["--exact", "--", &program]).output().unwrap();
    let report = text(&output.stderr);
    if report.contains("no call stacks") {
        eprintln!("skipped: {report}");
        return;
    }
    assert!(report.contains("where it writes:"), "{report}");
    assert!(report.contains("main > "), "{report}");
    // Stacks that cannot be followed are told of.
    let Some(program) = compiled("nowhere", &["-O2", "-fomit-frame-pointer"], text_of_it) else {
        return;
    };
    let report = text(
        &with_stacks(&["--exact", "--", &program])
            .output()
            .unwrap()
            .stderr,
    );
    let told = ["where it writes:", "which keeps no frame pointers"];
    assert!(told.iter().any(|told| report.contains(told)), "{report}");
}

#[test]
fn the_default_mode_has_the_counts_of_the_kernel() {
    let found = findings(
        &[
            "--",
            "sh",
            "-c",
            "i=0; while [ $i -lt 20000 ]; do echo x; i=$((i+1)); done",
        ],
        "kernel.json",
    );
    assert_eq!(found["mode"], "sampled");
    assert_eq!(found["tree"]["write_calls"], 20_000);
    assert_eq!(found["streams"][0]["calls"], 20_000);
    assert_eq!(found["streams"][0]["bytes"], 40_000);
    assert_eq!(found["streams"][0]["language"], "shell");
}

#[test]
fn a_program_of_a_millisecond_takes_at_least_its_processor_time() {
    // It may have ended before the one that started it runs again.
    for _ in 0..20 {
        let found = findings(&["--", "seq", "100000"], "short.json");
        let time = |name: &str| found[name].as_u64().unwrap();
        assert!(
            time("wall_ns") >= time("user_ns") + time("system_ns"),
            "{found:#}"
        );
    }
}

#[test]
fn no_write_to_a_terminal_is_cut_in_two() {
    let whole = "#include <unistd.h>\n\
        int main(int n, char **v) { for (int i = 0; i < (n > 1 ? 10000 : 100000); i++)\n\
        if (write(1, \"some line\\n\", 10) != 10) return 7; }\n";
    let Some(program) = compiled("whole", &[], whole) else {
        return;
    };
    for exact in [&[][..]; 8].into_iter().chain([&["--exact"][..]; 2]) {
        // By ptrace each write takes a while.
        let fewer = if exact.is_empty() {
            &[][..]
        } else {
            &["fewer"]
        };
        let arguments = [&["trace"], exact, &["--", &program], fewer].concat();
        let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_outpace"), &arguments, false);
        assert_eq!(terminal.wait().code(), Some(0), "{exact:?}");
    }
}

/// A terminal takes some ten seconds for as many.
const MOST_LINES: u32 = 10_000_000;

#[test]
fn lines_and_fragments_on_a_terminal_are_told_apart_where_the_kernel_may_be_asked() {
    // So many lines: of one write each, of two, or of one of two parts, beside a file that may have some, too.
    let ends = "#include <fcntl.h>\n#include <stdlib.h>\n#include <sys/uio.h>\n#include <unistd.h>\n\
        int main(int n, char **v) {\n\
        struct iovec parts[] = {{\"some line\", 9}, {\"\\n\", 1}};\n\
        if (n > 2 && *v[2] == 'p' && open(\"/dev/null\", O_WRONLY) < 0) return 7;\n\
        for (int i = atoi(v[1]); i > 0; i--) {\n\
        if (n > 2 && *v[2] == 'p') { if (writev(1, parts, 2) != 10) return 7; }\n\
        else if (n > 2) { if (write(1, \"some \", 5) != 5 || write(1, \"line\\n\", 5) != 5) return 7; }\n\
        else if (write(1, \"some line\\n\", 10) != 10) return 7; } }\n";
    let Some(program) = compiled("ends", &[], ends) else {
        return;
    };
    let report = scratch("ends.json");
    let trace = |exact: &[&str], argument: &[&str]| {
        let paths = [report.to_str().unwrap(), &program];
        let words = [&["trace", "--json", paths[0]], exact, &paths[1..], argument].concat();
        let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_outpace"), &words, false);
        assert_eq!(terminal.wait().code(), Some(0));
        json(&report)
    };
    if trace(&["--exact"], &["1"])["mode"] != "tracepoints" {
        println!("skipped: tracepoints are not available here");
        return;
    }
    for (argument, expected) in [
        (&[][..], "line"),
        (&["fragments"][..], "unbuffered"),
        (&["parts"][..], "line"),
    ] {
        // A watcher that gets no processor before the program ends says that it could not tell.
        let mut lines = 100_000;
        let (name, found) = loop {
            let found = trace(&[], &[&[&*lines.to_string()], argument].concat());
            let name = stream(&found, "stdout").map(named);
            lines *= 2;
            // Nor where the writes went, with another file.
            let is_untold = name.as_deref() == Some("small writes")
                || (name.is_none() && argument == ["parts"]);
            if !is_untold || lines > MOST_LINES {
                break (name, found);
            }
        };
        assert_eq!(name.as_deref(), Some(expected), "{found:#}");
    }
}

#[test]
fn a_filter_that_is_asked_from_outside_is_not_told_to_buffer() {
    if !installed("perl") {
        eprintln!("skipped: perl is missing");
        return;
    }
    let file = scratch("asked");
    let filter = "$| = 1; while (<STDIN>) { print }";
    let mut filter = outpace(&["--json", file.to_str().unwrap(), "perl", "-e", filter])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut questions = filter.stdin.take().unwrap();
    let mut answers = BufReader::new(filter.stdout.take().unwrap());
    for n in 0..20_000 {
        let mut answer = String::new();
        writeln!(questions, "{n}").unwrap();
        answers.read_line(&mut answer).unwrap();
        assert_eq!(answer, format!("{n}\n"));
    }
    drop(questions);
    assert!(filter.wait().unwrap().success());
    let verdict = &json(&file)["verdict"];
    assert_eq!(verdict["limit"], "none", "{verdict}");
    assert_eq!(verdict["remedies"], serde_json::json!([]), "{verdict}");
}

#[test]
fn a_program_that_another_one_of_the_trace_holds_has_no_verdict() {
    if !installed("strace") {
        eprintln!("skipped: strace is missing");
        return;
    }
    let lines = "i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i + 1)); done";
    let command = ["strace", "-c", "-o", "/dev/null", "sh", "-c", lines];
    let verdict = &findings(&command, "held")["verdict"];
    assert_eq!(verdict["limit"], "unknown", "{verdict}");
    let text = verdict["text"][0].as_str().unwrap();
    assert!(text.contains("another process traces it"), "{text}");
}

#[test]
fn a_shells_own_writes_are_not_its_short_commands() {
    // The commands end before they are looked at, and leave their counts to the shell that waits for them.
    for (shell, command) in [
        ("sh", "/bin/true"),
        ("sh", "expr $i + 1"),
        ("bash", "/bin/true"),
        ("bash", "expr $i + 1"),
    ] {
        if !installed(shell) {
            continue;
        }
        let turns = format!("i=0; while [ $i -lt 500 ]; do echo $i; {command}; i=$((i+1)); done");
        let found = findings(&["--", shell, "-c", &turns], "short-commands.json");
        let mut by_shell = 0;
        for stream in found["streams"].as_array().unwrap() {
            let calls = stream["calls"].as_u64().unwrap();
            match stream["language"].as_str().unwrap() {
                "shell" => by_shell += calls,
                _ => assert!(command.starts_with("expr") && calls <= 500, "{found:#}"),
            }
        }
        assert_eq!(by_shell, 500, "{shell}, {command}: {found:#}");
    }
}

#[test]
fn what_a_grandchild_wrote_is_not_its_parents() {
    if !installed("perl") || !installed("python3") {
        return;
    }
    // Perl waits for the writer, and the shell for Perl, which leaves it the writer's counts.
    let outer = r#"perl -e 'system("python3", "-uc", "for i in range(20000): print(i)")'; true"#;
    for _ in 0..8 {
        let found = findings(&["--", "sh", "-c", outer], "grandchild.json");
        let streams = found["streams"].as_array().unwrap().iter();
        let credited: u64 = streams
            .map(|stream| stream["calls"].as_u64().unwrap())
            .sum();
        assert!(credited <= write_calls(&found), "{found:#}");
    }
}

#[test]
fn a_short_program_that_another_waits_for_has_processor_time() {
    // It may end before the tick at which the kernel first tells it.
    let inner = "i=0; while [ $i -lt 4000 ]; do echo $i; i=$((i+1)); done";
    let outer = format!("sh -c '{inner}'; true");
    assert_has_processor_time(&["--", "sh", "-c", &outer], "short-child.json");
}

#[test]
fn threads_that_have_ended_have_processor_time() {
    let text = "#include <pthread.h>\n#include <unistd.h>\n\
        static void *lines(void *none) { for (int i = 0; i < 2000; i++) if (write(1, \"line\\n\", 5) < 5) break; return none; }\n\
        int main(void) { for (int i = 0; i < 8; i++) { pthread_t thread; pthread_create(&thread, 0, lines, 0); \
        pthread_join(thread, 0); } }\n";
    let Some(program) = compiled("in-turn", &["-pthread"], text) else {
        return;
    };
    assert_has_processor_time(&["--", &program], "in-turn.json");
}

#[test]
fn no_program_takes_less_time_than_it_ran() {
    // Threads that wait for each other's lock and for a processor at the same time. Each lives for many looks: one that is last seen before its
    // first line has run beside the others, as far as is known.
    let text = "#include <pthread.h>\n#include <stdio.h>\n\
        static void *lines(void *none) { for (int i = 0; i < 100000; i++) { printf(\"line %d\\n\", i); fflush(stdout); } return none; }\n\
        int main(void) { pthread_t threads[4]; for (int i = 0; i < 4; i++) pthread_create(threads + i, 0, lines, 0); \
        for (int i = 0; i < 4; i++) pthread_join(threads[i], 0); }\n";
    let Some(program) = compiled("together", &["-pthread"], text) else {
        return;
    };
    for _ in 0..8 {
        let found = findings(&["--", &program], "together.json");
        let time = |name: &str| found[name].as_u64().unwrap();
        let ran_ns = time("user_ns") + time("system_ns");
        let now_ns = found["verdict"]["now_ns"].as_u64().unwrap();
        assert!(now_ns >= ran_ns.min(time("wall_ns")), "{found:#}");
    }
}

#[test]
fn a_stream_that_is_closed_is_closed_for_the_program_too() {
    let status = |tracer: &str| {
        let script = format!("{tracer} sh -c 'echo x' >&- 2>/dev/null");
        let status = Command::new("sh").args(["-c", &script]).status();
        status.unwrap().code()
    };
    let tracer = format!("{} trace", env!("CARGO_BIN_EXE_outpace"));
    assert_eq!(status(&tracer), status(""));
}

#[test]
fn a_program_that_has_not_begun_ends_with_its_tracer() {
    let mut tracer = outpace(&["--exact", "true"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let children = || -> Vec<String> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", tracer.id()));
        let tasks = tasks.into_iter().flatten().flatten();
        let lists = tasks.flat_map(|task| std::fs::read_to_string(task.path().join("children")));
        lists
            .flat_map(|list| {
                list.split_whitespace()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
            .collect()
    };
    let mut begun = Vec::new();
    while begun.is_empty() && Path::new(&format!("/proc/{}/fd/0", tracer.id())).exists() {
        begun = children();
    }
    tracer.kill().unwrap();
    tracer.wait().unwrap();
    for child in begun {
        wait_until("the child's end", || {
            let stat = std::fs::read_to_string(format!("/proc/{child}/stat"));
            stat.map_or(true, |stat| stat.contains(") Z "))
        });
    }
}

/// Traces a command of some milliseconds several times: its writes take some of them.
fn assert_has_processor_time(arguments: &[&str], name: &str) {
    for _ in 0..8 {
        let found = findings(arguments, name);
        for stream in found["streams"].as_array().unwrap() {
            if stream["calls"].as_u64().unwrap() > 1000 {
                assert!(stream["in_kernel_ns"].as_u64().unwrap() > 0, "{found:#}");
            }
        }
    }
}

#[test]
fn a_program_that_runs_others_is_not_taken_for_c() {
    // Interpreters and virtual machines offer their own functions to what they load.
    let offered: String = (0..150)
        .map(|n| format!("int offered_{n}(void) {{ return {n}; }}\n"))
        .collect();
    let main =
        "int main(void) { for (int i = 0; i < 3000; i++) { puts(\"x\"); fflush(stdout); } }\n";
    // The compiler of Vala, which becomes C on its way, leaves such a name.
    let named = "#ifdef NAMED\nint NAMED(void) { return 0; }\n#endif\n";
    let source = format!("#include <stdio.h>\n{named}{offered}{main}");
    for (option, language) in [
        ("-rdynamic", "unrecognised"),
        ("-DNAMED=_vala_main", "unrecognised"),
        ("-O1", "C"),
    ] {
        let Some(program) = compiled(&format!("host{option}"), &[option], &source) else {
            return;
        };
        let found = findings(&["--exact", "--", &program], "host.json");
        assert_eq!(
            found["streams"][0]["language"], language,
            "{option}: {found:#}"
        );
    }
}

#[test]
fn a_program_with_the_name_of_an_interpreter_is_not_taken_for_it() {
    let script = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done";
    for (name, exact) in [("perl", &[][..]), ("perl", &["--exact"]), ("node", &[])] {
        let copy = scratch(name);
        // By another process: a test that forks meanwhile would keep the file open for writing, and it could not be run.
        let copied = Command::new("cp").arg("/bin/sh").arg(&copy).status();
        assert!(copied.unwrap().success());
        let words = [exact, &["--", copy.to_str().unwrap(), "-c", script]].concat();
        let found = findings(&words, "perl.json");
        // On a busy machine stdout and stderr may not be told apart.
        let writes = &found["streams"][0];
        assert_eq!(writes["language"], "unrecognised", "{found:#}");
    }
}

#[test]
fn a_few_large_writes_among_lines_do_not_name_them() {
    // The null device reads none of it: of the constant, which was in no memory yet, no last byte is seen.
    let text_of_it = "#include <string.h>\n#include <unistd.h>\nstatic char large[65536];\n\
        int main(void) { memset(large, 'x', sizeof large); for (int n = 0; n < 2600; n++)\n\
        if (n % 26) write(1, \"hi there\\n\", 9); else write(1, large, sizeof large); }\n";
    let Some(program) = compiled("mixed", &["-w"], text_of_it) else {
        return;
    };
    let (report, file) = (scratch("mixed.json"), scratch("mixed.out"));
    for (to, named) in [
        (Path::new("/dev/null"), &["small writes", "line"][..]),
        (&file, &["line"]),
    ] {
        let output = outpace(&["--exact", "--json", report.to_str().unwrap(), &program])
            .stdout(std::fs::File::create(to).unwrap())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let found = json(&report);
        let buffering = found["streams"][0]["buffering"].as_str().unwrap();
        assert!(named.contains(&buffering), "{found:#}");
    }
}

#[test]
fn the_exact_mode_does_with_little_locked_memory() {
    let mut command = Command::new("setpriv");
    let words = [
        "--bounding-set=-ipc_lock",
        "--inh-caps=-ipc_lock",
        "prlimit",
        "--memlock=0",
    ];
    command.args(words).arg(env!("CARGO_BIN_EXE_outpace"));
    if !installed("setpriv") || !installed("prlimit") {
        return;
    }
    let output = command
        .args(["trace", "--exact", "echo", "hello"])
        .output()
        .unwrap();
    let report = text(&output.stderr);
    assert_eq!(text(&output.stdout), "hello\n", "{report}");
    assert!(report.contains("1 write call, 6 bytes"), "{report}");
}

#[test]
fn without_leave_to_see_every_call_the_program_is_not_blamed() {
    if !installed("strace") {
        return;
    }
    let refusal = "inject=perf_event_open,ptrace:error=EPERM";
    let trace = ["-e", "trace=perf_event_open,ptrace", "-o", "/dev/null"];
    let output = Command::new("strace")
        .args(trace)
        .args(["-e", refusal, env!("CARGO_BIN_EXE_outpace")])
        .args(["trace", "--exact", "true"])
        .output()
        .unwrap();
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("run it without --exact"), "{error}");
}

#[test]
fn the_name_of_a_program_does_nothing_to_the_terminal() {
    let name = scratch("e\u{1b}]0;title\u{7}vil");
    std::fs::copy("/bin/echo", &name).unwrap();
    let name = name.to_str().unwrap();
    let exact = run(&["--exact", "--", name, "hello"]);
    assert!(
        text(&exact.stderr).contains(r"e\u{1b}]0;title\u{7}vil"),
        "{}",
        text(&exact.stderr)
    );
    let missing = run(&["--", &format!("{name}\u{9b}31m")]);
    for output in [exact, missing] {
        let reported = text(&output.stderr);
        let harmless = |c: char| !c.is_control() || c == '\n';
        assert!(reported.chars().all(harmless), "{reported:?}");
    }
}

#[test]
fn the_command_in_a_remedy_can_be_run() {
    let print = "#include <stdio.h>\nint main(void) { for (int n = 0; n < 200000; n++) { puts(\"a line\"); fflush(stdout); } }\n";
    let Some(program) = compiled("p\u{1b}]0;t\u{7}'rinter", &[], print) else {
        return;
    };
    if !installed("bash") {
        return;
    }
    let report = scratch("can-be-run.txt");
    let script = "exec \"$1\" trace \"$2\" 'an\nargument' 2>\"$3\"";
    let paths = [
        env!("CARGO_BIN_EXE_outpace"),
        &program,
        report.to_str().unwrap(),
    ];
    let words = [&["-c", script, "sh"], &paths[..]].concat();
    let mut terminal = Terminal::start("sh", &words, false);
    assert_eq!(terminal.wait().code(), Some(0));
    let report = std::fs::read_to_string(report).unwrap();
    let command = report
        .split('`')
        .nth(1)
        .unwrap_or_else(|| panic!("{report}"));
    let plain = command
        .trim_start_matches("stdbuf -o64K ")
        .trim_start_matches("outpace run -- ");
    assert_ne!(plain, command);
    let script = format!("printf '%s|' {plain}");
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(
        text(&output.stdout),
        format!("{program}|an\nargument|"),
        "{command}"
    );
}

#[test]
fn without_proc_everything_that_needs_it_says_so_at_once() {
    let outpace = env!("CARGO_BIN_EXE_outpace");
    // As root, in a mount namespace of its own; or in a process namespace with the /proc of another.
    let away = ["-m", "umount -l /proc && exec"];
    let another = ["-fp", "true && exec"];
    for (arguments, [namespace, prepare]) in [
        ("trace -- echo hello", away),
        ("trace --exact -- echo hello", away),
        ("bench lines", away),
        ("", away),
        ("trace -- echo hello", another),
    ] {
        let script = format!("{prepare} {outpace} {arguments}");
        let output = Command::new("unshare")
            .args([namespace, "sh", "-c", &script])
            .stdin(Stdio::null())
            .output();
        let Ok(output) = output else {
            eprintln!("skipped: no unshare");
            return;
        };
        let said = text(&output.stderr);
        if said.contains("unshare") || said.contains("umount") {
            eprintln!("skipped: {said}");
            return;
        }
        assert_eq!(output.status.code(), Some(1), "{arguments}: {said}");
        assert!(
            said.starts_with("outpace: /proc: not mounted here"),
            "{arguments}: {said}"
        );
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn without_a_null_device_pipes_are_what_they_are_elsewhere() {
    let outpace = env!("CARGO_BIN_EXE_outpace");
    let script = format!("mount -t tmpfs none /dev && exec {outpace} trace -- cat");
    let mut tracer = Command::new("unshare");
    let tracer = tracer.args(["-m", "sh", "-c", &script]);
    let tracer = tracer.stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut tracer) = tracer.stderr(Stdio::piped()).spawn() else {
        return eprintln!("skipped: no unshare");
    };
    // It may have been refused, and be gone.
    let _ = tracer.stdin.take().unwrap().write_all(b"a line\n");
    let output = tracer.wait_with_output().unwrap();
    let said = text(&output.stderr);
    if said.contains("unshare") || said.contains("mount") {
        return eprintln!("skipped: {said}");
    }
    assert!(output.status.success(), "{said}");
    assert_eq!(output.stdout, b"a line\n", "{said}");
}

#[test]
fn a_report_on_a_terminal_keeps_to_its_width() {
    for columns in [80, 50, 20, 7] {
        let loop_of_three = "read x; for i in 1 2 3; do echo $i; done > /dev/null";
        let mut terminal = Terminal::start(
            env!("CARGO_BIN_EXE_outpace"),
            &["trace", "--exact", "sh", "-c", loop_of_three],
            false,
        );
        terminal.resize(columns, 24);
        terminal.type_keys("\n");
        assert!(terminal.wait().success());
        let shown = text(&terminal.whole());
        assert!(shown.contains("\x1b["), "no colour: {shown:?}");
        let mut lines = shown.lines().map(|line| {
            // Without the colours.
            let mut parts = line.split('\x1b');
            let first = parts.next().unwrap_or_default().chars().count();
            let rest = parts.map(|part| {
                part.split_once('m')
                    .map_or(0, |(_, text)| text.chars().count())
            });
            first + rest.sum::<usize>()
        });
        assert!(lines.all(|line| line <= usize::from(columns)), "{shown}");
    }
}

#[test]
fn a_slow_reader_is_named_as_the_limit() {
    let slow = scratch("slow");
    let script = format!(
        "{} trace -- sh -c 'head -c 400000 /dev/zero' 2>{} | (while head -c 20000 >/dev/null; do sleep 0.05; \
         test -n \"$(head -c 1 | tr '\\0' x)\" || break; done)",
        env!("CARGO_BIN_EXE_outpace"),
        slow.display()
    );
    assert!(
        Command::new("bash")
            .args(["-c", &script])
            .status()
            .unwrap()
            .success()
    );
    let report = std::fs::read_to_string(&slow).unwrap();
    assert!(report.starts_with("Output is the problem: "), "{report}");
    assert!(report.contains("The limit is the reader"), "{report}");
    assert!(report.contains("outpace run -- "), "{report}");
}

/// A program that writes blocks to a non-blocking stdout and waits in another call until there is room, and its limit beside a slow reader.
#[test]
fn a_wait_for_room_outside_of_the_writes_is_one_for_the_reader() {
    if !installed("python3") {
        return;
    }
    let write = "import os, select, selectors, sys\nos.set_blocking(1, False)\n\
        def wait():\n WAIT\n\
        for n in range(400):\n left = bytes(1023) + b\"\\n\"\n while left:\n  try: left = left[os.write(1, left):]\n  except BlockingIOError: wait()\n";
    let epoll = "e = select.epoll(); e.register(1, select.EPOLLOUT); e.poll()";
    let waits = [
        "p = select.poll(); p.register(1, select.POLLOUT); p.poll()",
        "select.select([], [1], [])",
        epoll,
    ];
    let file = scratch("room.json");
    let limit = |mode: &str, wait: &str| {
        let program = scratch("room.py");
        std::fs::write(&program, write.replace("WAIT", wait)).unwrap();
        let trace = format!("{} trace {mode}", env!("CARGO_BIN_EXE_outpace"));
        let script = format!(
            "{trace} --json {} python3 {} 2>/dev/null | while test \"$(head -c 16384 | wc -c)\" -gt 0; do sleep 0.02; done",
            file.display(),
            program.display()
        );
        let status = Command::new("sh").args(["-c", &script]).status();
        assert!(status.unwrap().success());
        let found = json(&file);
        (
            found["verdict"]["limit"].as_str().unwrap().to_owned(),
            found,
        )
    };
    for wait in waits {
        let (limit, found) = limit("", wait);
        assert_eq!(limit, "reader", "{wait}: {found:#}");
    }
    // It sees the writes alone.
    let (limit, found) = limit("--exact", epoll);
    assert_eq!(limit, "unknown", "{found:#}");
}

#[test]
fn a_shell_that_waits_for_its_commands_is_no_reader() {
    let file = scratch("pipeline.txt");
    let trace = |lines: u64| {
        let outpace = env!("CARGO_BIN_EXE_outpace");
        let trace = format!("{outpace} trace seq {lines} 2>{}", file.display());
        // The second shell has the pipe as its input.
        let script = format!("{trace} | sh -c 'cat | wc -l'");
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(text(&output.stdout), format!("{lines}\n"));
        std::fs::read_to_string(&file).unwrap()
    };
    // It may end before it is looked at.
    let reports = [100_000, 1_000_000, 10_000_000].map(trace);
    let mut seen = reports.iter().filter(|report| report.contains("pipe:["));
    let report = seen.next().unwrap_or_else(|| panic!("{reports:?}"));
    assert!(!report.contains("sh (process"), "{report}");
}

#[test]
fn a_reader_is_named_also_where_it_is_slow() {
    let file = scratch("slow.txt");
    let outpace = env!("CARGO_BIN_EXE_outpace");
    let trace = format!("{outpace} trace seq 20000 2>{}", file.display());
    // Of a second it reads for some microseconds.
    let slow = "import os, time\nwhile os.read(0, 1 << 16): time.sleep(1)";
    if !installed("python3") {
        return;
    }
    let script = format!("{trace} | python3 -c '{slow}'");
    assert!(
        Command::new("sh")
            .args(["-c", &script])
            .status()
            .unwrap()
            .success()
    );
    let report = std::fs::read_to_string(&file).unwrap();
    assert!(report.contains("read by python3"), "{report}");
}

#[test]
fn a_wait_beside_another_thread_that_computes_is_no_limit() {
    let text_of_it = "#include <pthread.h>\n#include <unistd.h>\nstatic volatile int done;\n\
        static void *log_(void *none) { static char block[8192];\n\
        for (int n = 0; n < 100; n++) if (write(1, block, sizeof block) < 0) break;\n\
        done = 1; return none; }\n\
        int main(void) { pthread_t logger; if (pthread_create(&logger, 0, log_, 0)) return 1;\n\
        while (!done) ; return pthread_join(logger, 0); }\n";
    let Some(program) = compiled("computes", &["-O1", "-pthread"], text_of_it) else {
        return;
    };
    for exact in ["", "--exact"] {
        let report = scratch("computes.json");
        let script = format!(
            "PATH='{}' {} trace {exact} --json {} {program} 2>/dev/null | while head -c 8192 >/dev/null; do sleep 0.005; \
             test -n \"$(head -c 1 | tr '\\0' x)\" || break; done",
            corpus::path_without_perf(),
            env!("CARGO_BIN_EXE_outpace"),
            report.display()
        );
        let status = Command::new("bash").args(["-c", &script]).status();
        assert!(status.unwrap().success());
        let found = json(&report);
        // By ptrace, which stops each call for as long as it takes, no wait is told.
        assert!(
            found["mode"] == "ptrace" || found["streams"][0]["waiting_ns"].as_u64() > Some(0),
            "{found:#}"
        );
        let saved = &found["verdict"]["fast_reader_saves_interval_ns"];
        assert_eq!(saved[0], 0, "{found:#}");
        if found["mode"] == "sampled" {
            assert_eq!(found["verdict"]["limit"], "none", "{found:#}");
        }
    }
}

#[test]
fn of_two_writers_of_a_terminal_the_time_until_it_is_read_counts_once() {
    let text_of_it = "#include <sys/wait.h>\n#include <unistd.h>\nint main(void) {\n\
        char line[1000] = {0}; int child = fork();\n\
        for (int n = 0; n < 100; n++) if (write(1, line, sizeof line) < 0) return 1;\n\
        return child > 0 && wait(0) < 0; }\n";
    let Some(program) = compiled("two_writers", &[], text_of_it) else {
        return;
    };
    let report = scratch("two_writers.json");
    let words = ["trace", "--json", report.to_str().unwrap(), &program];
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_outpace"), &words, true);
    let sleeps_in_write = |process: &String| {
        let call = std::fs::read_to_string(format!("/proc/{process}/syscall"));
        let name = std::fs::read_to_string(format!("/proc/{process}/comm"));
        call.is_ok_and(|call| call.starts_with("1 "))
            && name.is_ok_and(|name| name == "two_writers\n")
    };
    wait_until("both sleep in writes", || {
        let all = std::fs::read_dir("/proc").unwrap();
        let all = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        all.filter(sleeps_in_write).count() == 2
    });
    // Time for looks at both.
    std::thread::sleep(Duration::from_millis(500));
    terminal.unstall();
    assert!(terminal.wait().success());
    let found = json(&report);
    let [waiting, wall] = [&found["streams"][0]["waiting_ns"], &found["wall_ns"]];
    let [waiting, wall] = [waiting, wall].map(|ns| ns.as_u64().unwrap());
    assert!(waiting > 0 && waiting < wall + wall / 4, "{found:#}");
}

/// The verdict on a program, and the notes beside it.
fn limit_and_notes(arguments: &[&str], name: &str) -> (String, String) {
    let found = findings(arguments, name);
    let limit = found["verdict"]["limit"].as_str().unwrap().to_owned();
    (limit, found["notes"].to_string())
}

#[test]
fn writes_that_could_not_be_seen_are_no_proof_of_their_absence() {
    let ring = "#include <sys/syscall.h>\n#include <unistd.h>\nint main(void) {\n\
        char parameters[120] = {0}; long ring = syscall(SYS_io_uring_setup, 8, parameters);\n\
        usleep(200000); return ring < 0; }\n";
    if let Some(program) = compiled("ring", &[], ring) {
        if Command::new(&program).status().unwrap().success() {
            for exact in [&[][..], &["--exact"]] {
                let (limit, _) = limit_and_notes(&[exact, &[&*program]].concat(), "ring.json");
                assert_eq!(limit, "unknown");
            }
        } else {
            println!("skipped: io_uring is not permitted");
        }
    }
    let print = "#include <stdio.h>\nint main(void) { for (int n = 0; n < 100000; n++) { puts(\"a line\"); fflush(stdout); } }\n";
    let Some(_) = compiled("print", &[], print) else {
        return;
    };
    let (program, source) = (scratch("print32"), scratch("print.c"));
    let mut compiler = Command::new("cc");
    let compiler = compiler.args(["-m32", "-o"]).args([&program, &source]);
    if compiler.output().unwrap().status.success() {
        let program = program.to_str().unwrap();
        let (limit, _) = limit_and_notes(&["--exact", program], "print32.json");
        assert_eq!(limit, "unknown");
        assert_eq!(write_calls(&findings(&[program], "print32.json")), 100_000);
        // Where it is listened to: its registers hold other arguments than ours.
        let report = scratch("print32.json");
        let words = ["trace", "--json", report.to_str().unwrap(), program];
        let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_outpace"), &words, false);
        assert_eq!(terminal.wait().code(), Some(0));
        let found = json(&report);
        let mut streams = found["streams"].as_array().unwrap().iter();
        let is_standard = |stream: &Value| stream["descriptor"].as_i64().is_none_or(|at| at <= 2);
        assert!(streams.all(is_standard), "{found:#}");
    } else {
        println!("skipped: no 32-bit programs are compiled here");
    }
    let (limit, notes) = limit_and_notes(&["true"], "silent.json");
    assert_eq!(limit, "none");
    assert!(
        notes.contains("--exact sees all but mapped memory"),
        "{notes}"
    );
}

/// Sends its input's bytes (or splices them) one by one to its stdout, a socket that this program's parent reads; then writes a line to
/// a file.
const SENDER: &str = "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <stdlib.h>\n#include <sys/socket.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
    int main(int c, char **v) { int pair[2]; char byte[4096];\n\
    if (*v[1] == 's') socketpair(AF_UNIX, SOCK_STREAM, 0, pair); else pipe(pair);\n\
    if (fork()) { close(pair[1]); while (read(pair[0], byte, sizeof byte) > 0); return wait(0) < 0; }\n\
    int zeros = open(v[2], O_RDONLY), file = open(v[3], O_WRONLY | O_CREAT, 0600);\n\
    close(pair[0]); dup2(pair[1], 1); close(pair[1]);\n\
    for (int n = 0; n < 100000; n++) if (*v[1] == 's') send(1, byte, 1, 0); else splice(zeros, 0, 1, 0, 1, 0);\n\
    write(file, byte, 1); }\n";

#[test]
fn what_is_sent_or_spliced_is_not_denied() {
    let Some(program) = compiled("sender", &[], SENDER) else {
        return;
    };
    let [input, output] = ["sender.in", "sender.out"].map(scratch);
    std::fs::write(&input, [0; 100_000]).unwrap();
    let files = [input.to_str().unwrap(), output.to_str().unwrap()];
    for way in ["send", "pipe"] {
        let words = [&[&*program, way][..], &files].concat();
        let found = findings(&words, "sender.json");
        let limit = &found["verdict"]["limit"];
        // A look at one that splices may not be permitted.
        if way == "send" || found["overhead_ns"].as_u64() > Some(0) {
            assert_eq!(limit, "unknown", "{found:#}");
        }
        let found = findings(&[&["--exact"][..], &words].concat(), "sender.json");
        let stream = found["streams"].as_array().unwrap().iter();
        let stream = stream
            .max_by_key(|stream| stream["calls"].as_u64())
            .unwrap();
        let kind = ["pipe", "socket"][usize::from(way == "send")];
        assert_eq!(stream["calls"], 100_000, "{found:#}");
        assert_eq!(stream["target"]["kind"], kind, "{found:#}");
    }
}

#[test]
fn of_short_children_of_a_running_process_most_writes_are_known_to_be_unseen() {
    let script = "read x; i=0; while [ $i -lt 100 ]; do i=$((i+1)); \
        sh -c 'i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo $i; done'; done; read y";
    let mut child = Command::new("sh")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let file = scratch("short children.json");
    let process = child.id().to_string();
    let mut watching = outpace(&["--json", file.to_str().unwrap(), "-p", &process])
        .spawn()
        .unwrap();
    wait_until("the watcher", || watches(watching.id(), child.id()));
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"\n").unwrap();
    wait_until("the writes", || io_count(child.id(), "syscw") >= 10_000);
    // It looks once more before it ends.
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&watching),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    watching.wait().unwrap();
    drop(stdin);
    child.wait().unwrap();
    let found = json(&file);
    assert!(
        found["tree"]["write_calls"].as_u64() >= Some(10_000),
        "{found:#}"
    );
}

#[test]
fn the_processor_time_of_children_that_nobody_waits_for_is_in_the_share() {
    // Reaped by the kernel itself, or left behind.
    let script = "pipe(R, W); $SIG{CHLD} = $ARGV[0]; if (!fork) { close R; $| = 1; print \"line $_\\n\" for 1..100000; \
        close $_ for W, STDOUT, STDERR; sleep 5; exit } close W; <R>";
    if !installed("perl") {
        return;
    }
    for (children, exact) in [
        ("IGNORE", &[][..]),
        ("DEFAULT", &[]),
        ("DEFAULT", &["--exact"]),
    ] {
        let words = [exact, &["--", "perl", "-e", script, children]].concat();
        let found = findings(&words, "unwaited.json");
        let of = |value: &Value| value.as_f64().unwrap();
        let verdict = &found["verdict"];
        let shared_ns = of(&verdict["share"]) * of(&verdict["now_ns"]);
        let stream = &found["streams"][0];
        assert!(shared_ns > 0.7 * of(&stream["in_kernel_ns"]), "{found:#}");
    }
}

#[test]
fn children_that_were_there_before_the_program_are_not_its_own() {
    for exact in ["", "--exact"] {
        let file = scratch("before.json");
        // The shell becomes `outpace`.
        let script = "yes >/dev/null 2>&1 & exec \"$0\" trace $1 --json \"$2\" -- sh -c 'sleep 0.1; kill $1' sh $!";
        let mut shell = Command::new("sh");
        shell.args(["-c", script, env!("CARGO_BIN_EXE_outpace"), exact]);
        let output = shell.arg(&file).output().unwrap();
        let found = json(&file);
        assert!(found["streams"].as_array().unwrap().is_empty(), "{found:#}");
        let report = text(&output.stderr);
        assert!(!report.contains("left behind"), "{report}");
    }
}

#[test]
fn a_write_that_has_not_returned_counts_for_as_long_as_it_was_watched() {
    let mut writer = Command::new("sh")
        .args(["-c", "exec yes"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Until the pipe is full, from which nobody reads.
    wait_until("the writer's sleep", || {
        let call = std::fs::read_to_string(format!("/proc/{}/syscall", writer.id()));
        call.unwrap_or_default()
            .starts_with(&format!("{} 0x1 ", libc::SYS_write))
    });
    let sleeps = || switches(writer.id() as i32);
    let before = sleeps();
    let file = scratch("not returned.json");
    let words = ["--exact", "--json", file.to_str().unwrap(), "-p"];
    let mut watching = outpace(&[&words[..], &[&*writer.id().to_string()]].concat())
        .spawn()
        .unwrap();
    wait_until("the watcher", || watches(watching.id(), writer.id()));
    // By ptrace, the writer sleeps once as it is attached to, once as it enters the write again, and then in the write.
    wait_until("the write", || {
        sleeps() >= before + 3 || !is_tracer(watching.id(), writer.id())
    });
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&watching),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    watching.wait().unwrap();
    writer.kill().unwrap();
    writer.wait().unwrap();
    let found = json(&file);
    assert_eq!(found["streams"][0]["calls"], 1, "{found:#}");
}

#[test]
fn writes_that_all_fail_have_no_verdict() {
    let text_of_it = "#include <unistd.h>\n\
        int main(void) { int failed = 0; for (int n = 0; n < 100000; n++) failed += write(1, \"x\\n\", 2) < 0;\n\
        return failed < 100000; }\n";
    let Some(program) = compiled("failing", &[], text_of_it) else {
        return;
    };
    for (redirection, why) in [
        (">/dev/full", "write calls failed"),
        (">&-", "writes to closed files"),
    ] {
        let report = scratch("failing.json");
        let tracer = env!("CARGO_BIN_EXE_outpace");
        let json_file = report.display();
        let script = format!("{tracer} trace --json {json_file} {program} {redirection}");
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let said = text(&output.stderr);
        assert!(output.status.success(), "{said}");
        let found = json(&report);
        assert_eq!(found["verdict"]["limit"], "unknown", "{found:#}");
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn an_installed_program_that_calls_write_itself_is_not_told_to_change_stdio() {
    let report = scratch("dd.json");
    let of = ["if=/dev/zero", "bs=16", "count=100000", "status=none"];
    let output = outpace(&["--json", report.to_str().unwrap(), "--", "dd"])
        .args(of)
        .stdout(std::fs::File::create(scratch("dd.out")).unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found = json(&report);
    assert_ne!(found["streams"][0]["language"], "C", "{found:#}");
    let remedies = found["verdict"]["remedies"].to_string();
    assert!(!remedies.contains("stdbuf"), "{remedies}");
}

#[test]
fn writes_that_mostly_write_nothing_have_no_verdict() {
    // A limit on the size of files is met as a full disk is: a part succeeds.
    for (name, body) in [
        ("full", "failed += write(1, \"a line of text\\n\", 15) < 0;"),
        ("empty", "failed += write(1, \"\", n % 100 == 0) == 0;"),
    ] {
        let text_of_it = format!(
            "#include <signal.h>\n#include <unistd.h>\n\
            int main(void) {{ int failed = 0; signal(SIGXFSZ, SIG_IGN); for (int n = 0; n < 100000; n++) {body}\n\
            return failed < 90000; }}\n"
        );
        let Some(program) = compiled(name, &[], &text_of_it) else {
            return;
        };
        let report = scratch("nothing.json");
        let limited = format!("ulimit -f 64; exec {program}");
        let output = outpace(&[
            "--json",
            report.to_str().unwrap(),
            "--",
            "sh",
            "-c",
            &limited,
        ])
        .stdout(std::fs::File::create(scratch("nothing.out")).unwrap())
        .output()
        .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let found = json(&report);
        assert_eq!(found["verdict"]["limit"], "unknown", "{found:#}");
        let said = text(&output.stderr);
        assert!(said.contains("had nothing to write"), "{said}");
    }
}

#[test]
fn what_other_threads_write_after_the_first_one_has_ended_is_seen() {
    let text_of_it = "#include <pthread.h>\n#include <unistd.h>\n\
        static void *log_(void *none) { for (int n = 0; n < 40000; n++) {\n\
        if (n % 200 == 0) usleep(2000);\n\
        if (write(1, \"a line\\n\", 7) != 7) _exit(1); } return none; }\n\
        int main(void) { pthread_t one; if (pthread_create(&one, 0, log_, 0)) return 1; pthread_exit(0); }\n";
    let Some(program) = compiled("headless", &["-pthread"], text_of_it) else {
        return;
    };
    for exact in [&[][..], &["--exact"]] {
        let found = findings(&[exact, &[&*program]].concat(), "headless.json");
        let streams = found["streams"].as_array().unwrap();
        assert_eq!(streams.len(), 1, "{found:#}");
        assert_eq!(streams[0]["calls"], 40_000, "{found:#}");
        assert_eq!(streams[0]["target"]["kind"], "pipe", "{found:#}");
        // It has slept as long.
        assert!(found["wall_ns"].as_u64() >= Some(400_000_000), "{found:#}");
    }
}

#[test]
fn no_pipe_is_polled_that_the_program_writes_to() {
    if !installed("strace") {
        return;
    }
    let log = scratch("polls");
    let calls = "trace=poll,ppoll,select,pselect6,epoll_ctl";
    let mut tracer = Command::new("strace");
    tracer.args(["-f", "-y", "-e", calls, "-o"]).arg(&log);
    tracer.args([env!("CARGO_BIN_EXE_outpace"), "trace", "echo", "a line"]);
    let output = tracer.output().unwrap();
    let report = text(&output.stderr);
    if output.stdout.is_empty() {
        return println!("skipped: strace may not trace here: {report}");
    }
    assert_eq!(text(&output.stdout), "a line\n");
    let polled = std::fs::read_to_string(&log).unwrap();
    assert!(!polled.contains("pipe:["), "{polled}");
}

#[test]
fn a_signal_to_the_tracer_alone_is_passed_on() {
    for exact in [&[][..], &["--exact"]] {
        // The last one is a real-time signal.
        for signal in [
            "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM", "PROF", "PWR", "IO", "40",
        ] {
            let script =
                format!("trap 'exit 3' {signal}; echo ready; while :; do sleep 0.01; done");
            // Once beside perf, which is not to get it.
            let start = if signal == "INT" {
                with_stacks
            } else {
                outpace
            };
            let tracer = start(&[exact, &["--", "sh", "-c", &script]].concat());
            // Where this test runs in the background of a shell, SIGINT and SIGQUIT are ignored.
            let mut tracer = Command::new("env")
                .arg("--default-signal=INT,QUIT")
                .arg(tracer.get_program())
                .args(tracer.get_args())
                .envs(
                    tracer
                        .get_envs()
                        .filter_map(|(name, value)| Some((name, value?))),
                )
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut ready = [0; 6];
            let stdout = tracer.stdout.as_mut().unwrap();
            stdout.read_exact(&mut ready).unwrap();
            let words = [&*format!("-{signal}"), &tracer.id().to_string()];
            assert!(Command::new("kill").args(words).status().unwrap().success());
            assert_eq!(tracer.wait().unwrap().code(), Some(3), "{exact:?} {signal}");
        }
    }
}

#[test]
fn an_alarm_from_before_the_tracer_is_for_the_program() {
    if !installed("perl") {
        return;
    }
    let report = scratch("alarm.txt");
    // It may come before the tracer is ready, and end that.
    let told = [1, 4, 16, 64].into_iter().any(|seconds| {
        let alarm = format!("alarm {seconds}; exec @ARGV");
        let words = ["-e", &alarm, env!("CARGO_BIN_EXE_outpace"), "trace"];
        let mut tracer = Command::new("perl");
        let tracer = tracer.args(words).args(["--", "sleep", "100"]);
        let stderr = std::fs::File::create(&report).unwrap();
        let status = tracer.stderr(stderr).status().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGALRM));
        report.metadata().unwrap().len() > 0
    });
    let report = std::fs::read_to_string(report).unwrap();
    assert!(
        told && report.contains("the program ended with signal SIGALRM"),
        "{report}"
    );
}

#[test]
fn a_signal_that_comes_before_the_program_begins_ends_it() {
    let mut tracers = vec![
        outpace(&["--profile", scratch("early").to_str().unwrap()]),
        outpace(&["--exact"]),
    ];
    if installed("setpriv") {
        let mut tracer = scripted::without_privileges("trace");
        tracer.arg("--exact");
        tracers.push(tracer);
    }
    for mut tracer in tracers {
        let tracer = tracer.args(["--", "sleep", "1000"]).stderr(Stdio::null());
        let mut tracer = tracer.spawn().unwrap();
        let mut child = None;
        // It waits in a read for what watches it, until it sleeps.
        let is_it = |child: &String| {
            let file = |name| std::fs::read_to_string(format!("/proc/{child}/{name}"));
            match file("comm").unwrap_or_default().trim_end() {
                "outpace" => file("syscall").is_ok_and(|call| call.starts_with("0 ")),
                name => name == "sleep",
            }
        };
        wait_until("the child", || {
            let tasks = std::fs::read_dir(format!("/proc/{}/task", tracer.id())).unwrap();
            let lists = tasks
                .flatten()
                .flat_map(|task| std::fs::read_to_string(task.path().join("children")));
            let all = lists.collect::<String>();
            child = all.split_whitespace().map(str::to_owned).find(is_it);
            child.is_some()
        });
        let child = child.unwrap();
        let words = ["-TERM", &child];
        assert!(Command::new("kill").args(words).status().unwrap().success());
        let mut status = None;
        wait_until("the tracer's end", || {
            status = tracer.try_wait().unwrap();
            status.is_some()
        });
        assert_eq!(status.unwrap().signal(), Some(15), "{status:?}");
    }
}

#[test]
fn a_program_that_run_cannot_help_is_not_told_to_use_it() {
    let print = "#include <stdio.h>\nint main(void) { for (int n = 0; n < 200000; n++) { puts(\"a line\"); fflush(stdout); } }\n";
    let Some(program) = compiled("alone", &[], print) else {
        return;
    };
    let mut compiler = Command::new("cc");
    let compiler = compiler
        .args(["-static", "-o", &program])
        .arg(format!("{program}.c"));
    if !compiler.output().unwrap().status.success() {
        return println!("skipped: no static programs are linked here");
    }
    let report = scratch("alone.json");
    let words = ["trace", "--json", report.to_str().unwrap(), &program];
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_outpace"), &words, false);
    assert_eq!(terminal.wait().code(), Some(0));
    let found = json(&report);
    let remedies = found["verdict"]["remedies"].as_array().unwrap();
    // Not behind a reader that is the limit: there it helps every program.
    let expected = "unrecognised: let it write larger blocks";
    assert!(
        remedies.iter().any(|remedy| remedy == expected),
        "{found:#}"
    );
}

#[test]
fn without_privileges_a_program_may_leave_its_process_group() {
    let words = ["--exact", "--", "setsid", "-w", "sh", "-c", "echo hello"];
    let mut command = scripted::without_privileges("trace");
    let output = command.args(words).output().unwrap();
    let report = text(&output.stderr);
    if report.contains("ptrace") && !output.status.success() {
        return println!("skipped: {report}");
    }
    assert_eq!(text(&output.stdout), "hello\n", "{report}");
    assert!(report.contains("sh: stdout -> pipe"), "{report}");
}

#[test]
fn threads_that_sleep_do_not_wait_for_a_processor() {
    let text_of_it = "#include <pthread.h>\n#include <unistd.h>\n\
        static void *sleepy(void *none) {\n\
        for (int n = 0; n < 20; n++) { usleep(10000); if (write(1, \"x\\n\", 2) != 2) _exit(1); }\n\
        return none; }\n\
        int main(void) { pthread_t all[100];\n\
        for (int n = 0; n < 100; n++) if (pthread_create(all + n, 0, sleepy, 0)) return 1;\n\
        for (int n = 0; n < 100; n++) pthread_join(all[n], 0); }\n";
    let Some(program) = compiled("sleepy", &["-pthread"], text_of_it) else {
        return;
    };
    // Each thread sleeps for 200 ms, and waits for a processor in the rest of the time at most. On a crowded machine Linux 6.18 once in a
    // hundred runs counts such a sleep as a wait of the first thread.
    let mut runs = std::iter::repeat_with(|| findings(&[&program], "sleepy.json")).take(3);
    let has_slept = |found: &serde_json::Value| {
        let [wall_ns, delayed_ns] = ["wall_ns", "delayed_ns"].map(|name| found[name].as_u64());
        wall_ns.unwrap() - delayed_ns.unwrap() >= 200_000_000
    };
    let found = runs.find(has_slept).expect("a run that sleeps");
    // Two runs differ by less than a tenth, which is in what may be saved.
    let [user_ns, system_ns, now_ns] = [
        &found["user_ns"],
        &found["system_ns"],
        &found["verdict"]["now_ns"],
    ]
    .map(|ns| ns.as_u64().unwrap());
    let saved = &found["verdict"]["blocks_save_interval_ns"][1];
    let most_ns = user_ns + system_ns + now_ns / 10;
    assert!(saved.as_u64().unwrap() <= most_ns, "{found:#}");
}

#[test]
fn what_goes_on_after_the_program_is_told_of() {
    for exact in [&[][..], &["--exact"]] {
        let words = [
            exact,
            &["--", "sh", "-c", "sleep 2 >/dev/null 2>&1 & echo $!"],
        ]
        .concat();
        let (_, notes) = limit_and_notes(&words, "left.json");
        // It may not have become sleep yet.
        let goes_on = "), which the program left behind, goes on: `outpace trace -p ";
        assert!(notes.contains(goes_on), "{notes}");
    }
}

#[test]
fn without_privileges_too_a_program_that_leaves_another_behind_ends() {
    if !installed("setpriv") {
        return;
    }
    let mut command = scripted::without_privileges("trace");
    let left = "sleep 30 >/dev/null 2>&1 & exit 3";
    let output = command.args(["--exact", "--", "sh", "-c", left]).output();
    let output = output.unwrap();
    let report = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{report}");
    assert!(report.contains("goes on: `outpace trace -p "), "{report}");
}

#[test]
fn without_privileges_too_children_that_end_at_once_are_not_waited_for() {
    // On one processor a child may end before its parent has come back from fork(2).
    let text_of_it = "#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>\nint main(void) {\n\
        for (int n = 0; n < 3000; n++) { if (fork() == 0) _exit(0); wait(0); }\n\
        if (fork() == 0) { close(1); close(2); sleep(100); }\n\
        return 3; }\n";
    let program = compiled("forks", &[], text_of_it);
    let (Some(program), true, true) = (program, installed("setpriv"), installed("taskset")) else {
        return;
    };
    let tracer = scripted::without_privileges("trace");
    let mut tracer = Command::new("taskset")
        .args(["-c", "0"])
        .arg(tracer.get_program())
        .args(tracer.get_args())
        .args(["--exact", &program])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut status = None;
    wait_until("the tracer's end", || {
        status = tracer.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(3));
    let report = text(&tracer.wait_with_output().unwrap().stderr);
    let (before, _) = report
        .split_once(" (forks), which the program left")
        .unwrap();
    let left = before.rsplit(' ').next().unwrap();
    assert!(Command::new("kill").arg(left).status().unwrap().success());
}

#[cfg(target_arch = "x86_64")]
#[test]
fn without_privileges_too_calls_of_another_interface_are_no_writes() {
    // 20 is getpid(2) there, and writev(2) here.
    let text_of_it = "int main(void) { for (int n = 0; n < 1000; n++) {\n\
        long result; __asm__ volatile(\"int $0x80\" : \"=a\"(result) : \"a\"(20), \"b\"(1) : \"memory\");\n\
        if (result < 0) return 1; } }\n";
    let Some(program) = compiled("interface", &[], text_of_it) else {
        return;
    };
    if !installed("setpriv") || !Command::new(&program).status().unwrap().success() {
        return println!("skipped: there is no such interface");
    }
    let file = scratch("interface.json");
    let mut command = scripted::without_privileges("trace");
    let words = ["--exact", "--json", file.to_str().unwrap(), &program];
    assert!(command.args(words).output().unwrap().status.success());
    let found = json(&file);
    assert_eq!(found["mode"], "ptrace");
    assert_eq!(found["streams"].as_array().unwrap().len(), 0, "{found:#}");
}

#[test]
fn a_stopped_process_that_no_other_waits_for_takes_no_time() {
    let script = "sleep 100 & kill -STOP $!; sleep 1; echo a line; kill -KILL $!";
    let found = findings(&["--", "sh", "-c", script], "stopped.json");
    let [delayed_ns, wall_ns] = ["delayed_ns", "wall_ns"].map(|name| found[name].as_u64().unwrap());
    assert!(delayed_ns < wall_ns / 2, "{found:#}");
}

#[test]
fn without_privileges_a_program_outlives_its_tracer_unharmed() {
    if !installed("setpriv") {
        return;
    }
    let lines = "i=0; while [ $i -lt 300 ]; do echo $i || exit 1; sleep 0.005; i=$((i+1)); done";
    let mut command = scripted::without_privileges("trace");
    let command = command.args(["--exact", "--", "sh", "-c", lines]);
    let mut tracer = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(tracer.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "0");
    tracer.kill().unwrap();
    tracer.wait().unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    let expected: Vec<String> = (1..300).map(|n| n.to_string()).collect();
    assert_eq!(rest, expected);
}

#[test]
fn a_program_whose_file_is_deleted_is_one_program_still() {
    let copy = scratch("deleted-sh");
    std::fs::copy("/bin/sh", &copy).unwrap();
    let script = "rm \"$0\"; i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done";
    let path = copy.to_str().unwrap();
    let found = findings(&["--", path, "-c", script, path], "deleted.json");
    let streams = found["streams"].as_array().unwrap();
    let programs = streams.iter().map(|stream| &stream["program"]);
    let mut programs = programs.filter(|program| *program != "rm");
    assert!(programs.all(|program| program == "deleted-sh"), "{found:#}");
}

#[test]
fn a_program_that_renames_itself_is_one_program_still() {
    let text_of_it = "#include <sys/prctl.h>\n#include <unistd.h>\n\
        static void say(void) { for (int n = 0; n < 20000; n++) if (write(1, \"a line\\n\", 7) != 7) _exit(1); }\n\
        int main(void) { say(); prctl(PR_SET_NAME, \"another\"); usleep(300000); say(); return 0; }\n";
    let Some(program) = compiled("renamed", &[], text_of_it) else {
        return;
    };
    let found = findings(&[&program], "renamed.json");
    let streams = found["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 1, "{found:#}");
    assert_eq!(streams[0]["calls"], 40_000, "{found:#}");
}

#[test]
fn copies_of_a_descriptor_are_followed_by_every_call_that_makes_them() {
    // As tcsh does for each command.
    let text_of_it = "#include <fcntl.h>\n#include <stdlib.h>\n#include <unistd.h>\nint main(int c, char **v) {\n\
        int kept = fcntl(1, F_DUPFD, 10);\n\
        for (int n = atoi(v[1]); n > 0; n--) {\n\
        close(1); if (open(\"/dev/null\", O_RDONLY) != 1) return 1;\n\
        close(1); if (dup(kept) != 1) return 2;\n\
        if (write(1, \"a line\\n\", 7) != 7) return 3; } }\n";
    let Some(program) = compiled("copies", &[], text_of_it) else {
        return;
    };
    let found = findings(&["--exact", &program, "3000"], "copies.json");
    if found["mode"] == "ptrace" || found["lost"].as_u64() > Some(0) {
        return println!("skipped: not every call was seen");
    }
    let stream = &found["streams"][0];
    assert_eq!(
        (&stream["calls"], &stream["target"]["kind"]),
        (&3000.into(), &"pipe".into()),
        "{found:#}"
    );
    assert!(found["overhead_ns"].as_u64() > Some(0), "{found:#}");
    // Without the calls in between, the default mode does not know where the writes went.
    let found = findings(&[&program, "100000"], "copies.json");
    let kind = &found["streams"][0]["target"]["kind"];
    assert!(kind == "pipe" || kind == "unknown", "{found:#}");
}

/// A program that lacks a processor for one part in so many of its time may wait for others as long as for what it waits for by itself.
const CROWDED: u64 = 20;

#[test]
fn what_waits_for_the_device_after_small_writes_is_told_of() {
    // With an argument by the file's own flag.
    let text_of_it = "#include <unistd.h>\n\
        int main(int n, char **v) { for (int i = 0; i < 1000; i++)\n\
        if (write(1, \"x\\n\", 2) != 2 || (n < 2 && fsync(1))) return 1; }\n";
    let Some(program) = compiled("synced", &[], text_of_it) else {
        return;
    };
    for (exact, flags) in [
        (&[][..], 0),
        (&["--exact"], 0),
        (&[], libc::O_DSYNC),
        (&["--exact"], libc::O_DSYNC),
    ] {
        let (file, report) = (scratch("synced.txt"), scratch("synced.json"));
        let options = ["--json", report.to_str().unwrap(), &program];
        let by_flag = &["flag"][..usize::from(flags > 0)];
        let traced = || {
            let mut created = std::fs::File::options();
            let created = created.write(true).create(true).truncate(true);
            let created = created.custom_flags(flags).open(&file);
            let mut trace = outpace(&[exact, &options, by_flag].concat());
            assert!(trace.stdout(created.unwrap()).status().unwrap().success());
            json(&report)
        };
        let stores_nothing = |found: &Value| {
            let ns = |name: &str| found[name].as_u64().unwrap();
            (ns("system_ns") + ns("user_ns")) * 2 > found["verdict"]["now_ns"].as_u64().unwrap()
        };
        let is_told = |found: &Value| {
            let remedy = found["verdict"]["remedies"][0].as_str();
            let is_it = remedy.is_some_and(|remedy| remedy.contains("fsync once for many"));
            found["verdict"]["limit"] == "calls" && is_it
        };
        // Where other programs have the processors, it waits for these, too.
        let is_crowded = |found: &Value| {
            let now_ns = found["verdict"]["now_ns"].as_u64();
            found["delayed_ns"].as_u64().map(|ns| ns * CROWDED) > now_ns
        };
        let mut found = Value::Null;
        wait_until("it has a processor", || {
            found = traced();
            is_told(&found) || !is_crowded(&found) || found["mode"] == "ptrace"
        });
        if stores_nothing(&found) {
            return println!("skipped: this file system stores nothing");
        }
        if found["mode"] == "ptrace" {
            return println!("skipped: ptrace has no verdict");
        }
        assert!(is_told(&found), "{found:#}");
    }
}

#[test]
fn other_calls_between_writes_are_not_their_time() {
    let text_of_it = "#include <stdio.h>\n#include <sys/stat.h>\nint main(void) {\n\
        struct stat s;\n\
        for (long n = 0; n < 20000; n++) {\n\
        for (int k = 0; k < 10; k++) stat(\"/proc/self/exe\", &s);\n\
        printf(\"%ld %ld\\n\", n, (long)s.st_size); fflush(stdout); } }\n";
    let Some(program) = compiled("stats", &["-O2"], text_of_it) else {
        return;
    };
    let found = findings(&[&program], "stats.json");
    // Ten calls for each write, and the program's own time.
    let share = found["verdict"]["share"].as_f64().unwrap();
    assert!(share < 0.4, "{found:#}");
}

#[test]
fn other_work_of_the_kernel_between_writes_is_not_their_time() {
    let faults = "#include <stdio.h>\n#include <sys/mman.h>\nint main(void) {\n\
        char *pages = 0; long left = 0;\n\
        for (long n = 0; n < 20000; n++) {\n\
        for (int k = 0; k < 8; k++) {\n\
        if (!left) { if (pages) munmap(pages - (64L << 20), 64L << 20);\n\
        pages = mmap(0, left = 64L << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n\
        madvise(pages, left, MADV_NOHUGEPAGE); }\n\
        *pages = 1; pages += 4096; left -= 4096; }\n\
        printf(\"%ld\\n\", n); fflush(stdout); } }\n";
    let reads = "#include <fcntl.h>\n#include <stdio.h>\n#include <unistd.h>\n\
        static char text[1 << 20];\n\
        int main(int argc, char **argv) {\n\
        int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);\n\
        if (write(file, text, sizeof text) != sizeof text) return 1;\n\
        for (long n = 0; n < 3000; n++) {\n\
        if (pread(file, text, sizeof text, 0) != sizeof text) return 1;\n\
        printf(\"%ld\\n\", n); fflush(stdout); } }\n";
    for (name, text_of_it) in [("faults", faults), ("reads", reads)] {
        let Some(program) = compiled(name, &["-O2"], text_of_it) else {
            return;
        };
        let file = scratch("read.bin");
        let words = [&program, file.to_str().unwrap()];
        let found = findings(&words, &format!("{name}.json"));
        let verdict = &found["verdict"];
        let least = verdict["blocks_save_interval_ns"][0].as_f64().unwrap();
        let now = verdict["now_ns"].as_f64().unwrap();
        assert!(least < 0.4 * now, "{found:#}");
    }
}

#[test]
fn what_a_program_writes_to_itself_or_to_its_own_files_is_not_its_stdout() {
    let own_pipe = "#include <stdio.h>\n#include <unistd.h>\nint main(void) {\n\
        int ends[2]; char c; if (pipe(ends)) return 1;\n\
        for (int n = 0; n < 50000; n++) {\n\
        if (write(ends[1], \"!\", 1) != 1 || read(ends[0], &c, 1) != 1) return 1;\n\
        if (n % 20 == 0) { printf(\"line %d\\n\", n); fflush(stdout); } } }\n";
    let own_file = "#include <stdio.h>\nint main(int argc, char **argv) {\n\
        FILE *log = fopen(argv[1], \"w\"); if (!log) return 1;\n\
        for (int n = 0; n < 50000; n++) { fprintf(log, \"line %d\\n\", n); fflush(log); } }\n";
    // A runtime wakes its threads so.
    let own_event = "#include <stdint.h>\n#include <stdio.h>\n#include <sys/eventfd.h>\n#include <unistd.h>\n\
        int main(void) {\n\
        int event = eventfd(0, EFD_NONBLOCK); uint64_t one = 1;\n\
        for (int n = 0; n < 300000; n++) if (write(event, &one, 8) != 8) return 1;\n\
        puts(\"done\"); }\n";
    let log = scratch("own-file.txt");
    for (name, text_of_it) in [
        ("own-pipe", own_pipe),
        ("own-file", own_file),
        ("own-event", own_event),
    ] {
        let Some(program) = compiled(name, &["-O2"], text_of_it) else {
            return;
        };
        let words = [&program, log.to_str().unwrap()];
        let found = findings(&words, &format!("{name}.json"));
        let remedies = found["verdict"]["remedies"].to_string();
        assert!(!remedies.contains("stdout"), "{found:#}");
        if name != "own-file" {
            assert_eq!(
                found["verdict"]["remedies"],
                serde_json::json!([]),
                "{found:#}"
            );
            assert_ne!(found["streams"][0]["name"], "stdout", "{found:#}");
        }
    }
}

#[test]
fn of_two_streams_that_were_not_told_apart_both_places_are_named() {
    let text_of_it = "#include <unistd.h>\nint main(void) {\n\
        for (int n = 0; n < 60000; n++) {\n\
        if (write(1, \"a line\\n\", 7) != 7 || (n % 3 == 0 && write(2, \"error\\n\", 6) != 6)) return 1; } }\n";
    let Some(program) = compiled("two-places", &[], text_of_it) else {
        return;
    };
    let errors = scratch("two-places.txt");
    let script = format!("exec {program} 2>{}", errors.display());
    let found = findings(&["sh", "-c", &script], "two-places.json");
    let path = found["streams"][0]["target"]["path"].as_str().unwrap();
    let both = format!(" or {}", errors.display());
    assert!(
        path.starts_with("pipe:[") && path.ends_with(&both),
        "{found:#}"
    );
    let remedies = found["verdict"]["remedies"].to_string();
    assert!(!remedies.contains("setvbuf(stdout"), "{found:#}");
}

#[test]
fn writes_to_one_stream_after_another_are_not_credited_to_one() {
    let text_of_it = "#include <unistd.h>\nint main(void) {\n\
        for (int stream = 2; stream > 0; stream--)\n\
        for (int n = 0; n < 200000; n++) if (write(stream, \"a line\\n\", 7) != 7) return 1; }\n";
    let Some(program) = compiled("one-after-another", &[], text_of_it) else {
        return;
    };
    let [out, err] = ["out", "err"].map(|name| scratch(&format!("one-after-another.{name}")));
    let (out, err) = (out.display(), err.display());
    for places in [
        format!("2>{err}"),
        format!(">{out} 2>{err}"),
        ">/dev/null".to_owned(),
        "2>/dev/null".to_owned(),
        "2> >(cat >&2)".to_owned(),
    ] {
        let script = format!("exec {program} {places}");
        let found = findings(&["bash", "-c", &script], "one-after-another.json");
        for stream in found["streams"].as_array().unwrap() {
            let calls = stream["calls"].as_f64().unwrap();
            let is_certain = ["stdout", "stderr"].contains(&stream["name"].as_str().unwrap());
            let is_its = program.ends_with(stream["program"].as_str().unwrap());
            // A sleep in a write tells the stream, also where its calls are counted as those of either. A wait for a reader that is
            // traced, too, is no wait.
            let waits = places.contains("cat") || stream["waiting_ns"].as_u64() > Some(0);
            let is_wait = calls == 0.0 && waits;
            let is_right = is_wait || (calls / 200_000.0 - 1.0).abs() < 0.2;
            assert!(!is_its || !is_certain || is_right, "{places}: {found:#}");
        }
    }
}

/// `setvbuf` changes nothing where the program calls `write`.
#[test]
fn c_that_may_write_by_itself_is_told_both_ways() {
    let text_of_it = "#include <stdio.h>\n#include <unistd.h>\nint main(int argc, char **argv) {\n\
        if (argc > 1) puts(argv[1]);\n\
        for (int n = 0; n < 200000; n++) if (write(1, \"a line\\n\", 7) != 7) return 1; }\n";
    let Some(program) = compiled("may-write", &[], text_of_it) else {
        return;
    };
    let file = scratch("may-write.txt");
    let script = format!("exec {program} >{}", file.display());
    let found = findings(&["sh", "-c", &script], "may-write.json");
    assert_eq!(found["streams"][0]["language"], "C", "{found:#}");
    let remedies = found["verdict"]["remedies"].to_string();
    assert!(
        remedies.contains("where it calls write itself"),
        "{found:#}"
    );
}

/// What a C library prints for a program in another language is not buffered as that language's own output.
#[test]
fn lines_of_another_library_are_in_no_known_language() {
    if !installed("python3") {
        return println!("skipped: python3 is not installed");
    }
    let own = "for n in range(200000): print('line', n, flush=True)";
    let librarys = "import ctypes\nlibrary = ctypes.CDLL(None)\n\
        for n in range(200000):\n library.printf(b'line %d\\n', n)\n library.fflush(None)";
    for (script, language) in [(own, "Python"), (librarys, "unrecognised")] {
        let file = scratch("library.txt");
        let to_file = format!("exec python3 -c \"$1\" >{}", file.display());
        let words = ["sh", "-c", &to_file, "sh", script];
        let found = findings(&words, "library.json");
        // It may be started by a shell.
        let mut streams = found["streams"].as_array().unwrap().iter();
        let is_it = |stream: &&Value| stream["program"].as_str().unwrap().starts_with("python");
        let stream = streams.find(is_it).expect("Python has written");
        assert_eq!(stream["language"], language, "{found:#}");
        let remedies = found["verdict"]["remedies"].to_string();
        assert!(!remedies.contains("Python") || script == own, "{found:#}");
    }
}

/// An interpreter that is loaded by dlopen(3) prints in its own way.
#[test]
fn c_that_loads_others_is_not_told_to_set_a_buffer() {
    for (loads, expected) in [("", "C"), ("dlopen(text[0], 1);", "unrecognised")] {
        let text_of_it = format!(
            "#include <dlfcn.h>\n#include <stdio.h>\nint main(int words, char **text) {{\n\
             if (words > 1) {{ {loads} }}\n\
             for (int n = 0; n < 200000; n++) {{ puts(\"a line\"); fflush(stdout); }} }}\n"
        );
        let Some(program) = compiled("loads", &["-ldl"], &text_of_it) else {
            return;
        };
        let script = format!("exec {program} >{}", scratch("loads.txt").display());
        let found = findings(&["sh", "-c", &script], "loads.json");
        assert_eq!(found["streams"][0]["language"], expected, "{found:#}");
        let remedies = found["verdict"]["remedies"].to_string();
        assert_eq!(remedies.contains("setvbuf"), expected == "C", "{found:#}");
    }
}

#[test]
fn a_shell_that_redirects_its_stdout_for_each_line_is_told_to_do_so_once() {
    let [log, other] = ["appended.txt", "also appended.txt"].map(scratch);
    let [log, other] = [log, other].map(|log| format!("'{}'", log.display()));
    let of = |turn: &str| {
        let script = format!("for ((i = 0; i < 20000; i++)); do {turn}; done");
        findings(&["bash", "-c", &script], "appended.json")
    };
    // On a busy machine it may have no processor at the looks.
    let runs = (0..20).map(|_| of(&format!("echo line $i >> {log}")));
    let mut seen = runs.skip_while(|found| found["streams"][0]["name"] != "stdout");
    let found = seen.next().expect("a run with a verdict");
    let stream = &found["streams"][0];
    assert_eq!(stream["name"], "stdout", "{found:#}");
    assert!(stream.to_string().contains("appended.txt"), "{found:#}");
    let remedy = found["verdict"]["remedies"][0].to_string();
    assert!(remedy.contains("done >>FILE"), "{found:#}");
    // Two files in turn, and a line that goes elsewhere.
    for turn in [
        format!("echo line $i >> {log}; echo line $i >> {other}"),
        format!("echo line $i >> {log}; echo line $i"),
    ] {
        let found = of(&turn);
        let name = &found["streams"][0]["name"];
        assert_eq!(name, "stdout, stderr or a file", "{found:#}");
        assert_eq!(
            found["verdict"]["remedies"],
            serde_json::json!([]),
            "{found:#}"
        );
    }
}

#[test]
fn a_pipe_between_two_that_are_traced_has_no_reader_that_is_the_limit() {
    // The readers of the last ones may end before they are looked at.
    let short = ["yes | head | cat"; 3];
    // By ptrace each line takes a while.
    for (exact, long) in [
        (&[][..], "seq 1 100000 | sed -u s/1/2/"),
        (&["--exact"], "seq 1 10000 | sed -u s/1/2/"),
    ] {
        for pipeline in short.into_iter().chain([long]) {
            let words = [exact, &["--", "sh", "-c", pipeline]].concat();
            let found = findings(&words, "pipeline.json");
            assert_ne!(found["verdict"]["limit"], "reader", "{found:#}");
        }
    }
}

#[test]
fn a_program_that_computes_is_told_that_output_is_not_its_problem() {
    let output = run(&[
        "--",
        "sh",
        "-c",
        "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo $i",
    ]);
    assert!(
        text(&output.stderr).starts_with("Output is not the problem"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(text(&output.stdout), "200000\n");
}

#[test]
fn the_end_of_the_program_is_ours_and_what_is_not_there_is_named() {
    assert_eq!(run(&["--", "sh", "-c", "exit 9"]).status.code(), Some(9));
    assert_eq!(
        run(&["--exact", "--", "sh", "-c", "exit 9"]).status.code(),
        Some(9)
    );
    assert_eq!(
        run(&["--", "sh", "-c", "kill -KILL $$"]).status.signal(),
        Some(9)
    );
    // Also where the findings cannot be written; a command that succeeded has not said that.
    let full = |command| run(&["--json", "/dev/full", "sh", "-c", command]).status;
    assert_eq!(full("exit 9").code(), Some(9));
    assert_eq!(full("exit 0").code(), Some(1));
    assert_eq!(full("kill -KILL $$").signal(), Some(9));
    for arguments in [
        &["--", "no-such-program"][..],
        &["--exact", "--", "no-such-program"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(127));
        assert!(
            text(&output.stderr).starts_with("outpace: no-such-program: No such file"),
            "{}",
            text(&output.stderr)
        );
    }
}

/// Whether a watcher has got hold of a process: it has opened what tells the call a thread is in, or waits for what its
/// tracepoints record; or it is its tracer.
fn watches(watcher: u32, process: u32) -> bool {
    let links = std::fs::read_dir(format!("/proc/{watcher}/fd")).unwrap();
    let mut links = links
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let call = format!("/proc/{process}/task/{process}/syscall");
    let asleep = std::fs::read_to_string(format!("/proc/{watcher}/syscall")).unwrap();
    is_tracer(watcher, process)
        || asleep.starts_with(&format!("{} ", libc::SYS_ppoll))
        || links.any(|link| link == Path::new(&call))
}

/// Whether a process traces another by ptrace.
fn is_tracer(watcher: u32, process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    status.contains(&format!("TracerPid:\t{watcher}\n"))
}

/// One of the kernel's counters of a process's reads and writes.
fn io_count(process: u32, name: &str) -> u64 {
    let counters = std::fs::read_to_string(format!("/proc/{process}/io")).unwrap();
    let count = |line: &str| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok();
    counters.lines().find_map(count).unwrap()
}

/// Reads that a watcher makes in several looks at a process of one thread: each takes a dozen or two, and some dozens more where it
/// stops the process at its writes.
const SOME_LOOKS: u64 = 300;

#[test]
fn a_running_process_is_watched_until_it_ends_and_so_are_its_children() {
    let lines = "read x; i=0; while [ $i -lt 5000 ]; do echo $i; i=$((i+1)); done; read y";
    let of_child = format!("({lines}); :");
    let attached = |mut tracer: Command, mut sh: Command, lines: &str, exact: bool| {
        let sh = sh.args(["-c", lines]);
        let mut child = sh
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut writer = child.id();
        if lines == of_child {
            let children = format!("/proc/{writer}/task/{writer}/children");
            wait_until("the writer", || {
                let children = std::fs::read_to_string(&children).unwrap();
                let first = children.split(' ').next().unwrap().parse();
                writer = first.unwrap_or(writer);
                writer != child.id()
            });
        }
        let file = scratch("attached.json");
        std::fs::write(&file, "").unwrap();
        tracer.args(["--json", file.to_str().unwrap()]);
        tracer.args(&["--exact"][..usize::from(exact)]);
        tracer.args(["-p", &child.id().to_string()]);
        let watching = tracer.stderr(Stdio::piped()).spawn().unwrap();
        wait_until("the watcher", || {
            [child.id(), writer].map(|process| watches(watching.id(), process)) == [true; 2]
        });
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"\n").unwrap();
        if !exact {
            // The counters of a process end with it, unless it is our child: the watcher must have had a look since.
            wait_until("the writes", || io_count(writer, "syscw") >= 5000);
            let before = io_count(watching.id(), "syscr");
            wait_until("the watcher's next looks", || {
                io_count(watching.id(), "syscr") >= before + SOME_LOOKS
            });
        }
        drop(stdin);
        child.wait().unwrap();
        let report = watching.wait_with_output().unwrap();
        assert!(report.status.success(), "{}", text(&report.stderr));
        let found = json(&file);
        let calls = |stream: &Value| stream["calls"].as_u64().unwrap();
        let streams = found["streams"].as_array().unwrap();
        assert_eq!(streams.iter().map(calls).sum::<u64>(), 5000, "{found:#}");
    };
    for lines in [lines, &of_child] {
        for exact in [false, true] {
            attached(outpace(&[]), Command::new("sh"), lines, exact);
        }
        if installed("setpriv") {
            let mut sh = Command::new("setpriv");
            sh.args(["--bounding-set=-all", "--inh-caps=-all", "sh"]);
            attached(scripted::without_privileges("trace"), sh, lines, true);
        }
    }
}

#[test]
fn the_processor_time_of_a_process_that_ends_is_known() {
    for exact in [false, true] {
        let mut child = Command::new("sh")
            .args(["-c", "read x; i=0; while :; do i=$((i+1)); done"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let (id, process) = (child.id(), child.id().to_string());
        let mut arguments = vec!["-p", &process];
        arguments.extend(exact.then_some("--exact"));
        let watching = outpace(&arguments).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("the watcher", || watches(watching.id(), id));
        drop(child.stdin.take());
        let used = || {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
            let fields = stat[stat.rfind(')').unwrap()..].split_ascii_whitespace();
            fields.into_iter().nth(12).unwrap().parse::<u64>().unwrap()
        };
        // The longest time between two looks many times over.
        wait_until("a second of processor time", || used() >= 100);
        child.kill().unwrap();
        child.wait().unwrap();
        let report = watching.wait_with_output().unwrap();
        let report = text(&report.stderr);
        assert!(!report.contains("hardly any user"), "{report}");
        assert!(
            report.contains(" user, ") || report.contains("unknown"),
            "{report}"
        );
    }
}

#[test]
fn a_process_that_its_parent_does_not_wait_for_is_watched_until_it_ends() {
    let mut started = vec![
        (outpace(&["-p"]), Command::new("sleep")),
        (outpace(&["--exact", "-p"]), Command::new("sleep")),
    ];
    if installed("setpriv") {
        let mut tracer = scripted::without_privileges("trace");
        tracer.args(["--exact", "-p"]);
        let mut sleep = Command::new("setpriv");
        sleep.args(["--bounding-set=-all", "--inh-caps=-all", "sleep"]);
        started.push((tracer, sleep));
    }
    for (mut tracer, mut sleep) in started {
        let mut child = sleep.arg("1000").spawn().unwrap();
        let sleeps = || {
            let name = std::fs::read_to_string(format!("/proc/{}/comm", child.id()));
            name.unwrap() == "sleep\n"
        };
        wait_until("the program", sleeps);
        let tracer = tracer.arg(child.id().to_string()).stderr(Stdio::null());
        let mut tracer = tracer.spawn().unwrap();
        wait_until("the tracer", || watches(tracer.id(), child.id()));
        // It is a zombie until this process waits for it.
        child.kill().unwrap();
        let mut status = None;
        wait_until("the tracer's end", || {
            status = tracer.try_wait().unwrap();
            status.is_some()
        });
        assert!(status.unwrap().success(), "{status:?}");
        child.wait().unwrap();
    }
}

#[test]
fn a_process_that_is_not_there_is_an_error_with_a_remedy() {
    let output = run(&["-p", "999999999"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("process 999999999"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn what_holds_a_program_back_for_its_profile_is_not_counted_as_its_write() {
    let (profile, report) = (scratch("silent.json"), scratch("silent-report.json"));
    let files = [&profile, &report].map(|file| file.to_str().unwrap());
    run(&["--profile", files[0], "--json", files[1], "--", "true"]);
    assert_eq!(write_calls(&json(&report)), 0);
}

#[test]
fn a_profile_has_a_track_for_each_stream_a_marker_for_each_write_and_counters() {
    let file = scratch("profile.json");
    let arguments = [
        "--exact",
        "--profile",
        file.to_str().unwrap(),
        "--",
        "sh",
        "-c",
    ];
    run(&[
        &arguments[..],
        &["for i in 1 2 3 4 5; do echo $i; done; ls /nowhere"],
    ]
    .concat());
    let profile = json(&file);
    profiler::assert_well_formed(&profile);
    assert_eq!(profiler::calls_on(&profile, "stdout"), 5);
    assert!(profiler::calls_on(&profile, "stderr") > 0);
    assert_eq!(profile["counters"].as_array().unwrap().len(), 2);
    match profiler::loaded_by_the_profiler(&file) {
        Some(said) => assert!(said.contains("2 processes"), "{said}"),
        None => eprintln!("skipped: profiler-cli is not installed"),
    }
}

#[test]
fn a_profile_of_samples_has_a_marker_for_a_write_that_waits() {
    let (file, gate) = (scratch("samples.json"), scratch("gate"));
    let made = Command::new("mkfifo").arg(&gate).status();
    assert!(made.unwrap().success());
    let words = format!(
        "head -c 3000000 /dev/zero | (read x < {}; cat)",
        gate.display()
    );
    let tracer = outpace(&["--profile", file.to_str().unwrap(), "sh", "-c", &words])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Opens when the reader does.
    let mut gate = std::fs::File::options().write(true).open(&gate).unwrap();
    let before = io_count(tracer.id(), "syscr");
    wait_until("samples of the writer", || {
        io_count(tracer.id(), "syscr") >= before + 4 * SOME_LOOKS
    });
    gate.write_all(b"go\n").unwrap();
    drop(gate);
    let output = tracer.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let profile = json(&file);
    profiler::assert_well_formed(&profile);
    assert!(profiler::calls_on(&profile, "stdout") > 0, "{profile}");
}

#[test]
fn a_profile_of_a_silent_program_loads() {
    let file = scratch("empty.json");
    let output = run(&["--profile", file.to_str().unwrap(), "--", "sh", "-c", ":"]);
    let report = text(&output.stderr);
    assert!(output.status.success(), "{report}");
    assert!(report.contains("--exact shows all"), "{report}");
    profiler::assert_well_formed(&json(&file));
}

#[test]
fn a_profile_has_the_stacks_of_what_ran_where_perf_may_look() {
    if !installed("perf") {
        return;
    }
    let file = scratch("stacks.json");
    let command = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";
    let output = with_stacks(&[
        "--profile",
        file.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        command,
    ])
    .output()
    .unwrap();
    if text(&output.stderr).contains("no call stacks") {
        eprintln!("skipped: {}", text(&output.stderr));
        return;
    }
    let profile = json(&file);
    profiler::assert_well_formed(&profile);
    let threads = profile["threads"].as_array().unwrap();
    let samples = threads
        .iter()
        .map(|thread| thread["samples"]["length"].as_u64().unwrap());
    assert!(samples.sum::<u64>() > 10, "{profile}");
}

#[test]
fn the_tracer_opens_more_files_than_the_program_may() {
    let script = "ulimit -Sn; grep 'open files' /proc/$PPID/limits";
    let limited = [
        "--nofile=8:256",
        env!("CARGO_BIN_EXE_outpace"),
        "trace",
        "sh",
        "-c",
        script,
    ];
    let Ok(output) = Command::new("prlimit").args(limited).output() else {
        return eprintln!("skipped: no prlimit");
    };
    let said = text(&output.stdout);
    let limits: Vec<&str> = said.split_ascii_whitespace().collect();
    assert_eq!(limits, ["8", "Max", "open", "files", "256", "256", "files"]);
}

#[test]
fn a_limit_of_files_is_an_error_of_the_report_and_a_signal_for_the_program() {
    let file = scratch("limited.json");
    let limited = |script: &str| {
        let file = file.to_str().unwrap();
        Command::new("prlimit")
            .args(["--fsize=100:100", env!("CARGO_BIN_EXE_outpace"), "trace"])
            .args(["--json", file, "sh", "-c", script])
            .output()
    };
    let Ok(output) = limited("exit 0") else {
        return eprintln!("skipped: no prlimit");
    };
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("limited.json: File too large"), "{said}");
    assert!(said.contains(" wall, "), "{said}");
    let killed = limited("kill -XFSZ $$").unwrap().status;
    assert_eq!(killed.signal(), Some(libc::SIGXFSZ));
}

#[test]
fn an_earlier_report_stays_until_there_is_another() {
    let (file, new) = (scratch("earlier.json"), scratch("new.json"));
    let old = "old ".repeat(100_000);
    std::fs::write(&file, &old).unwrap();
    let path = file.to_str().unwrap();
    let missing = run(&["--json", path, "no-such-program"]);
    assert_eq!(missing.status.code(), Some(127));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), old);
    let missing = run(&["--json", path, "--profile", "/proc/no/a", "true"]);
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), old);
    let missing = run(&["--json", new.to_str().unwrap(), "no-such-program"]);
    assert_eq!(missing.status.code(), Some(127));
    assert!(!new.exists());
    // Also while the program runs; and then all of it is replaced.
    let output = run(&["--json", path, "cat", path]);
    assert_eq!(text(&output.stdout), old);
    assert_eq!(json(&file)["command"][0], "cat");
}

#[test]
fn a_report_on_stdout_comes_after_what_the_program_wrote_there() {
    let file = scratch("both");
    std::fs::write(&file, "first\n").unwrap();
    let appended = std::fs::File::options().append(true).open(&file).unwrap();
    let traced = ["--json", "/dev/stdout", "echo", "hello"];
    let status = outpace(&traced).stdout(appended).status().unwrap();
    assert!(status.success());
    let all = std::fs::read_to_string(&file).unwrap();
    let report = all.strip_prefix("first\nhello\n").expect(&all);
    let report: Value = serde_json::from_str(report).unwrap();
    assert_eq!(report["command"][0], "echo");
}

#[test]
fn a_full_disk_leaves_the_earlier_report() {
    let outpace = env!("CARGO_BIN_EXE_outpace");
    let script = format!(
        "mount -t tmpfs -o size=64k none /mnt && cd /mnt && echo old > kept && (cat /dev/zero > rest) 2>/dev/null; \
         {outpace} trace --json kept sh -c true {}; echo $?; cat kept",
        "word ".repeat(10_000)
    );
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", &script])
        .output();
    let Ok(output) = output else {
        return eprintln!("skipped: no unshare");
    };
    let said = text(&output.stderr);
    if said.contains("unshare") || said.contains("mount") {
        return eprintln!("skipped: {said}");
    }
    assert_eq!(text(&output.stdout), "1\nold\n", "{said}");
    assert!(said.contains("kept: No space left on device"), "{said}");
}

#[test]
fn a_process_that_has_ended_is_not_said_to_be_none() {
    let mut child = Command::new("true").spawn().unwrap();
    let process = child.id().to_string();
    let state = || std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    wait_until("it has ended", || state().contains(") Z "));
    let output = run(&["-p", &process]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("has ended, and its parent"), "{said}");
    child.wait().unwrap();
}

#[test]
fn another_tracer_is_told_of() {
    if !installed("strace") {
        return;
    }
    let words = [
        "-f",
        "-o",
        "/dev/null",
        env!("CARGO_BIN_EXE_outpace"),
        "trace",
        "true",
    ];
    let output = Command::new("strace").args(words).output().unwrap();
    let said = text(&output.stderr);
    if !output.status.success() {
        return eprintln!("skipped: {said}");
    }
    let told = said.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("another process traces it (ptrace)"),
        "{said}"
    );
}

#[test]
fn the_end_of_the_program_is_seen_also_where_no_more_files_can_be_opened() {
    if !installed("prlimit") {
        return eprintln!("skipped: no prlimit");
    }
    let script = "exec 3<&0; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cat <&3 & done; echo; wait";
    let mut tracer = Command::new("prlimit")
        .args(["--nofile=40:40", env!("CARGO_BIN_EXE_outpace"), "trace"])
        .args(["sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut started = [0];
    tracer
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut started)
        .unwrap();
    let before = io_count(tracer.id(), "syscr");
    wait_until("the tracer's looks", || {
        io_count(tracer.id(), "syscr") >= before + SOME_LOOKS
    });
    // The readers end.
    drop(tracer.stdin.take());
    wait_until("the end", || tracer.try_wait().unwrap().is_some());
}
