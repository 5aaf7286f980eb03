#!/usr/bin/env python3
"""Bytes and processor time of real applications' sessions, on crossterm's backend and on this one.

    crates/outpace-ratatui/examples/ports/build.py
    crates/outpace-ratatui/scripts/measure-applications.py [--rounds N] [--size COLUMNSxROWS] [--time] [APPLICATION…]

Each application runs on a pseudo-terminal that is read at once, once as it is and once on this backend, and gets the keys of
applications.toml, each as soon as no byte has been written for a moment. Bytes are counted from start to end. Processor time
is counted in instructions, by `perf stat` where the machine counts them, otherwise by valgrind (cachegrind without its
caches); those of all threads and of the whole session, the application's own included. An application that draws all the time is
measured in bytes only. `--time` measures processor time, user and system, without either, which needs a quiet machine. Rounds
alternate; medians are printed, as a table in Markdown.
"""

import argparse
import os
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples" / "ports"))

import build
from sessions import make_fixtures, sessions, size_of, start, typed

# They draw whether or not anything has changed.
ALWAYS_DRAWING = {"demo2", "rgx", "tv"}
ANSWERS = {b"\x1b[c": b"\x1b[?62c", b"\x1b[6n": b"\x1b[1;1R"}


class Terminal:
    """A terminal that reads at once, and answers the questions that terminals are asked."""

    def __init__(self, command, size, environment, directory):
        self.process, self.descriptor = start(command, size, environment, directory)
        self.bytes = 0
        self.ended = False

    def read(self, quiet):
        """Reads until no byte has come for so long, for five times as long at most, or until the program has ended."""
        began = time.monotonic()
        while not self.ended and time.monotonic() - began < 5 * quiet:
            if not select.select([self.descriptor], [], [], quiet)[0]:
                return
            try:
                data = os.read(self.descriptor, 1 << 16)
            except OSError:
                data = b""
            self.ended = not data
            self.bytes += len(data)
            for question, answer in ANSWERS.items():
                if question in data:
                    os.write(self.descriptor, answer)

    def end(self):
        """The program's user and system time in seconds."""
        os.kill(self.process, signal.SIGKILL)
        usage = os.wait4(self.process, 0)[2]
        os.close(self.descriptor)
        return usage.ru_utime + usage.ru_stime


def perf_counts():
    run = subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u", "true"], capture_output=True, text=True) if shutil.which("perf") else None
    return run is not None and run.returncode == 0 and re.match(r"\d+,", run.stderr) is not None


def run(session, version, programs, size, work, counter, quiet):
    """One session: bytes, and instructions or seconds."""
    fixtures = work / "fixtures"
    command = session.command(programs, version, fixtures)
    home = work / "home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    environment = {"HOME": str(home), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    environment |= {f"XDG_{kind}_HOME": str(home / kind) for kind in ("CONFIG", "CACHE", "DATA")}
    report = work / "instructions"
    report.unlink(missing_ok=True)
    if counter == "perf":
        command = ["perf", "stat", "-x,", "-e", "instructions:u", "-o", str(report), *command]
    elif counter == "valgrind":
        # It counts `rep movsb`, one instruction that copies any number of bytes, once a byte.
        environment["GLIBC_TUNABLES"] = ":".join(f"glibc.cpu.x86_rep_{call}_threshold=1000000000" for call in ("movsb", "stosb"))
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", f"--log-file={report}", *command]
    terminal = Terminal(command, size, environment, session.directory(fixtures))
    for key in ["", *session.keys]:
        if key:
            os.write(terminal.descriptor, typed(key))
        terminal.read(quiet)
    if terminal.ended:
        sys.exit(f"measure-applications: {session.name} ended: see {report}")
    drawn = terminal.bytes
    if counter:
        # They report in the end, which the terminal's going away brings about.
        os.kill(terminal.process, signal.SIGTERM)
        terminal.read(5)
        os.close(terminal.descriptor)
        os.waitpid(terminal.process, 0)
        text = report.read_text()
        found = re.search(r"I\s+refs:\s+([\d,]+)", text) or re.search(r"^(\d+),", text, re.M)
        return drawn, int(found[1].replace(",", ""))
    return drawn, terminal.end()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("names", nargs="*", help="programs to measure; all without")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--size", default="120x40")
    arguments.add_argument("--time", action="store_true")
    arguments.add_argument("--bytes", action="store_true", help="no processor time")
    arguments.add_argument("--directory", type=Path, default=build.DEFAULT, help="where build.py worked")
    options = arguments.parse_args()
    programs = options.directory.resolve() / "programs"
    work = Path(tempfile.mkdtemp(prefix="measured-"))
    fixtures = work / "fixtures"
    make_fixtures(fixtures, programs)
    size = size_of(*map(int, options.size.split("x")))
    counter = None if options.time or options.bytes else "perf" if perf_counts() else "valgrind"
    unit = {"perf": "M instructions (perf)", "valgrind": "M instructions (valgrind)", None: "ms"}[counter]
    print(f"| application | bytes, crossterm | here | ratio | {unit}, crossterm | here | ratio |\n|---|---|---|---|---|---|---|", flush=True)
    ratios = []
    for name, session in sessions().items():
        if (options.names and name not in options.names) or not (programs / "after" / name).exists():
            continue
        found = {"before": [], "after": []}
        for _ in range(options.rounds):
            for version, values in found.items():
                # Bytes without valgrind, which slows the program down.
                drawn, used = run(session, version, programs, size, work, None, 0.4)
                if counter and name not in ALWAYS_DRAWING:
                    used = run(session, version, programs, size, work, counter, 1.5)[1] / 1e6
                else:
                    used *= 1e3
                values.append((drawn, used))
        theirs, ours = ([statistics.median(column) for column in zip(*values)] for values in found.values())
        ratios.append(ours[0] / theirs[0])
        row = f"| {name} | {theirs[0]:,.0f} | {ours[0]:,.0f} | {ratios[-1]:.2f} |"
        if options.bytes or (counter and name in ALWAYS_DRAWING):
            row += " | | |"
        else:
            row += f" {theirs[1]:,.1f} | {ours[1]:,.1f} | {ours[1] / theirs[1]:.3f} |"
        print(row, flush=True)
    if ratios:
        print(f"\nbytes, geometric mean: {statistics.geometric_mean(ratios):.2f}")
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
