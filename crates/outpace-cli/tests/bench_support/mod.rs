//! Shared by the tests of `bench`: the program, directories of their own, compilers of their own, and the exported rows.
// Several test programs share this, and none uses all of it.
#![allow(dead_code)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The program, without settings from the environment of the tests.
pub(crate) fn outpace(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_outpace"));
    command.args(arguments).stdin(Stdio::null());
    undisturbed(command)
}

/// The program with these words as its arguments.
pub(crate) fn command(words: &str) -> Command {
    outpace(&words.split(' ').collect::<Vec<_>>())
}

pub(crate) fn undisturbed(mut command: Command) -> Command {
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

pub(crate) fn run(arguments: &[&str]) -> Output {
    outpace(arguments).output().unwrap()
}

/// The results that a bench has exported.
pub(crate) fn results_in(json: &Path) -> Value {
    serde_json::from_slice(&fs::read(json).unwrap()).unwrap()
}

/// Their rows.
pub(crate) fn rows_in(json: &Path) -> Vec<Value> {
    results_in(json)["rows"].as_array().unwrap().clone()
}

/// A directory that is removed with the test.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A directory with the given scripts as its only programs.
pub(crate) fn programs(scratch: &Scratch, scripts: &[(&str, &str)]) -> PathBuf {
    let directory = scratch.path("bin");
    fs::create_dir_all(&directory).unwrap();
    for (name, script) in scripts {
        let path = directory.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    directory
}

pub(crate) fn ladder_with(scratch: &Scratch, programs: &Path) -> (Option<i32>, Vec<Value>) {
    let json = scratch.path("ladder.json");
    let output = command("bench ladder --to pipe --runs 1 --messages 2000")
        .args([Path::new("--export-json"), &json])
        .env("PATH", programs)
        .env("XDG_CACHE_HOME", scratch.path("cache"))
        .output()
        .unwrap();
    (output.status.code(), rows_in(&json))
}

pub(crate) fn row<'a>(rows: &'a [Value], rung: &str) -> &'a Value {
    rows.iter()
        .find(|row| row["rung"] == rung)
        .unwrap_or_else(|| panic!("no {rung} in {rows:?}"))
}
