#!/usr/bin/env python3
"""Compares what real terminals show, pixel by pixel, of pictures drawn through crossterm's backend and through this one.

    cargo build -p outpace-ratatui --example looks --features workloads
    crates/outpace-ratatui/scripts/compare-pixels.py target/debug/examples/looks [WORK_DIRECTORY [TERMINAL,…]]

Each terminal runs with its default settings in an X server of its own (Xvfb); foot, which needs Wayland, in a
weston in that. For each picture: how many pixels differ between both backends, and between two runs of crossterm's, which is what
cannot be asked for. What is not installed is reported and skipped. Needs ImageMagick. Exit status 1 if anything differs.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from displays import TERMINALS, Display, different, missing, wait_for

# Names, and how many frames lead to the picture. In xterm the pixel by which bold letters stick out of their cells, and the
# second half of a wide symbol that became another, stay behind through crossterm's backend when styles change into one
# another. This backend prints again what is behind a symbol of uncertain width, and so takes such a pixel away.
PICTURES = [("styles", 1), ("styles", 8), ("animation", 8), ("noise", 8), ("log", 8), ("editor", 8), ("dashboard", 8)]
LEFTOVERS = {("xterm", "styles", 1), ("xterm", "styles", 8)}


def shoot(display, looks, backend, picture, frames, path):
    """A screenshot of the terminal once it has drawn the picture and shows nothing new any more."""
    said = path.with_suffix(".said")
    said.unlink(missing_ok=True)
    shell = f'exec "{looks}" {backend} {picture} {frames} 2>"{said}"'
    display.open(["sh", "-c", shell])
    try:
        wait_for(lambda: said.exists() and "drawn" in said.read_text(), f"{display.terminal} does not draw {picture}")
        before = path.with_name("before.png")
        display.screenshot(before)

        def settled():
            time.sleep(0.4)
            display.screenshot(path)
            if different(before, path) == 0:
                return True
            shutil.copy(path, before)
            return False

        wait_for(settled, f"{display.terminal} never stops drawing {picture}")
    finally:
        display.close_windows()


def main():
    looks = Path(sys.argv[1]).resolve()
    work = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="pixels-")).resolve()
    work.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[3].split(",") if len(sys.argv) > 3 else list(TERMINALS)
    failed = False
    for terminal in wanted:
        if lacking := missing(terminal):
            print(f"{terminal}: skipped, not installed: {', '.join(lacking)}")
            continue
        place = work / terminal
        place.mkdir(exist_ok=True)
        display = Display(place, terminal)
        try:
            for picture, frames in PICTURES:
                shots = {}
                for name, backend in (("theirs", "crossterm"), ("again", "crossterm"), ("ours", "outpace")):
                    shots[name] = place / f"{picture}-{frames}-{name}.png"
                    shoot(display, looks, backend, picture, frames, shots[name])
                own = different(shots["theirs"], shots["again"])
                ours = min((different(shots[name], shots["ours"]) for name in ("theirs", "again")),
                           key=lambda n: 1 << 60 if n is None else n)
                worse = ours is None or own is None or ours > own
                worse &= (terminal, picture, frames) not in LEFTOVERS
                failed |= worse
                print(f"{terminal} {picture}, {frames} frames: {ours} pixels differ, crossterm's own {own}{'  <--' if worse else ''}",
                      flush=True)
        except (TimeoutError, subprocess.CalledProcessError, StopIteration) as error:
            failed = True
            print(f"{terminal}: {error}")
        finally:
            display.end()
    sys.exit(failed)


main()
