//! Builds the shim of `outpace run`: a shared object of its own, for the target, from `shim/shim.rs`.
//!
//! Where it cannot be built (another processor, no linker) the tool works without it: `outpace run -v` says so, and CI
//! tries that of the static build.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=shim");
    let output = PathBuf::from(variable("OUT_DIR")).join("outpace_shim.so");
    if let Err(reason) = build(&output) {
        println!("cargo::warning=`outpace run` gets no shim: {reason}");
        fs::write(&output, b"").expect("the build directory can be written");
    }
}

/// It has no C library of its own, and calls its own functions even where a library that is loaded before it has some of
/// these names, too (`-Bsymbolic`). Its constructor comes first, so with glibc no other one sees its variables (`initfirst`). Its
/// pointers to functions are written to anyhow (`norelro`). It is small, and has two segments, because each program that is given it
/// has to wait for its loading.
const FLAGS: &str = "--edition=2024 --crate-type=cdylib --crate-name=outpace_shim -Cpanic=abort -Copt-level=s \
    -Clto=fat -Ccodegen-units=1 -Cstrip=symbols -Ctarget-feature=-crt-static -Clink-arg=-nostdlib -Clink-arg=-nostartfiles \
    -Clink-arg=-Wl,-z,now -Clink-arg=-Wl,-z,norelro -Clink-arg=-Wl,-z,initfirst -Clink-arg=-Wl,-Bsymbolic \
    -Clink-arg=-Wl,-z,noseparate-code -Clink-arg=-Wl,-z,separate-loadable-segments";
/// Read-only data beside the code: not every linker has this.
const ONE_SEGMENT: &str = "-Clink-arg=-Wl,--no-rosegment";

fn build(output: &PathBuf) -> Result<(), String> {
    let processor = variable("CARGO_CFG_TARGET_ARCH");
    if !matches!(processor.as_str(), "x86_64" | "aarch64") {
        fs::write(output, b"").map_err(|error| error.to_string())?;
        return Ok(());
    }
    compile(output, &[ONE_SEGMENT]).or_else(|_| compile(output, &[]))
}

fn compile(output: &PathBuf, more: &[&str]) -> Result<(), String> {
    let mut compiler = Command::new(variable("RUSTC"));
    compiler
        .args(FLAGS.split(' '))
        .args(more)
        .args(["--target", &variable("TARGET"), "-o"])
        .arg(output)
        .arg("shim/shim.rs");
    if variable("CARGO_CFG_TARGET_ENV") == "musl" {
        // Without rustc's start files for musl, too.
        compiler.arg("-Clink-self-contained=no");
    }
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        compiler.arg(format!("-Clinker={linker}"));
    }
    let result = compiler.output().map_err(|error| error.to_string())?;
    if result.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&result.stderr).into_owned();
    let first = said.lines().find(|line| line.starts_with("error"));
    Err(first.unwrap_or("the compiler failed").to_owned())
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
