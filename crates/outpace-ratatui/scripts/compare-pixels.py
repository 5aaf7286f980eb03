#!/usr/bin/env python3
"""Compares what real terminals show, pixel by pixel, of pictures drawn through crossterm's backend and through this one.

    cargo build -p outpace-ratatui --example looks --features workloads
    crates/outpace-ratatui/scripts/compare-pixels.py target/debug/examples/looks [WORK_DIRECTORY [TERMINAL,…]]

Each terminal runs with its default settings in an X server of its own (Xvfb); foot, which needs Wayland, in a
weston in that. For each picture: how many pixels differ between both backends, and between two runs of crossterm's, which is what
cannot be asked for. What is not installed is reported and skipped. Needs ImageMagick. Exit status 1 if anything differs.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Names, and how many frames lead to the picture. In xterm the pixel by which bold letters stick out of their cells, and the
# second half of a wide symbol that became another, stay behind through crossterm's backend when styles change into one
# another. This backend prints again what is behind a symbol of uncertain width, and so takes such a pixel away.
PICTURES = [("styles", 1), ("styles", 8), ("animation", 8), ("noise", 8), ("log", 8), ("editor", 8), ("dashboard", 8)]
LEFTOVERS = {("xterm", "styles", 1), ("xterm", "styles", 8)}
TERMINALS = {
    "xterm": ["xterm", "-e"],
    "alacritty": ["alacritty", "-e"],
    "kitty": ["kitty"],
    "foot": ["foot"],
}
LIMIT = 60


def wait_for(condition, what):
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > LIMIT:
            raise TimeoutError(what)
        time.sleep(0.05)


class Display:
    """A display of its own: X, and Wayland in it for foot."""

    def __init__(self, work, wayland):
        self.environment = dict(os.environ, LIBGL_ALWAYS_SOFTWARE="1", XDG_RUNTIME_DIR=str(work))
        for name in ("NO_COLOR", "TMUX", "ZELLIJ", "OUTPACE_DRAW_OFF", "WAYLAND_DISPLAY", "DISPLAY"):
            self.environment.pop(name, None)
        read, write = os.pipe()
        command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1000x700x24", "-nolisten", "tcp"]
        self.servers = [subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL)]
        os.close(write)
        number = os.fdopen(read).readline().strip()
        self.environment["DISPLAY"] = ":" + number
        if wayland:
            # Without a panel, whose clock would be a difference.
            work.chmod(0o700)
            (work / "looks").unlink(missing_ok=True)
            command = ["weston", "--backend=x11-backend.so", "--use-pixman", "--shell=kiosk-shell.so", "--socket=looks",
                       "--width=1000", "--height=700", "--idle-time=0"]
            self.servers.append(subprocess.Popen(command, env=self.environment, stdout=subprocess.DEVNULL,
                                                 stderr=subprocess.DEVNULL))
            wait_for((work / "looks").exists, "weston does not start")
            self.environment["WAYLAND_DISPLAY"] = "looks"

    def screenshot(self, path):
        subprocess.run(["import", "-window", "root", str(path)], env=self.environment, check=True)

    def end(self):
        for server in reversed(self.servers):
            server.terminate()
            server.wait()


def different(one, other):
    """How many pixels differ; None if the sizes do."""
    compared = subprocess.run(["compare", "-metric", "AE", str(one), str(other), "null:"], capture_output=True, text=True)
    try:
        return int(float(compared.stderr.split()[0]))
    except (ValueError, IndexError):
        return None


def shoot(display, terminal, looks, backend, picture, frames, path):
    """A screenshot of the terminal once it has drawn the picture and shows nothing new any more."""
    said = path.with_suffix(".said")
    said.unlink(missing_ok=True)
    shell = f'exec "{looks}" {backend} {picture} {frames} 2>"{said}"'
    window = subprocess.Popen(TERMINALS[terminal] + ["sh", "-c", shell], env=display.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: said.exists() and "drawn" in said.read_text(), f"{terminal} does not draw {picture}")
        before = path.with_name("before.png")
        display.screenshot(before)

        def settled():
            time.sleep(0.4)
            display.screenshot(path)
            if different(before, path) == 0:
                return True
            shutil.copy(path, before)
            return False

        wait_for(settled, f"{terminal} never stops drawing {picture}")
    finally:
        window.terminate()
        window.wait()


def main():
    looks = Path(sys.argv[1]).resolve()
    work = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="pixels-")).resolve()
    work.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[3].split(",") if len(sys.argv) > 3 else list(TERMINALS)
    for tool in ("Xvfb", "import", "compare"):
        if not shutil.which(tool):
            sys.exit(f"compare-pixels: {tool} is not installed")
    failed = False
    for terminal in wanted:
        needed = [terminal] + (["weston"] if terminal == "foot" else [])
        missing = [tool for tool in needed if not shutil.which(tool)]
        if missing:
            print(f"{terminal}: skipped, not installed: {', '.join(missing)}")
            continue
        place = work / terminal
        place.mkdir(exist_ok=True)
        display = Display(place, terminal == "foot")
        try:
            for picture, frames in PICTURES:
                shots = {}
                for name, backend in (("theirs", "crossterm"), ("again", "crossterm"), ("ours", "outpace")):
                    shots[name] = place / f"{picture}-{frames}-{name}.png"
                    shoot(display, terminal, looks, backend, picture, frames, shots[name])
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
