#!/usr/bin/env python3
"""Compares screenshots of real terminals, pixel by pixel, with real applications on crossterm's backend and on this one.

    crates/outpace-ratatui/examples/ports/build.py
    crates/outpace-ratatui/scripts/compare-applications.py [--terminals xterm,…] [--work DIRECTORY] [APPLICATION…]

Three terminals of a kind open side by side, each on a display of its own (Xvfb; foot in a weston in that), with their default settings:
one runs the application as it is, one again as it is, one on this backend. All get the same keys (applications.toml). After each
key, once the screens stand still, it counts the pixels in which this backend's screenshot differs from crossterm's, and in which
crossterm's two differ. Screens that differ are awaited for a while, as one terminal may lag behind another. Terminals that are not
installed are reported and skipped. The screenshots of screens that differ are kept. Exit status 1 if any screen differs in
more pixels than crossterm's own two.
"""

import argparse
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples" / "ports"))

import build
from displays import TERMINALS, Display, different, missing, wait_for
from sessions import HERE, make_fixtures, sessions, typed

RUNS = {"theirs": "before", "again": "before", "ours": "after"}
# How long screens that differ are given to become alike.
PATIENCE = 10


class Run:
    """One terminal with one application in it."""

    def __init__(self, display, place, command, directory):
        self.display, self.place = display, place
        home = place / "home"
        home.mkdir(parents=True, exist_ok=True)
        for name in ("output", "status", "keys"):
            (place / name).unlink(missing_ok=True)
        environment = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "XDG_CACHE_HOME": str(home / "cache"),
                       "XDG_DATA_HOME": str(home / "data")}
        relay = [sys.executable, str(HERE / "sessions.py"), "relay", str(place), *command]
        display.open(relay, environment, directory)
        wait_for(lambda: self.written() > 0, f"{display.terminal}: {command[0]} draws nothing")

    def written(self):
        output = self.place / "output"
        return output.stat().st_size if output.exists() else 0

    def ended(self):
        return (self.place / "status").exists()

    def type(self, key):
        with open(self.place / "keys", "wb", buffering=0) as keys:
            keys.write(typed(key))

    def shoot(self):
        """The terminal's screenshot once it stands still, or after a while."""
        start = time.monotonic()
        last, alike = (None, None), 0
        while alike < 4 and time.monotonic() - start < 5:
            now = (self.written(), self.display.screenshot())
            alike = alike + 1 if now == last else 0
            last = now
            time.sleep(0.08)
        return last[1]


def screens(runs, patience):
    """How many pixels of a screen differ, ours from crossterm's, and crossterm's two; and the screens."""
    start = time.monotonic()
    while True:
        with ThreadPoolExecutor() as pool:
            shots = dict(zip(runs, pool.map(Run.shoot, runs.values())))
        own = different(shots["theirs"], shots["again"])
        ours = min(different(shots[name], shots["ours"]) for name in ("theirs", "again"))
        if (ours == 0 and own == 0) or time.monotonic() - start > patience:
            return ours, own, shots


def compare(displays, session, programs, fixtures, work):
    """Pixels per screen of one application in one terminal: ours, and crossterm's own."""
    runs = {}
    counted = []
    try:
        for name, version in RUNS.items():
            place = work / session.name / name
            place.mkdir(parents=True, exist_ok=True)
            runs[name] = Run(displays[name], place, session.command(programs, version, fixtures), session.directory(fixtures))
        for number, key in enumerate(["", *session.keys]):
            if key:
                for run in runs.values():
                    run.type(key)
            ours, own, shots = screens(runs, PATIENCE)
            if any(run.ended() for run in runs.values()):
                raise TimeoutError(f"{session.name} ended after {key!r}")
            counted.append((ours, own))
            for name in shots if ours else ():
                shots[name].save(work / f"{session.name}-{number}-{name}.png")
        return counted
    finally:
        for display in displays.values():
            display.close_windows()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("names", nargs="*", help="programs to compare; all without")
    arguments.add_argument("--terminals", default=",".join(TERMINALS))
    arguments.add_argument("--work", type=Path)
    arguments.add_argument("--directory", type=Path, default=build.DEFAULT, help="where build.py worked")
    options = arguments.parse_args()
    # So that displays and terminals end, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    known = sessions()
    if unknown := set(options.names) - set(known):
        sys.exit(f"compare-applications: unknown: {', '.join(sorted(unknown))}")
    work = (options.work or Path(tempfile.mkdtemp(prefix="applications-"))).resolve()
    programs = options.directory.resolve() / "programs"
    fixtures = work / "fixtures"
    make_fixtures(fixtures, programs)
    failed = False
    for terminal in options.terminals.split(","):
        if lacking := missing(terminal):
            print(f"{terminal}: skipped, not installed: {', '.join(lacking)}")
            continue
        displays = {}
        try:
            for name in RUNS:
                place = work / terminal / name
                place.mkdir(parents=True, exist_ok=True)
                displays[name] = Display(place, terminal)
            for name, session in known.items():
                if options.names and name not in options.names:
                    continue
                if not all((programs / version / name).exists() for version in RUNS.values()):
                    print(f"{name}: skipped, not built")
                    continue
                try:
                    counted = compare(displays, session, programs, fixtures, work / terminal)
                except TimeoutError as error:
                    failed = True
                    print(f"{terminal} {name}: {error}  <--", flush=True)
                    continue
                worse = [number for number, (ours, own) in enumerate(counted) if ours > own]
                failed |= bool(worse)
                note = f"  <-- screens {worse}" if worse else ""
                print(f"{terminal} {name}: {len(counted)} screens, {[ours for ours, _ in counted]} pixels differ, crossterm's own "
                      f"{[own for _, own in counted]}{note}", flush=True)
        finally:
            for display in displays.values():
                display.end()
    print(f"screens that differ are in {work}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
