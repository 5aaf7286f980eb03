//! Random format strings, types and values, through std's macros and ours side by side.
//!
//! Macros read their format strings when they are compiled, so the cases are written out as programs,
//! compiled in batches and run; each program compares the bytes of all its cases. By default there are
//! a few hundred cases. For as many as are recorded under `bench/results`:
//!
//! ```text
//! OUTPACE_FORMAT_CASES=100000 cargo test -p outpace --test formats -- --nocapture
//! ```
//!
//! `OUTPACE_FORMAT_SEED` chooses other cases.

mod common;
mod formats {
    pub(crate) mod generate;
    pub(crate) mod values;
}

use formats::generate::Generator;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How many cases are one program: as many as compile in reasonable memory.
const BATCH: usize = 2_500;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(value) => value
            .parse()
            .unwrap_or_else(|_| panic!("{name}={value}: a number, please")),
        Err(_) => default,
    }
}

#[test]
fn random_formats_of_random_values_are_the_same_as_std() {
    let wanted = setting("OUTPACE_FORMAT_CASES", 400) as usize;
    let seed = setting("OUTPACE_FORMAT_SEED", 1);
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("formats");
    let mut generator = Generator::new(seed);
    let mut seen = HashSet::new();
    let mut compared = 0;
    while seen.len() < wanted {
        let mut cases = Vec::new();
        while cases.len() < BATCH && seen.len() < wanted {
            let case = generator.case();
            if seen.insert(case.clone()) {
                cases.push(case);
            }
        }
        compared += run(&directory, &cases);
        println!("{compared} distinct cases compared (seed {seed})");
    }
    assert_eq!(compared, wanted);
}

/// Compiles and runs the cases; returns how many agreed, and panics when one did not.
fn run(directory: &Path, cases: &[String]) -> usize {
    let library = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = directory.join("src");
    std::fs::create_dir_all(&source).unwrap();
    let manifest = directory.join("Cargo.toml");
    let contents = format!(
        "[package]\nname = \"formats\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\noutpace = {{ path = {library:?} }}\n\n[profile.dev]\ndebug = false\n"
    );
    std::fs::write(&manifest, contents).unwrap();
    let lock = library.join("../../Cargo.lock");
    if !directory.join("Cargo.lock").exists() && lock.exists() {
        std::fs::copy(lock, directory.join("Cargo.lock")).unwrap();
    }
    std::fs::write(source.join("main.rs"), program(cases)).unwrap();
    let target = directory.join("target");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--manifest-path"])
        .arg(&manifest)
        .arg("--target-dir")
        .arg(&target)
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{} does not compile:\n{}",
        source.join("main.rs").display(),
        String::from_utf8_lossy(&built.stderr)
    );
    let program: PathBuf = target
        .join("debug")
        .join(format!("formats{}", std::env::consts::EXE_SUFFIX));
    let output = Command::new(program).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    said.trim().parse().unwrap()
}

/// The cases as a program that prints how many agreed, or says which did not and fails.
fn program(cases: &[String]) -> String {
    let mut text = String::from(include_str!("formats/prelude.rs"));
    let functions: Vec<&[String]> = cases.chunks(50).collect();
    for (i, cases) in functions.iter().enumerate() {
        text += &format!("fn cases_{i}() {{\n");
        for case in *cases {
            text += &format!("    {{ {case} }}\n");
        }
        text += "}\n";
    }
    text += "fn main() {\n";
    for i in 0..functions.len() {
        text += &format!("    cases_{i}();\n");
    }
    text + "    finish();\n}\n"
}
