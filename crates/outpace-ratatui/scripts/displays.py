"""Real terminals on displays of their own, and what they show: for compare-pixels.py and compare-applications.py."""

import os
import shutil
import subprocess
import time

# With their default settings. A command follows.
TERMINALS = {
    "xterm": ["xterm", "-e"],
    "alacritty": ["alacritty", "-e"],
    "kitty": ["kitty"],
    "foot": ["foot"],
}
LIMIT = 60


def wait_for(condition, what, limit=LIMIT):
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > limit:
            raise TimeoutError(what)
        time.sleep(0.05)


def missing(terminal):
    """What has to be installed and is not."""
    needed = ["Xvfb", "import", "compare", terminal] + (["weston"] if terminal == "foot" else [])
    return [tool for tool in needed if not shutil.which(tool)]


class Display:
    """An X server of its own (Xvfb), and a weston in it for foot, which needs Wayland."""

    def __init__(self, work, terminal, size="1000x700"):
        self.terminal = terminal
        self.windows = []
        self.environment = dict(os.environ, LIBGL_ALWAYS_SOFTWARE="1", XDG_RUNTIME_DIR=str(work))
        for name in ("NO_COLOR", "TMUX", "ZELLIJ", "OUTPACE_DRAW_OFF", "WAYLAND_DISPLAY", "DISPLAY"):
            self.environment.pop(name, None)
        read, write = os.pipe()
        command = ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{size}x24", "-nolisten", "tcp", "-noreset"]
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

    def open(self, command, environment=None):
        """A window of the terminal that runs a command."""
        environment = {**self.environment, **(environment or {})}
        window = subprocess.Popen(TERMINALS[self.terminal] + command, env=environment, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        self.windows.append(window)
        return window

    def close_windows(self):
        for window in self.windows:
            window.terminate()
            window.wait()
        self.windows = []

    def screenshot(self, path):
        subprocess.run(["import", "-window", "root", str(path)], env=self.environment, check=True)

    def end(self):
        self.close_windows()
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
