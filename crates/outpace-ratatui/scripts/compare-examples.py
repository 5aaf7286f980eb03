#!/usr/bin/env python3
"""Do ratatui's own examples look the same through outpace-ratatui as through crossterm's backend?

    compare-examples.py RATATUI_CHECKOUT WORK_DIRECTORY [EXAMPLE...]

Builds each example of a checkout of ratatui twice from the same sources. The second time `ratatui` is a crate
that is ratatui but for `init`, `run`, `restore` and `DefaultTerminal`, which are outpace-ratatui's. Both run in
tmux side by side, get the same keys, and are to show the same cells: symbols, colours, attributes. Left out
are examples whose picture depends on the clock, on random numbers or on the network, and those that make their
terminal from a backend of their own.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent.parent
SIZE = (100, 36)
LIMIT = 20

# The keys, one screen after another. The last key of all is `q`.
EXAMPLES = {
    "calendar-explorer": ["", "l", "j", "n", "s"],
    "color-explorer": [""],
    "constraint-explorer": ["", "l", "2", "+"],
    "constraints": ["", "l", "l", "l", "j"],
    "custom-widget": ["", "Right", "Space"],
    "flex": ["", "l", "l", "j", "+"],
    "hello-world": [""],
    "hyperlink": [""],
    "input-form": ["", "a", "Tab", "b"],
    "minimal": [""],
    "modifiers": [""],
    "popup": ["", "p", "p"],
    "scrollbar": ["", "j", "j", "l", "l"],
    "todo-list": ["", "j", "j", "Enter", "k"],
    "user-input": ["", "e", "x", "y", "Enter"],
    "widget-ref-container": [""],
}

SHIM = """\
#![allow(ambiguous_glob_reexports)]
pub use outpace_ratatui::{
    DefaultTerminal, init, init_with_options, restore, run, try_init, try_init_with_options, try_restore,
};
pub use ratatui_itself::*;
"""


def prepare(checkout, work, names):
    """Two copies of the examples, and a workspace of both."""
    manifest = tomllib.loads((checkout / "Cargo.toml").read_text())
    versions = manifest["workspace"]["dependencies"]
    shim = work / "shim"
    (shim / "src").mkdir(parents=True, exist_ok=True)
    (shim / "src/lib.rs").write_text(SHIM)
    (shim / "Cargo.toml").write_text(
        '[package]\nname = "shim"\nversion = "0.0.0"\nedition = "2024"\n\n[dependencies]\n'
        f'outpace-ratatui = {{ path = "{HERE}" }}\n'
        'ratatui_itself = { package = "ratatui", version = "0.30", features = ["all-widgets"] }\n'
    )

    def dependency(line, backend):
        found = re.match(r"([\w-]+)(?:\.workspace = true| = \{ workspace = true(.*?)\})$", line)
        if not found or found.group(1) not in versions:
            return line
        name, more = found.group(1), (found.group(2) or "").strip(", ")
        if name == "ratatui" and backend == "outpace":
            return 'ratatui = { package = "shim", path = "../../shim" }'
        known = versions[name]
        known = {"version": known} if isinstance(known, str) else dict(known)
        known.pop("path", None)
        parts = [f'version = "{known["version"]}"']
        if known.get("default-features") is False:
            parts.append("default-features = false")
        features = list(known.get("features", []))
        extra = re.search(r"features = \[(.*?)\]", more)
        features += re.findall(r'"([^"]+)"', extra.group(1)) if extra else []
        if name == "ratatui":
            features.append("all-widgets")
        if features:
            parts.append("features = [" + ", ".join(f'"{feature}"' for feature in features) + "]")
        return f"{name} = {{ {', '.join(parts)} }}"

    members = ["shim"]
    for backend in ("crossterm", "outpace"):
        for name in names:
            target = work / backend / name
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(checkout / "examples/apps" / name, target)
            lines = (target / "Cargo.toml").read_text().split("[lints]")[0].splitlines()
            lines = [dependency(line, backend) for line in lines]
            text = "\n".join(line for line in lines if not line.startswith(("license", "rust-version", "edition")))
            text = text.replace("[package]\n", '[package]\nedition = "2024"\n', 1)
            text = re.sub(r'name = "(.*?)"', rf'name = "{backend}-\1"', text, count=1)
            (target / "Cargo.toml").write_text(text + "\n")
            members.append(f"{backend}/{name}")
    listed = ", ".join(f'"{member}"' for member in members)
    (work / "Cargo.toml").write_text(f'[workspace]\nresolver = "3"\nmembers = [{listed}]\n')


def tmux(*arguments):
    run = subprocess.run(
        ["tmux", "-L", "outpace-examples", "-f", "/dev/null", *arguments],
        check=True, capture_output=True, text=True,
    )
    return run.stdout


def screen(session):
    """The cells of a pane: symbol, foreground, background, attributes, each in its one form."""
    # tmux sends changes only, from line to line, too.
    rows, fg, bg, attributes = [], "", "", frozenset()
    for line in tmux("capture-pane", "-epN", "-t", session).split("\n")[: SIZE[1]]:
        cells = []
        for sequence, symbol in re.findall(r"(\x1b\[[\d;:]*m|\x1b\][^\x1b]*\x1b\\)|([^\x1b])", line):
            if symbol:
                cells.append(normal(symbol, fg, bg, attributes))
            elif sequence.startswith("\x1b["):
                fg, bg, attributes = select(sequence[2:-1], fg, bg, attributes)
        while cells and cells[-1] == normal(" ", "", "", frozenset()):
            cells.pop()
        rows.append(cells)
    return rows


def select(parameters, fg, bg, attributes):
    numbers = parameters.replace(":", ";").split(";")
    at = 0
    while at < len(numbers):
        number = int(numbers[at] or 0)
        if number in (38, 48):
            length = 5 if numbers[at + 1] == "2" else 3
            color = ";".join(numbers[at + 1 : at + length])
            at += length - 1
            fg, bg = (color, bg) if number == 38 else (fg, color)
        elif number == 0:
            fg, bg, attributes = "", "", frozenset()
        elif number == 39 or 30 <= number <= 37 or 90 <= number <= 97:
            fg = "" if number == 39 else f"5;{number - (30 if number < 90 else 82)}"
        elif number == 49 or 40 <= number <= 47 or 100 <= number <= 107:
            bg = "" if number == 49 else f"5;{number - (40 if number < 100 else 92)}"
        elif number < 10:
            attributes |= {number}
        at += 1
    return fg, bg, attributes


def normal(symbol, fg, bg, attributes):
    if not attributes:
        if symbol == "█" and fg:
            symbol, bg = " ", fg
        if symbol in "▀▄" and fg and fg == bg:
            symbol = " "
        if symbol == "▄" and fg and bg:
            symbol, fg, bg = "▀", bg, fg
    if symbol == " " and not attributes & {4, 7, 9}:
        fg, attributes = "", frozenset()
    return symbol, fg, bg, attributes


def difference(one, other):
    for row, (mine, theirs) in enumerate(zip(one, other)):
        if mine != theirs:
            width = max(len(mine), len(theirs))
            pad = [normal(" ", "", "", frozenset())]
            pairs = zip(mine + pad * (width - len(mine)), theirs + pad * (width - len(theirs)))
            for column, (a, b) in enumerate(pairs):
                if a != b:
                    return f"row {row + 1}, column {column + 1}: crossterm {a}, outpace {b}"
    return None


def compare(work, name, keys):
    """The number of screens that were alike; else a text on the difference."""
    sessions = {backend: f"{backend}-{name}" for backend in ("crossterm", "outpace")}
    for backend, session in sessions.items():
        # tmux shows cells erased to a colour, but leaves them out of what it captures.
        program = ["env", "OUTPACE_DRAW_OFF=background", work / "target/debug" / f"{backend}-{name}"]
        size = ["-x", SIZE[0], "-y", SIZE[1]]
        tmux("new-session", "-d", "-s", session, *map(str, size + program))
        tmux("set-option", "-t", session, "status", "off")
        tmux("resize-window", "-t", session, "-x", str(SIZE[0]), "-y", str(SIZE[1]))
    try:
        for number, key in enumerate(keys):
            if key:
                for session in sessions.values():
                    tmux("send-keys", "-t", session, key)
            # Alike three times in a row, and not blank: both have drawn everything.
            began, alike = time.monotonic(), 0
            while alike < 3:
                one, other = (screen(session) for session in sessions.values())
                problem = difference(one, other)
                alike = alike + 1 if problem is None and any(one) else 0
                if time.monotonic() - began > LIMIT:
                    return f"screen {number + 1} (after {key!r}): {problem or 'blank'}"
                time.sleep(0.1)
        return len(keys)
    finally:
        for session in sessions.values():
            subprocess.run(["tmux", "-L", "outpace-examples", "kill-session", "-t", session], check=False)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    checkout, work = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    names = sys.argv[3:] or list(EXAMPLES)
    prepare(checkout, work, names)
    if subprocess.run(["cargo", "build", "--workspace"], cwd=work, check=False).returncode:
        sys.exit("compare-examples: the examples do not build; give the checkout of a released version")
    # The server ends with its last session.
    tmux("new-session", "-d", "-s", "idle", "cat")
    wrong = 0
    for name in names:
        result = compare(work, name, EXAMPLES.get(name, [""]))
        wrong += isinstance(result, str)
        print(f"{name}: {f'{result} screens alike' if isinstance(result, int) else result}", flush=True)
    subprocess.run(["tmux", "-L", "outpace-examples", "kill-server"], check=False, capture_output=True)
    sys.exit(1 if wrong else 0)


main()
