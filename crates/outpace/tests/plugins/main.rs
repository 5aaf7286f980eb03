//! Shared objects that print, and the hosts that load and unload them.

#![cfg(all(target_os = "linux", not(outpace_portable), not(loom)))]

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;

/// The shared object that the example `plugin` is.
fn plugin() -> Option<PathBuf> {
    let test = std::env::current_exe().expect("this program has a path");
    let profile = test.ancestors().nth(2).expect("target/PROFILE/deps/TEST");
    let path = profile.join("examples/libplugin.so");
    if !path.exists() {
        let path = path.display();
        eprintln!("skipped: {path} is not built; run all of cargo test");
        return None;
    }
    Some(path)
}

/// A host of plugins, in C: loads one, calls what its arguments say, and unloads it. Built by the system's compiler, without
/// which the test is skipped aloud.
fn host() -> Option<&'static PathBuf> {
    static HOST: std::sync::OnceLock<Option<PathBuf>> = std::sync::OnceLock::new();
    let build = || {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plugins/host.c");
        let program = PathBuf::from(concat!(env!("CARGO_TARGET_TMPDIR"), "/plugin-host"));
        let mut compiler = Command::new("cc");
        compiler.args(["-o".as_ref(), program.as_os_str()]);
        let output = match compiler.args([source, "-ldl", "-lpthread"]).output() {
            Ok(output) => output,
            Err(error) => {
                eprintln!("skipped: cc: {error}");
                return None;
            }
        };
        assert!(output.status.success(), "{output:?}");
        Some(program)
    };
    HOST.get_or_init(build).as_ref()
}

#[test]
fn a_shared_object_that_prints_may_be_unloaded() {
    let (Some(plugin), Some(host)) = (plugin(), host()) else {
        return;
    };
    // Few lines start no thread; many end with one; a burst goes on after the object is unloaded.
    for count in [1, 5, 5_000] {
        for buffering in ["unbuffered", "line", "block", "prompt", "background"] {
            for (ending, status) in [
                ("exit", Ok(0)),
                ("fork", Ok(0)),
                ("again", Ok(0)),
                ("thread", Ok(0)),
                ("SIGTERM", Err(15)),
                ("abort", Err(6)),
            ] {
                let mut command = Command::new(host);
                let arguments = [plugin.as_os_str(), ending.as_ref()];
                command.args(arguments).arg(count.to_string());
                let output = command.env("OUTPACE_STDOUT", buffering).output().unwrap();
                let ended = output
                    .status
                    .code()
                    .ok_or_else(|| output.status.signal().unwrap());
                let what = format!("{count} lines, {buffering}, {ending}: {output:?}");
                assert_eq!(ended, status, "{what}");
                let lines: String = (0..count).map(|i| format!("plugin {i}\n")).collect();
                let times = if ending == "again" { 3 } else { 1 };
                assert_eq!(
                    String::from_utf8_lossy(&output.stdout),
                    lines.repeat(times),
                    "{what}"
                );
            }
        }
    }
}

#[test]
fn a_process_ends_with_its_last_thread_if_the_main_thread_has_ended_before() {
    let (Some(plugin), Some(host)) = (plugin(), host()) else {
        return;
    };
    for ending in ["main first", "init, main first"] {
        for buffering in ["unbuffered", "line", "block", "prompt", "background"] {
            // A thread that stays blocks the signals that end a process.
            let mut command = Command::new("timeout");
            command.args(["--signal=KILL", "60"]).arg(host);
            command.args([plugin.as_os_str(), ending.as_ref(), "5000".as_ref()]);
            let output = command.env("OUTPACE_STDOUT", buffering).output().unwrap();
            assert!(output.status.success(), "{ending}, {buffering}: {output:?}");
            let lines: String = (0..5000).map(|i| format!("plugin {i}\n")).collect();
            assert_eq!(String::from_utf8_lossy(&output.stdout), lines.repeat(2));
        }
    }
}

#[test]
fn a_host_that_forks_often_loses_and_doubles_nothing() {
    let (Some(plugin), Some(host)) = (plugin(), host()) else {
        return;
    };
    for buffering in ["unbuffered", "line", "block", "prompt", "background"] {
        let mut command = Command::new(host);
        command.args([plugin.as_os_str(), "forks".as_ref(), "5000".as_ref()]);
        let output = command.env("OUTPACE_STDOUT", buffering).output().unwrap();
        assert!(output.status.success(), "{buffering}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        for (name, count) in [("plugin", 5000), ("child", 300), ("parent", 30)] {
            let of_name: Vec<&str> = text.lines().filter(|line| line.starts_with(name)).collect();
            assert_eq!(of_name.len(), count, "{name}, {buffering}");
        }
    }
}

#[test]
fn a_shared_object_that_has_not_printed_leaves_nothing_behind() {
    let (Some(plugin), Some(host)) = (plugin(), host()) else {
        return;
    };
    let mut command = Command::new(host);
    command.args([plugin.as_os_str(), "unused".as_ref(), "0".as_ref()]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn python_may_unload_a_shared_object_that_prints() {
    let Some(plugin) = plugin() else { return };
    let script = "import ctypes, _ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.print_lines(b'plugin', 5000)
_ctypes.dlclose(library._handle)
";
    let mut command = Command::new("python3");
    command.args(["-c".as_ref(), script.as_ref(), plugin.as_os_str()]);
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return eprintln!("skipped: python3: {error}"),
    };
    assert!(output.status.success(), "{output:?}");
    let lines: String = (0..5000).map(|i| format!("plugin {i}\n")).collect();
    assert_eq!(String::from_utf8_lossy(&output.stdout), lines);
}
