#!/usr/bin/env python3
"""Compares screenshots of real terminals, pixel by pixel, with pictures drawn through crossterm's backend and through this one.

    cargo build -p outpace-ratatui --example looks --features workloads
    crates/outpace-ratatui/scripts/compare-pixels.py target/debug/examples/looks [WORK_DIRECTORY [TERMINAL,…]]

Each terminal runs with its default settings in an X server of its own (Xvfb); foot, which needs Wayland, in a weston in that. For
each picture: how many pixels differ between both backends, and between two runs of crossterm's, which is the least to be expected.
Then in how many each of both differs from the last frame alone, drawn through crossterm's backend on a screen that never showed
another, and, last, in how many this backend's is neither crossterm's nor that: where crossterm's picture keeps rests of earlier frames,
each pixel has to be one of both. Where terminals disagree about the width of a symbol, crossterm's picture is displaced behind it: the
picture `symbols` is compared with this backend's own last frame alone. Of a screen that blinks it takes screenshots for some
seconds: each phase that one of them shows is to be one that the other shows. Terminals that are not installed are reported and
skipped. Exit status 1 if there are more pixels of the last kind than those in which crossterm's two runs differ.
"""

import sys
import tempfile
from pathlib import Path

from displays import TERMINALS, Display, beyond, difference, missing, wait_for

# Names, and how many frames lead to the picture.
PICTURES = [("styles", 1), ("styles", 8), ("blinking", 1), ("blinking", 8), ("animation", 8), ("noise", 8), ("log", 8), ("editor", 8), ("dashboard", 8),
            ("symbols", 4), ("symbols", 8)]
# The backends that draw each picture. Alone: its last frame, on a screen that never showed another.
RUNS = {"theirs": ("crossterm", ""), "again": ("crossterm", ""), "ours": ("outpace", ""), "alone": ("crossterm", "alone"),
        "lone": ("outpace", "alone")}
# In whose picture alone the frames have to end.
MODELS = {"symbols": "lone"}


def shoot(display, looks, run, picture, frames, place):
    """The terminal's screenshots once it has drawn the picture: one, or those of all phases."""
    backend, alone = RUNS[run]
    said = place / "said"
    said.unlink(missing_ok=True)
    shell = f'exec "{looks}" {backend} {picture} {frames} {alone} 2>"{said}"'
    display.open(["sh", "-c", shell])
    try:
        wait_for(lambda: said.exists() and "drawn" in said.read_text(), f"{display.terminal} does not draw {picture}")
        return display.pictures()
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
                model = MODELS.get(picture, "alone")
                for name in [name for name in RUNS if name != "lone" or name == model]:
                    shots[name] = shoot(display, looks, name, picture, frames, place)
                    for number, shot in enumerate(shots[name]):
                        shot.save(place / f"{picture}-{frames}-{name}-{number}.png")
                own = difference(shots["theirs"], shots["again"])
                ours = min(difference(shots[name], shots["ours"]) for name in ("theirs", "again"))
                theirs_alone = difference(shots["alone"], shots["theirs"])
                ours_alone = difference(shots[model], shots["ours"])
                left = beyond(shots["ours"], shots["theirs"] + shots["again"], shots[model])
                worse = left > own
                failed |= worse
                print(f"{terminal} {picture}, {frames} frames: {ours} pixels differ, crossterm's own {own}; from the last frame alone: "
                      f"{ours_alone}, crossterm's {theirs_alone}; neither: {left}{'  <--' if worse else ''}", flush=True)
        except TimeoutError as error:
            failed = True
            print(f"{terminal}: {error}")
        finally:
            display.end()
    sys.exit(failed)


main()
