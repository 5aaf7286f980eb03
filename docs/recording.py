#!/usr/bin/env python3
"""Records the README's picture: a slow program, what `outpace trace` says of it, the cure, and what it says then.

The commands run in a terminal of their own, and what is shown is what they
printed. Needs the release build of outpace (cargo build --release) and no network.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

from commands import ROOT, typed

COLUMNS, ROWS = 92, 40
# In seconds, of a command.
LIMIT = 300
# What is shown of the folder, whose name says nothing.
SHOWN = "/home/you/slow"
PROGRAM = 'fn main() {\n    for i in 0..3_000_000 {\n        println!("line {i}");\n    }\n}\n'
MANIFEST = """[package]
name = "slow"
version = "0.1.0"
edition = "2024"
[workspace]
"""
DEPENDENCY = f"""[dependencies]
outpace = {{ path = "{ROOT / 'crates' / 'outpace'}" }}
"""
# What is typed.
SCENE = [
    "cat src/main.rs",
    "outpace trace target/release/slow > lines.txt",
    "cargo add --quiet outpace && sed -i '1i use outpace::println;\\n' src/main.rs",
    "cargo build --release --quiet",
    "outpace trace target/release/slow > lines.txt",
]
COLOURS = {30: "#57606a", 31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 34: "#79c0ff", 35: "#d2a8ff", 36: "#a5d6ff", 37: "#e6edf3"}


def run(command, folder):
    """What a command prints on a terminal of its own, and how long it took in seconds."""
    path = f"{ROOT / 'target' / 'release'}:{os.environ['PATH']}"
    status, _, printed, _ = typed(command, folder, {**os.environ, "PATH": path, "TERM": "xterm-256color"}, (COLUMNS, ROWS), LIMIT)
    if status != 0:
        sys.exit(f"{command}: {printed.decode()}")
    return printed.decode().replace(os.path.realpath(folder), SHOWN)


def lines_of(printed):
    """Lines of (text, colour, bold) pieces, as they stand in the end: a line that was written over shows its last text."""
    colour, bold = None, False
    for line in printed.replace("\r\n", "\n").rstrip("\n").split("\n"):
        last = re.split("\r|\x1b\\[\\d*K", line)[-1]
        pieces = []
        for part in re.split("(\x1b\\[[\\d;]*m)", last):
            if not part.startswith("\x1b["):
                if part:
                    pieces.append((part, colour, bold))
                continue
            for code in [int(code or 0) for code in part[2:-1].split(";")]:
                if code == 0:
                    colour, bold = None, False
                elif code == 1:
                    bold = True
                elif code % 60 in COLOURS or code in COLOURS:
                    colour = COLOURS.get(code, COLOURS.get(code - 60))
        yield pieces


def registry(folder):
    """Has cargo take a folder for crates.io: in it are outpace as it is published, and the crates that it needs."""
    packages, crates = folder / "packages", folder / "crates"
    cargo = ["cargo", "--offline", "--quiet"]
    subprocess.run([*cargo, "vendor", crates], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    command = [*cargo, "package", "--no-verify", "--allow-dirty", "--target-dir", packages, "-p", "outpace", "-p", "outpace-macros"]
    subprocess.run(command, cwd=ROOT, check=True)
    for crate in (packages / "package").glob("*.crate"):
        subprocess.run(["tar", "-xzf", crate, "-C", crates], check=True)
        (crates / crate.stem / ".cargo-checksum.json").write_text('{"files": {}}')
    (folder / ".cargo").mkdir()
    sources = '[source.crates-io]\nreplace-with = "here"\n[source.here]\ndirectory = "crates"\n'
    (folder / ".cargo" / "config.toml").write_text(sources)


def span(piece):
    text, colour, bold = piece
    attributes = f' fill="{colour}"' if colour else ""
    attributes += ' font-weight="700"' if bold else ""
    return f"<tspan{attributes}>{escape(text)}</tspan>"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=ROOT / "docs" / "trace.svg", help="by default docs/trace.svg")
    file = parser.parse_args().file
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "src").mkdir()
        (Path(folder) / "src" / "main.rs").write_text(PROGRAM)
        (Path(folder) / "Cargo.toml").write_text(MANIFEST + DEPENDENCY)
        (Path(folder) / "Cargo.lock").write_bytes((ROOT / "Cargo.lock").read_bytes())
        registry(Path(folder))
        (Path(folder) / "Cargo.toml").write_text(MANIFEST)
        subprocess.run(["cargo", "build", "--release", "--quiet", "--offline"], cwd=folder, check=True)
        blocks = [(command, list(lines_of(run(command, folder)))) for command in SCENE]

    height, y, parts, at = 20, 44, [], 0.4
    for command, lines in blocks:
        parts.append(f'<g style="animation-delay:{at:.1f}s"><text x="16" y="{y}"><tspan class="dim">$ </tspan>{escape(command)}</text></g>')
        y += height
        at += 1.6
        parts.append(f'<g style="animation-delay:{at:.1f}s">')
        for pieces in lines:
            parts.append(f'<text x="16" y="{y}">{"".join(map(span, pieces))}</text>')
            y += height
        parts.append("</g>")
        at += 0.8 + 0.5 * len(lines)
        y += 8
    width = 32 + 8.43 * COLUMNS
    style = ("text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e6edf3;white-space:pre}"
             ".dim{fill:#9198a1}g{animation:appear .2s both}@keyframes appear{from{opacity:0}to{opacity:1}}"
             "@media(prefers-reduced-motion:reduce){g{animation:none}}@media print{g{animation:none}}")
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {y}" width="{width:.0f}" height="{y}" role="img">',
           "<title>outpace trace finds that a program is slowed by its output, and finds nothing after the cure</title>",
           f"<style>{style}</style>", f'<rect width="{width:.0f}" height="{y}" rx="8" fill="#0d1117"/>',
           '<circle cx="20" cy="16" r="5" fill="#ff5f57"/><circle cx="38" cy="16" r="5" fill="#febc2e"/><circle cx="56" cy="16" r="5" fill="#28c840"/>',
           *parts, "</svg>"]
    file.write_text("\n".join(svg) + "\n", encoding="utf-8")


main()
