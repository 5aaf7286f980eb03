#!/usr/bin/env python3
"""Fetches applications from crates.io, puts them on outpace-ratatui, and builds both versions.

    examples/ports/build.py                        # all of applications.toml; half an hour on two cores
    examples/ports/build.py bottom csvlens         # these
    examples/ports/build.py --directory DIR        # where it works; by default ~/.cache/outpace/ports

An application is fetched by cargo at the version that applications.toml names. DIRECTORY/before holds it as it is (on ratatui 0.30),
DIRECTORY/after with its patch. Both build with the same dependencies at the same versions and with the same profile; the programs
are DIRECTORY/programs/before/NAME and DIRECTORY/programs/after/NAME.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
CRATE = HERE.parent.parent
DEFAULT = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "outpace" / "ports"
# The dependencies of ratatui's examples.
EXAMPLES_USE = """\
color-eyre = "0.6"
crossterm = "0.29"
indoc = "2"
itertools = "0.14"
lipsum = "0.9"
palette = "0.7"
rand = "0.8"
rand_chacha = "0.3"
ratatui = { version = "0.30", features = ["all-widgets"] }
strum = { version = "0.27", features = ["derive"] }
time = { version = "0.3", features = ["formatting", "local-offset", "macros", "parsing"] }
unicode-width = "0.2"
"""
# The table of the README, except for replacements that need a human eye.
TABLE = [
    (r"\bratatui::((?:try_)?(?:init|init_with_options|restore)\(|run\(|DefaultTerminal\b)", r"outpace_ratatui::\1"),
    (r"^(use ratatui::\{[^;]*?)\s*\bDefaultTerminal,", r"use outpace_ratatui::DefaultTerminal;\n\1"),
    (r"\bCrosstermBackend::new\((?:(?:std::)?io::)?stdout\(\)\)", "outpace_ratatui::OutpaceBackend::stdout()?"),
]
PROFILE = "[profile.release]\nlto = false\ncodegen-units = 16\ndebug = false\n"


def cargo(*arguments, cwd):
    if subprocess.run(["cargo", *arguments], cwd=cwd, check=False).returncode:
        sys.exit(f"build.py: cargo {' '.join(arguments)} failed in {cwd}")


def fetch(name, version, work):
    """The sources as published."""
    stub = work / "stubs" / f"{name}-{version}"
    (stub / "src").mkdir(parents=True, exist_ok=True)
    (stub / "src/lib.rs").write_text("")
    (stub / "Cargo.toml").write_text(
        '[package]\nname = "stub"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n'
        f'[dependencies]\n{name} = "={version}"\n'
    )
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    where = list((home / "registry/src").glob(f"*/{name}-{version}"))
    if not where:
        cargo("fetch", "--quiet", cwd=stub)
        where = list((home / "registry/src").glob(f"*/{name}-{version}"))
    return where[0]


def copy(source, target):
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    for path in [target, *target.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
    for path in ["Cargo.lock", "rust-toolchain.toml", ".cargo"]:
        if (target / path).is_dir():
            shutil.rmtree(target / path)
        else:
            (target / path).unlink(missing_ok=True)


def without_tables(manifest, *names):
    """A manifest without these tables: profiles belong to a workspace; what tests need is not built."""
    text = manifest.read_text()
    for name in names:
        text = re.sub(rf"^\[+{name}[^\n]*\n(?:(?!\[)[^\n]*\n)*", "", text, flags=re.M)
    manifest.write_text(text)


def by_table(program):
    """The README's replacements, in all sources."""
    for path in program.rglob("*.rs"):
        text = path.read_text()
        for old, new in TABLE:
            text = re.sub(old, new, text, flags=re.M)
        path.write_text(text)
    manifest = program / "Cargo.toml"
    manifest.write_text(manifest.read_text() + '\n[dependencies.outpace-ratatui]\nversion = "0.1"\n')


def make_examples(source, entry, target):
    """A package of some of the examples of ratatui's crates, or of one that uses those."""
    shutil.rmtree(target, ignore_errors=True)
    (target / "src").mkdir(parents=True)
    manifest = f'[package]\nname = "{target.name}-examples"\nversion = "0.0.0"\nedition = "{entry.get("edition", "2021")}"\n\n'
    for name in entry["examples"]:
        path = source / "examples" / name
        if path.is_dir():
            shutil.copytree(path, target / "src" / name)
            path = f"src/{name}/main.rs"
        else:
            shutil.copy(path.with_suffix(".rs"), target / "src")
            path = f"src/{name}.rs"
        manifest += f'[[bin]]\nname = "{name}"\npath = "{path}"\n\n'
    (target / "Cargo.toml").write_text(f"{manifest}[dependencies]\n{EXAMPLES_USE}{entry.get('uses', '')}\n")


def replace(path, old, new):
    text = path.read_text()
    if text.count(old) != 1:
        sys.exit(f"build.py: `{old}` is not once in {path}")
    path.write_text(text.replace(old, new))


def patch(program, file):
    command = ["patch", "--quiet", "--strip=1", "--fuzz=0", "--no-backup-if-mismatch", "--input", str(file)]
    if subprocess.run(command, cwd=program, check=False).returncode:
        sys.exit(f"build.py: {file.name} does not apply")


def prepare(name, entry, work):
    """Both versions of an application."""
    source = fetch(name, entry["version"], work)
    for version in ("before", "after"):
        program = work / version / name
        if "examples" in entry:
            make_examples(source, entry, program)
        else:
            copy(source, program)
            without_tables(program / "Cargo.toml", "profile", "dev-dependencies", r"target[^\n]*dev-dependencies", "test", "bench",
                           "example", "lints")
        for path, (old, new) in entry.get("steady", {}).items():
            replace(program / path, old, new)
        upgrade = HERE / f"{name}-0.30.patch"
        if upgrade.exists():
            patch(program, upgrade)
    after = work / "after" / name
    if (HERE / f"{name}.patch").exists():
        patch(after, HERE / f"{name}.patch")
    else:
        by_table(after)


def binaries(name, entry):
    return entry.get("examples") or [entry.get("binary", name)]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("names", nargs="*", help="applications of applications.toml; all of them without")
    arguments.add_argument("--directory", type=Path, default=DEFAULT)
    arguments.add_argument("--sources", action="store_true", help="fetch and patch, and build nothing")
    options = arguments.parse_args()
    work = options.directory.resolve()
    known = tomllib.loads((HERE / "applications.toml").read_text())
    if unknown := set(options.names) - set(known):
        sys.exit(f"build.py: not in applications.toml: {', '.join(sorted(unknown))}")
    wanted = {name: entry for name, entry in known.items() if not options.names or name in options.names}
    for name, entry in wanted.items():
        prepare(name, entry, work)
    members = ", ".join(f'"{name}"' for name in wanted)
    for version in ("before", "after"):
        place = work / version
        (place / "Cargo.toml").write_text(
            f'[workspace]\nresolver = "2"\nmembers = [{members}]\n\n{PROFILE}\n'
            + (f'[patch.crates-io]\noutpace-ratatui = {{ path = "{CRATE}" }}\n' if version == "after" else "")
        )
        if not options.sources:
            make(work, version, wanted)


def make(work, version, wanted):
    """Builds one version of the applications."""
    place = work / version
    if version == "after":
        # So that both have the same versions of everything.
        shutil.copy(work / "before/Cargo.lock", place)
    else:
        # Adds what an earlier run for other applications did not need.
        cargo("fetch", "--quiet", cwd=place)
        for entry in wanted.values():
            for crate, exact in entry.get("versions", {}).items():
                cargo("update", "--quiet", crate, "--precise", exact, cwd=place)
    cargo("build", "--release", "--bins", "--target-dir", str(work / "target"), cwd=place)
    programs = work / "programs" / version
    programs.mkdir(parents=True, exist_ok=True)
    for name, entry in wanted.items():
        for binary in binaries(name, entry):
            shutil.copy2(work / "target/release" / binary, programs / binary)


if __name__ == "__main__":
    main()
