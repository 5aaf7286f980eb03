#!/usr/bin/env python3
"""Compares screenshots of real terminals, pixel by pixel, with real applications on crossterm's backend and on this one.

    crates/outpace-ratatui/examples/ports/build.py
    crates/outpace-ratatui/scripts/compare-applications.py [--terminals xterm,…] [--resize SEED] [--work DIRECTORY] [APPLICATION…]

Four terminals of a kind open side by side, each on a display of its own (Xvfb; foot in a weston in that), with their default settings:
one runs the application as it is, one again as it is, one on this backend, and one as it is that is made to draw each screen once more
after clearing it, by a change of size there and back. All get the same keys (applications.toml). After each key, once the screens
stand still, it counts the pixels in which this backend's screenshot differs from crossterm's, and in which crossterm's two differ. Then
in how many each of both differs from the cleared screen, and in how many this backend's is neither crossterm's nor the cleared screen:
where crossterm's picture keeps rests of earlier frames, each pixel has to be one of both. Of a screen that blinks it takes screenshots
for some seconds: each phase that one of them shows is to be one that the other shows. Screens that differ are awaited for a while, as
one terminal may lag behind another. Terminals that are not installed are reported and skipped. The screenshots of screens that differ
are kept. Exit status 1 if any screen has more pixels of the last kind than those in which crossterm's two differ.

With `--resize`, xdotool resizes the windows after each key, one to six times with pauses of 0 to 300 ms, all of them alike. foot, which
fills its display, gets another size of its font. The seed names the sizes.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples" / "ports"))

import build
from displays import TERMINALS, Display, beyond, difference, extent, missing, wait_for
from sessions import HERE, make_fixtures, sessions, typed

RUNS = {"theirs": "before", "again": "before", "ours": "after", "alone": "before"}
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

    def draw_again(self):
        """Has the application draw its screen on a cleared one: by a change of size there and back."""
        relay = int((self.place / "relay").read_text())
        for change in (signal.SIGUSR1, signal.SIGUSR2):
            before = self.written()
            os.kill(relay, change)
            wait_for(lambda: self.written() > before, f"{self.display.terminal}: not drawn again")
            self.shoot()

    def shoot(self):
        """The terminal's screenshots once it stands still, one for each phase, or after a while."""
        return self.display.pictures(self.written)


def resize_all(runs, sizes):
    """Gives the windows random sizes, the same to each."""
    changes = [(sizes.randint(300, 980), sizes.randint(150, 680), sizes.uniform(0, 0.3)) for _ in range(sizes.randint(1, 6))]

    def resize(run):
        for width, height, pause in changes:
            run.display.resize(width, height)
            time.sleep(pause)

    with ThreadPoolExecutor() as pool:
        list(pool.map(resize, runs.values()))


class Screen:
    """The screenshots of one screen, in each of its phases, and how many pixels differ."""

    def __init__(self, runs):
        """Taken until this backend's is crossterm's, or for a while."""
        start = time.monotonic()
        compared = {name: run for name, run in runs.items() if name != "alone"}
        while True:
            self.shots = shoot_all(compared)
            self.own = self.between("theirs", "again")
            self.ours = min(self.between(name, "ours") for name in ("theirs", "again"))
            self.left = 0
            self.ours_alone = self.theirs_alone = None
            if self.ours == self.own == 0:
                return
            if compared is not runs:
                runs["alone"].draw_again()
                compared = runs
                continue
            self.ours_alone, self.theirs_alone = (self.between(name, "alone") for name in ("ours", "theirs"))
            self.left = beyond(self.shots["ours"], self.shots["theirs"] + self.shots["again"], self.shots["alone"])
            if self.left == 0 or time.monotonic() - start > PATIENCE:
                return

    def between(self, *names):
        return difference(*(self.shots[name] for name in names))

    def where(self):
        """The places of the pixels that are this backend's alone; one for each of its phases."""
        others = [shot for name, shots in self.shots.items() if name != "ours" for shot in shots]
        return ", ".join(extent(shot, *others) or "none: a phase is lacking" for shot in self.shots["ours"])

    def is_worse(self):
        return self.left > self.own

    def save(self, work, name):
        for run, shots in self.shots.items():
            for number, shot in enumerate(shots):
                shot.save(work / f"{name}-{run}-{number}.png")


def shoot_all(runs):
    with ThreadPoolExecutor() as pool:
        return dict(zip(runs, pool.map(Run.shoot, runs.values())))


def compare(displays, session, programs, fixtures, work, sizes):
    """The screens of one application in one terminal, resized after each key if there are sizes to choose from."""
    runs = {}
    found = []
    try:
        for name, version in RUNS.items():
            place = work / session.name / name
            place.mkdir(parents=True, exist_ok=True)
            runs[name] = Run(displays[name], place, session.command(programs, version, fixtures), session.directory(fixtures))
        for number, key in enumerate(["", *session.keys]):
            if key:
                for run in runs.values():
                    run.type(key)
            if sizes:
                resize_all(runs, sizes)
            screen = Screen(runs)
            if any(run.ended() for run in runs.values()):
                raise TimeoutError(f"{session.name} ended after {key!r}")
            found.append(screen)
            if screen.ours:
                screen.save(work, f"{session.name}-{number}")
        return found
    finally:
        for display in displays.values():
            display.close_windows()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("names", nargs="*", help="programs to compare; all without")
    arguments.add_argument("--terminals", default=",".join(TERMINALS))
    arguments.add_argument("--resize", metavar="SEED")
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
        if lacking := missing(terminal, *["xdotool"] * bool(options.resize)):
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
                    sizes = random.Random(options.resize) if options.resize else None
                    found = compare(displays, session, programs, fixtures, work / terminal, sizes)
                except TimeoutError as error:
                    failed = True
                    print(f"{terminal} {name}: {error}  <--", flush=True)
                    continue
                worse = [number for number, screen in enumerate(found) if screen.is_worse()]
                failed |= bool(worse)
                differ = [number for number, screen in enumerate(found) if screen.ours_alone is not None]
                more = f"; from the cleared screen, of those: {[found[number].ours_alone for number in differ]}, crossterm's " \
                       f"{[found[number].theirs_alone for number in differ]}; neither: {[found[number].left for number in differ]}" if differ else ""
                note = f"  <-- screens {', '.join(f'{number} ({found[number].where()})' for number in worse)}" if worse else ""
                print(f"{terminal} {name}: {len(found)} screens, {[screen.ours for screen in found]} pixels differ, crossterm's own "
                      f"{[screen.own for screen in found]}{more}{note}", flush=True)
        finally:
            for display in displays.values():
                display.end()
    print(f"screens that differ are in {work}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
