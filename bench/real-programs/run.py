#!/usr/bin/env python3
"""Real programs with outpace's macros: do their own tests still pass?

For each program of crates.txt: fetch it with cargo, run its tests as they are, put `#[macro_use] extern crate outpace;` at the top of
each of its crates, run the tests again, and compare test by test. Prints a table in Markdown; exits with 1 if a test differs.

    bench/real-programs/run.py                      # all of them; an hour on two cores
    bench/real-programs/run.py just xsv             # these
    bench/real-programs/run.py --again              # run the tests without outpace again, too
    bench/real-programs/run.py --directory DIR      # where it works; by default ~/.cache/outpace/real-programs

Works outside the repository, at low priority, one program at a time, with one target directory for all of them.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUTPACE = HERE.parent.parent / "crates" / "outpace"
LINE = "#[allow(unused_imports, unused_extern_crates)] #[macro_use] extern crate outpace;\n"
MACROS = re.compile(r"(?<![\w:])(?:e?print|e?println|format|write|writeln|dbg)!\s*[(\[{]")
LIMIT_SECONDS = 1800


def cargo(*arguments, cwd, env=None, check=True):
    """Runs cargo; returns what it printed, and whether it succeeded."""
    env = {**os.environ, "CARGO_TERM_COLOR": "never", "CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_PROFILE_TEST_DEBUG": "0", **(env or {})}
    try:
        done = subprocess.run(
            ["cargo", *arguments], cwd=cwd, env=env, text=True, errors="replace", stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_SECONDS,
        )
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
        return output.decode(errors="replace") if isinstance(output, bytes) else output, False
    if check and done.returncode:
        sys.exit(f"cargo {' '.join(arguments)}: {done.stdout[-2000:]}")
    return done.stdout, done.returncode == 0


def fetch(name, version, work):
    """The program's source, as published."""
    stub = work / "stubs" / f"{name}-{version}"
    (stub / "src").mkdir(parents=True, exist_ok=True)
    (stub / "src" / "lib.rs").write_text("")
    (stub / "Cargo.toml").write_text(
        f'[package]\nname = "stub"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\n{name} = "={version}"\n'
    )
    cargo("fetch", cwd=stub)
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    found = list((home / "registry" / "src").glob(f"*/{name}-{version}"))
    if not found:
        sys.exit(f"{name} {version}: not where cargo keeps sources")
    return found[0]


def copy(source, target):
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    for path in [target, *target.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
    # Not part of somebody else's workspace.
    manifest = target / "Cargo.toml"
    if "[workspace]" not in manifest.read_text():
        manifest.write_text(manifest.read_text() + "\n[workspace]\n")


def after_inner_attributes(source):
    """Where the first item of a crate may stand."""
    inner = re.compile(r"\s*(?://[^\n]*\n|/\*.*?\*/|#!\[(?:[^\[\]\"]|\"(?:\\.|[^\"\\])*\"|\[[^\]]*\])*\])", re.S)
    at = 0
    if source.startswith("#!") and not source.startswith("#!["):
        at = source.index("\n") + 1
    last = at
    while True:
        found = inner.match(source, at)
        if not found:
            return last
        at = found.end()
        text = found.group().strip()
        # A comment, or an outer doc comment, belongs to what follows it.
        if text.startswith(("#![", "//!", "/*!")):
            last = at


def add_outpace(program):
    """Puts the line into each crate of the package; returns how many calls of the macros there are."""
    manifest = program / "Cargo.toml"
    manifest.write_text(manifest.read_text() + f'\n[dependencies.outpace]\npath = "{OUTPACE}"\n')
    metadata, _ = cargo("metadata", "--no-deps", "--format-version=1", "--offline", cwd=program)
    package = json.loads(metadata[metadata.index("{"):])["packages"][0]
    for target in package["targets"]:
        if {"lib", "bin", "rlib"} & set(target["kind"]):
            root = Path(target["src_path"])
            source = root.read_text()
            at = after_inner_attributes(source)
            root.write_text(source[:at] + "\n" + LINE + source[at:])
    return sum(len(MACROS.findall(path.read_text(errors="replace"))) for path in (program / "src").rglob("*.rs"))


def test(program, work):
    """The outcome of each test; or the errors, if it does not build."""
    output, passed = cargo("test", "--no-fail-fast", "--target-dir", str(work / "target"), cwd=program, check=False)
    (work / "logs").mkdir(exist_ok=True)
    (work / "logs" / f"{program.parent.name}-{program.name}.log").write_text(output)
    outcomes, executable = {}, ""
    for line in output.splitlines():
        if running := re.match(r"\s*(?:Running (?:unittests )?(\S+)|Doc-tests (\S+))", line):
            executable = running[1] or "doc"
        # What a test prints may stand before its name, and between that and its outcome.
        elif outcome := re.search(r"(?:^|\s)test (\S.*?) \.\.\. .*?(ok|FAILED|ignored)\b", line):
            name = re.sub(r'-[0-9a-f]{16}| \(line [0-9]+\)', '', f"{executable} {outcome[1]}")
            outcomes[name] = outcome[2]
        elif total := re.match(r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", line):
            outcomes[f"{executable} in total"] = f"{total[1]} passed, {total[2]} failed, {total[3]} ignored"
    errors = [line for line in output.splitlines() if re.match(r"error(\[|:)", line)]
    if not passed and not outcomes:
        outcomes["build"] = "; ".join(errors[:3]) or "failed"
    elif not passed and any("could not compile" in error for error in errors):
        outcomes["build"] = "; ".join(errors[:3])
    return outcomes


def differs_in(test, before, after):
    """Whether a test, or how many there are, has another outcome. What a test prints may have hidden its name in one run."""
    if test in before and test in after:
        return before[test] != after[test]
    return test == "build" or test.endswith(" in total")


def totals(outcomes):
    if "build" in outcomes:
        return "does not build"
    sums = [0, 0, 0]
    for name, outcome in outcomes.items():
        if name.endswith(" in total"):
            sums = [sum + int(number) for sum, number in zip(sums, re.findall(r"\d+", outcome))]
    return f"{sums[0]} pass" + (f", {sums[1]} fail" if sums[1] else "")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("names", nargs="*", help="programs of crates.txt; all of them without")
    arguments.add_argument("--again", action="store_true", help="run the tests without outpace again")
    arguments.add_argument("--before", action="store_true", help="run the tests without outpace only")
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "outpace" / "real-programs"
    arguments.add_argument("--directory", type=Path, default=default)
    options = arguments.parse_args()
    work = options.directory.resolve()
    if HERE.parent.parent in [work, *work.parents]:
        sys.exit(f"{work} is inside the repository, whose Cargo.toml would be found; use another --directory")
    os.nice(10)

    crates = [line.split() for line in (HERE / "crates.txt").read_text().splitlines() if line and not line.startswith("#")]
    unknown = set(options.names) - {name for name, _ in crates}
    if unknown:
        sys.exit(f"not in crates.txt: {', '.join(sorted(unknown))}")
    differs = False
    print("| program | calls | tests without | tests with | |\n|---|---|---|---|---|", flush=True)
    for name, version in crates:
        if options.names and name not in options.names:
            continue
        known = work / "before" / f"{name}-{version}.json"
        source = fetch(name, version, work)
        if options.again or not known.exists():
            copy(source, work / "without" / name)
            known.parent.mkdir(exist_ok=True)
            known.write_text(json.dumps(test(work / "without" / name, work), indent=1))
        before = json.loads(known.read_text())
        if options.before:
            print(f"| {name} {version} | | {totals(before)} | | |", flush=True)
            continue
        copy(source, work / "with" / name)
        calls = add_outpace(work / "with" / name)
        after = test(work / "with" / name, work)
        changed = [f"{test}: {before.get(test)} -> {after.get(test)}" for test in before | after if differs_in(test, before, after)]
        differs |= bool(changed)
        verdict = "same" if not changed else "DIFFERS: " + "; ".join(changed[:3])
        print(f"| {name} {version} | {calls} | {totals(before)} | {totals(after)} | {verdict} |", flush=True)
    sys.exit(1 if differs else 0)


if __name__ == "__main__":
    main()
