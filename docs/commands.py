#!/usr/bin/env python3
"""Types every command of the README, the book and the crates' pages, as a newcomer would.

    docs/commands.py --list                  what would be typed, and where it stands
    docs/commands.py                         all of it; about an hour, half of it the experiments
    docs/commands.py docs/ 'contest'         what stands in these pages, or has this text in it
    docs/commands.py --tools g++,node        where these tools are, too

Clones the repository's last commit, and types each command in a terminal of 80x24 and, if it is one of outpace's, of 200x60,
with an empty home and a PATH that has Rust, a linker and the usual small tools, no other compiler and no other language. Begins with
`cargo install --path crates/outpace-cli`. A command that takes longer than --limit gets Ctrl-C, after which it has to end. Says of each
how it ended, how long it took, and how wide its lines were; what it printed is kept. Ends with status 1 if one failed that should not.
"""

import argparse
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md", "CONTRIBUTING.md", "docs/*.md", "crates/*/README.md", "contest/README.md", "bench/README.md", "packaging/README.md"]
# What a line or a piece of code has to begin with to be a command.
BEGINS = re.compile(r"(?:[A-Z_]+=(?:\"[^\"]*\"|\S+) )*(outpace|cargo|rustc|cat|g\+\+|node|npm|nix|brew|makepkg|stdbuf|\.ci/run|\./\S+|"
                    r"(?:docs|bench|packaging|contest|crates)/\S+\.(?:sh|py))(?: |$)")
# Of pieces of code in the middle of a sentence only those that are whole commands.
WHOLE = re.compile(r"outpace (bench|run|trace|fps|report|contest|completions|man) .|cargo (install|run|build|test) .|packaging/|nix |brew |makepkg")
# Words that stand for something of the reader's.
PLACEHOLDER = re.compile(r"…|\b[A-Z]{4,}\b|\bDIR\b")
# Where the commands of a page are typed.
FOLDERS = {"contest/README.md": "contest", "bench/README.md": "bench"}
ELSEWHERE = {
    "cargo run --bin tokio": "crates/outpace-ratatui/examples/with",
    "brew install --build-from-source ./outpace.rb": "packaging/homebrew",
    "makepkg -si": "packaging/aur",
    "bench/real-programs/run.py": ".",
}
INSTEAD = {"results/A.json results/B.json": "results/2026-11-20-lines.json results/2026-11-25-lines.json"}
# What is not typed, and why.
NOT_TYPED = {
    "cargo install outpace-cli": "not published yet",
    "cargo add outpace": "not published yet",
    "cargo install --path crates/outpace-cli": "typed first",
    ".ci/run": "is what checks this repository",
    "cargo test": "is part of .ci/run",
    "bench/real-programs/run.py": "an hour, 5 GB",
    "bench/real-programs/run.py just xsv": "5 GB",
    "outpace run --pipe --overflow drop": "lacks its program",
    "outpace run -v": "lacks its program",
    "outpace trace --exact --profile": "lacks its program",
    "cargo test -p outpace-cli --test run_shim -- --ignored": "kills programs a thousand times",
    "OUTPACE_STALL=60 OUTPACE_KILLS=1000 cargo test --release -p outpace-cli --test targets -- --ignored --nocapture --test-threads=1":
        "measures for an hour",
    "makepkg": "refuses to work for root; packaging/check.sh",
    "makepkg -si": "refuses to work for root; packaging/check.sh",
    "brew install --build-from-source ./outpace.rb": "packaging/check.sh",
    "nix build": "packaging/check.sh",
    "nix run . -- bench lines": "packaging/check.sh",
}
# Keys for programs that wait for them, after two seconds.
KEYS = [("outpace fps", b"q"), ("cargo run --bin", b"q"), ("--example transcript", b"\x03")]
SMALL_TOOLS = ("sh bash env ls cat cp mv rm mkdir rmdir ln chmod touch head tail sort uniq wc tr cut tee grep sed awk seq sleep date uname "
               "true false test stty mktemp dirname basename readlink realpath id git tar gzip xz find xargs cmp diff install stdbuf "
               "cc ld as ar script tput").split()
PROGRAM = 'fn main() {\n    for i in 0..300_000 {\n        println!("line {i}");\n    }\n}\n'


def commands():
    """Pairs of a page and a command, each once."""
    found = {}
    for page in [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]:
        name, code = str(page.relative_to(ROOT)), None
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.lstrip().startswith("```"):
                code = line.strip("` ") if code is None else None
                continue
            if code in ("", "sh"):
                command = re.split(r"\s+# ", line.strip())[0]
                if BEGINS.match(command):
                    found.setdefault((name, command))
            elif code is None:
                for piece in re.findall(r"`([^`]+)`", line):
                    if BEGINS.match(piece) and WHOLE.match(piece):
                        found.setdefault((name, piece))
    return [(page, command) for page, command in found if not PLACEHOLDER.search(command)]


def clean_path(folder, tools):
    """A folder with nothing in it but Rust and small tools."""
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    folder.mkdir()
    for tool in SMALL_TOOLS + tools:
        place = shutil.which(tool)
        if place:
            (folder / tool).symlink_to(place)
    for tool in ("cargo", "rustc", "rustdoc"):
        (folder / tool).symlink_to(Path(sysroot) / "bin" / tool)
    return folder


def typed(command, folder, environment, size, limit):
    """Runs a command in a terminal of its own: status, seconds, what it printed, and whether it got Ctrl-C."""
    child, master = pty.fork()
    if child == 0:
        # A job in the background ignores Ctrl-C, and so would what it starts.
        for stop in signal.SIGINT, signal.SIGQUIT:
            signal.signal(stop, signal.SIG_DFL)
        # Before the command can ask for it.
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        os.chdir(folder)
        os.execve("/bin/sh", ["sh", "-c", command], environment)
    keys = keys_for(command)
    began, printed, interrupted = time.monotonic(), b"", 0
    while True:
        seconds = time.monotonic() - began
        if keys and seconds > 2 and (printed or seconds > 60):
            os.write(master, keys)
            keys = None
        if seconds > limit + 20 * interrupted:
            interrupted += 1
            if interrupted > 2:
                os.killpg(child, signal.SIGKILL)
            else:
                os.write(master, b"\x03")
        if not select.select([master], [], [], 0.2)[0]:
            continue
        try:
            block = os.read(master, 1 << 16)
        except OSError:
            break
        if not block:
            break
        # Where the cursor is, as terminals say.
        for _ in range(block.count(b"\x1b[6n")):
            os.write(master, b"\x1b[1;1R")
        printed = (printed + block)[-(1 << 22):]
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), time.monotonic() - began, printed, interrupted


def keys_for(command):
    return next((keys for start, keys in KEYS if start in command), None)


def widest(printed):
    """The columns of the longest line that stayed."""
    text = printed.decode("utf-8", "replace")
    # Of what is printed on the other screen nothing stays; its beginning may not have been kept.
    text = re.sub(r"(?:\A(?:(?!\x1b\[\?1049h).)*|\x1b\[\?1049h.*?)\x1b\[\?1049l", "", text, flags=re.S)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>78]", "", text)
    lines = [line.rstrip("\r").split("\r")[-1] for line in text.split("\n")]
    return max((len(line) for line in lines), default=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="only what has one of these in its page or command")
    parser.add_argument("--list", action="store_true", help="type nothing")
    parser.add_argument("--tools", default="", help="tools that the clean PATH has as well, with commas")
    parser.add_argument("--keep", default="", help="variables of the environment that are kept, with commas, such as CARGO_HOME")
    parser.add_argument("--limit", type=float, default=120, help="seconds until Ctrl-C (%(default)s)")
    parser.add_argument("--program", help="an outpace that is built already, instead of cargo install")
    parser.add_argument("--folder", help="where to work and what is kept, by default a new one")
    given = parser.parse_args()
    chosen = [(page, command) for page, command in commands()
              if not given.texts or any(text in page or text in command for text in given.texts)]
    if given.list:
        for page, command in chosen:
            print(f"{page}: {command}" + (f"  ({NOT_TYPED[command]})" if command in NOT_TYPED else ""))
        return

    place = Path(given.folder or tempfile.mkdtemp(prefix="outpace-commands-"))
    place.mkdir(exist_ok=True)
    (place / "home").mkdir()
    clone = place / "outpace"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    bin_folder = clean_path(place / "bin", [tool for tool in given.tools.split(",") if tool])
    environment = {"HOME": str(place / "home"), "PATH": f"{bin_folder}:{place / 'home' / '.cargo' / 'bin'}", "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    environment.update({name: os.environ[name] for name in given.keep.split(",") if name in os.environ})
    failed = 0

    def say(page, command, size):
        nonlocal failed
        folder = clone / ELSEWHERE.get(command, FOLDERS.get(page, "."))
        line = command
        for text, other in INSTEAD.items():
            line = line.replace(text, other)
        status, seconds, printed, interrupted = typed(line, folder, environment, size, 3600 if command.startswith("cargo") else given.limit)
        name = re.sub(r"\W+", "-", f"{page}-{command}-{size[0]}")[:120]
        (place / f"{name}.txt").write_bytes(printed)
        # A shell's words for it, those of `outpace bench`, and rustc's.
        lacks = {127: rb"(\S+): (?:command )?not found", 1: rb"(?:outpace: --to \S+|skipped: no) (\S+) (?:is not installed|here)",
                 101: rb"the `(\S+)` target may not be installed"}.get(status)
        missing = lacks and re.search(lacks, printed)
        got_ctrl_c = interrupted == 1 or keys_for(command) == b"\x03"
        is_right = missing or status == 0 or (got_ctrl_c and status in (130, -2))
        failed += not is_right
        outcome = f"no {missing[1].decode()} here" if missing else "" if status == 0 else f"status {status}"
        if interrupted:
            outcome += f", Ctrl-C after {given.limit:.0f} s" + (", killed" if interrupted > 2 else "")
        wide = widest(printed)
        if wide > size[0] and command.startswith("outpace"):
            outcome += f", a line of {wide} columns"
        print(f"{'ok  ' if is_right else 'FAIL'} {size[0]}x{size[1]} {seconds:6.1f} s  {page}: {command}" + (f"  ({outcome.lstrip(', ')})" if outcome else ""), flush=True)

    if given.program:
        shutil.copy(given.program, bin_folder / "outpace")
    else:
        say("README.md", "cargo install --path crates/outpace-cli", (80, 24))
    (place / "program.rs").write_text(PROGRAM)
    for page_folder in {clone, clone / "bench", clone / "contest"}:
        subprocess.run(["rustc", "-O", "-o", str(page_folder / "program"), str(place / "program.rs")], check=True)
        for other in ("your-program", "server"):
            shutil.copy(page_folder / "program", page_folder / other)
    for page, command in chosen:
        if command in NOT_TYPED:
            continue
        for size in [(80, 24), (200, 60)] if command.startswith("outpace") else [(80, 24)]:
            say(page, command, size)
    print(f"what they printed: {place}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
