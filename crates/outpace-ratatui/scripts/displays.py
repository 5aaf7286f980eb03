"""Real terminals on displays of their own, and their screenshots: for compare-pixels.py and compare-applications.py."""

import os
import shutil
import struct
import subprocess
import time
import zlib

# With their default settings, but for a size that applications need (foot fills its display), a cursor that does not blink in
# kitty, the one whose cursor does, and what a window with the focus shows in xterm: without it, text that blinks goes on blinking only
# when the program writes. A command follows.
TERMINALS = {
    "xterm": ["xterm", "-geometry", "100x30", "-xrm", "XTerm*alwaysHighlight: true", "-e"],
    "alacritty": ["alacritty", "-o", "window.dimensions.columns=100", "-o", "window.dimensions.lines=30", "-e"],
    "kitty": ["kitty", "-o", "remember_window_size=no", "-o", "initial_window_width=100c", "-o", "initial_window_height=30c",
              "-o", "cursor_blink_interval=0"],
    "foot": ["foot"],
}
LIMIT = 60
# Seconds without a change after which a screen stands still; longer than the slowest phase of blinking, xterm's 0.6.
STILL = 0.8
# Seconds in which a screen that does not stand still shows its phases.
BLINKING = 5


def wait_for(condition, what, limit=LIMIT):
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > limit:
            raise TimeoutError(what)
        time.sleep(0.05)


def missing(terminal, *others):
    """The programs that have to be installed and are not."""
    needed = ["Xvfb", terminal, *others] + (["weston"] if terminal == "foot" else [])
    return [tool for tool in needed if not shutil.which(tool)]


class Display:
    """An X server of its own (Xvfb), and a weston in it for foot, which needs Wayland."""

    def __init__(self, work, terminal, size="1000x700"):
        self.terminal = terminal
        self.windows = []
        self.frame_buffer = work / "Xvfb_screen0"
        self.environment = dict(os.environ, LIBGL_ALWAYS_SOFTWARE="1", XDG_RUNTIME_DIR=str(work))
        for name in ("NO_COLOR", "TMUX", "ZELLIJ", "OUTPACE_DRAW_OFF", "WAYLAND_DISPLAY", "DISPLAY"):
            self.environment.pop(name, None)
        read, write = os.pipe()
        command = ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{size}x24", "-nolisten", "tcp", "-noreset", "-nocursor", "-fbdir",
                   str(work)]
        self.servers = [subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL)]
        os.close(write)
        number = os.fdopen(read).readline().strip()
        self.environment["DISPLAY"] = ":" + number
        if terminal == "foot":
            # Without a panel, whose clock would be a difference.
            work.chmod(0o700)
            (work / "looks").unlink(missing_ok=True)
            width, height = size.split("x")
            command = ["weston", "--backend=x11-backend.so", "--use-pixman", "--shell=kiosk-shell.so", "--socket=looks",
                       f"--width={width}", f"--height={height}", "--idle-time=0"]
            self.servers.append(subprocess.Popen(command, env=self.environment, stdout=subprocess.DEVNULL,
                                                 stderr=subprocess.DEVNULL))
            wait_for((work / "looks").exists, "weston does not start")
            self.environment["WAYLAND_DISPLAY"] = "looks"

    def open(self, command, environment=None, directory=None):
        """A window of the terminal that runs a command."""
        environment = {**self.environment, **(environment or {})}
        window = subprocess.Popen(TERMINALS[self.terminal] + command, env=environment, cwd=directory, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        self.windows.append(window)
        return window

    def resize(self, width, height):
        """Gives the window another size in pixels; foot, which fills its display, a font that is the larger the narrower."""
        if self.terminal == "foot":
            self.xdotool("key", "ctrl+0", *["ctrl+plus"] * max(0, (900 - width) // 120))
        else:
            window = self.xdotool("search", "--onlyvisible", "--class", self.terminal).split()[-1]
            self.xdotool("windowsize", window, str(width), str(height))

    def xdotool(self, *arguments):
        return subprocess.run(["xdotool", *arguments], env=self.environment, check=True, capture_output=True, text=True).stdout

    def close_windows(self):
        for window in self.windows:
            window.terminate()
            window.wait()
        self.windows = []

    def screenshot(self):
        """The display's pixels: the server keeps them in a file, after the header of an xwd file (XWDFile.h)."""
        data = self.frame_buffer.read_bytes()
        header = struct.unpack(">20I", data[:80])
        start = header[0] + 12 * header[19]
        height, line = header[5], header[12]
        return Picture(header[4], height, data[start:start + height * line])

    def pictures(self, written=lambda: None):
        """What it shows once it stands still: one picture, or those between which it blinks. `written` tells of more output."""
        start = time.monotonic()
        # Each with the number of times that it stayed for two screenshots: what is half drawn hardly does so twice.
        seen, last, alike, sent = [], None, 0, None
        while True:
            output, shot, now = written(), self.screenshot(), time.monotonic()
            if output != sent:
                seen, last, sent = [], None, output
            if last is None or shot != last:
                last, alike, since = shot, 0, now
            alike += 1
            if alike == 2:
                known = next((entry for entry in seen if entry[0] == shot), None)
                if known:
                    known[1] += 1
                else:
                    seen.append([shot, 1])
            if now - since >= STILL:
                return [shot]
            if now - start >= BLINKING:
                return [shot for shot, times in seen if times > 1] or [shot]
            time.sleep(0.06)

    def end(self):
        self.close_windows()
        for server in reversed(self.servers):
            server.terminate()
            server.wait()


class Picture:
    """Pixels of 32 bits each."""

    def __init__(self, width, height, pixels):
        self.width, self.height, self.pixels = width, height, pixels

    def __eq__(self, other):
        return self.pixels == other.pixels

    def save(self, path):
        """As PNG."""
        pixels = self.pixels
        colors = bytearray(self.width * self.height * 3)
        for color in range(3):
            colors[color::3] = pixels[2 - color::4]
        row = self.width * 3
        rows = b"".join(b"\0" + colors[at:at + row] for at in range(0, len(colors), row))
        parts = [(b"IHDR", struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)),
                 (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
        with open(path, "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n")
            for kind, body in parts:
                file.write(struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)))


def differing(one, *others):
    """The places of the pixels in which a picture is like none of the others; the unused eighth bits do not count."""
    line = len(one.pixels) // one.height
    for y in range(one.height):
        row, *rows = (picture.pixels[y * line:(y + 1) * line] for picture in (one, *others))
        if row not in rows:
            pixels, *rest = (memoryview(each).cast("I") for each in (row, *rows))
            for x, (a, *all_b) in enumerate(zip(pixels, *rest)):
                if all((a ^ b) & 0xFFFFFF for b in all_b):
                    yield x, y


def different(one, *others):
    """In how many pixels a picture is like none of the others."""
    return sum(1 for _ in differing(one, *others))


def extent(one, *others):
    """The rectangle around these pixels, as WIDTHxHEIGHT+X+Y; nothing if there are none."""
    places = list(differing(one, *others))
    if not places:
        return ""
    xs, ys = zip(*places)
    return f"{max(xs) - min(xs) + 1}x{max(ys) - min(ys) + 1}+{min(xs)}+{min(ys)}"


def farthest(counts):
    """The pixels of the phase that is least like any of the other's; `counts`: a row for each phase, a column for each of the other."""
    return max(max(map(min, counts)), max(map(min, zip(*counts))))


def difference(one, other):
    """How many pixels of each phase are in no phase of the other, at most."""
    return farthest([[different(a, b) for b in other] for a in one])


def beyond(ours, theirs, alone):
    """How many pixels of each phase are neither crossterm's nor those of the last frame alone, at most."""
    pairs = [(min(theirs, key=lambda shot: different(shot, model)), model) for model in alone]
    return farthest([[different(shot, *pair) for pair in pairs] for shot in ours])
