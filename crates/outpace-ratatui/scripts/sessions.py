"""Sessions of real applications: their fixtures and keys (examples/ports/applications.toml), and a terminal to drive one on.

As a program, `sessions.py relay DIRECTORY PROGRAM…` runs a program on a pseudo-terminal of its own between it and the terminal it is
started in: the program's output is also appended to DIRECTORY/output, and bytes written to DIRECTORY/keys are typed. SIGUSR1 tells the
program of a terminal that is a column narrower, SIGUSR2 of this one.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import tomllib
import tty
from pathlib import Path

from displays import Picture

HERE = Path(__file__).resolve().parent
PORTS = HERE.parent / "examples" / "ports"
NAMED = {
    "Enter": "\r", "Tab": "\t", "Esc": "\x1b", "Space": " ", "Backspace": "\x7f",
    "Up": "\x1b[A", "Down": "\x1b[B", "Right": "\x1b[C", "Left": "\x1b[D",
    "PageUp": "\x1b[5~", "PageDown": "\x1b[6~", "Home": "\x1b[H", "End": "\x1b[F",
}


def typed(key):
    """The bytes that a terminal sends for a key, or for several: `C-a`, `Down`, `abc`; `5*Down` is five times the key."""
    count, star, rest = key.partition("*")
    if star and count.isdigit():
        return typed(rest) * int(count)
    if key.startswith("C-") and len(key) == 3:
        return bytes([ord(key[2].upper()) - 64])
    return NAMED.get(key, key).encode()


class Session:
    """One application's: how it is started, and the keys that follow one another."""

    def __init__(self, name, entry, keys):
        self.name, self.keys = name, keys
        self.arguments = entry.get("arguments", [])
        self.place = entry.get("directory")

    def directory(self, fixtures):
        """The directory it is started in; by default this program's."""
        return fixtures / self.place if self.place else None

    def command(self, programs, version, fixtures):
        arguments = [argument.replace("FIXTURES", str(fixtures)) for argument in self.arguments]
        return [str(programs / version / self.name), *arguments]


def sessions():
    """All of them, by name."""
    found = {}
    for name, entry in tomllib.loads((PORTS / "applications.toml").read_text()).items():
        if "examples" in entry:
            for example in entry["examples"]:
                found[example] = Session(example, entry, entry.get("keys", {}).get(example, []))
        else:
            found[entry.get("binary", name)] = Session(entry.get("binary", name), entry, entry["keys"])
    return found


def make_fixtures(directory, programs):
    """The files that the applications are shown: the same in every run."""
    directory.mkdir(parents=True, exist_ok=True)
    words = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu".split()
    rows = ["number,square,name,remark,日本"]
    for n in range(1, 2001):
        rows.append(f"{n},{n * n},{words[n % 12]},{words[n % 7]} {words[n % 5]} é{n % 97},表{n % 10}")
    (directory / "table.csv").write_text("\n".join(rows) + "\n")
    (directory / "bytes.bin").write_bytes(bytes((n * n + n // 7) % 256 for n in range(8192)))
    (directory / "lines.txt").write_text("".join(f"{n} {words[n % 12]} {words[n % 7]}/{n % 13}.rs\n" for n in range(1, 3001)))
    # One file: those that search several do so in any order.
    (directory / "text").mkdir(exist_ok=True)
    (directory / "text/lines.txt").write_bytes((directory / "lines.txt").read_bytes()[:4000])
    # No figures that change from one moment to the next, but those of disks and of a process that is not there.
    (directory / "bottom.toml").write_text(
        '[flags]\nrate = "1h"\nbasic = false\nhide_time = true\n[disk]\ncolumns = ["Disk", "Mount", "Total"]\n'
        '[[row]]\n[[row.child]]\ntype = "disk"\n[[row.child]]\ntype = "proc"\ndefault = true\n'
    )
    make_repository(directory / "repository")
    make_text(directory)
    # A cluster that is not there.
    (directory / "kubeconfig").write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: none\n"
        "clusters: [{name: none, cluster: {server: 'http://127.0.0.1:9'}}]\n"
        "contexts: [{name: none, context: {cluster: none, user: none, namespace: default}}]\nusers: [{name: none, user: {}}]\n"
    )
    # An executable of some size.
    executable = directory / "executable"
    executable.write_bytes((programs / "before" / "popup").read_bytes())
    executable.chmod(0o755)
    for path in directory.iterdir():
        os.utime(path, (1_700_000_000, 1_700_000_000))


def make_text(directory):
    """A text in many scripts, with an image: wide symbols, marks, symbols of several code points, right to left, braille, boxes."""
    samples = {
        "日本語": "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。 ＡＢＣ ｱｲｳ 한국어 中文",
        "עברית": "שלום עולם, זהו טקסט מימין לשמאל with Latin בתוכו 123",
        "العربية": "مرحبا بالعالم، هذا نص من اليمين إلى اليسار with Latin داخله ١٢٣",
        "हिन्दी": "नमस्ते दुनिया क्षत्रिय ก็ไม่ได้ สวัสดี",
        "Emoji": "👩‍👩‍👧‍👦 👍🏽 🇯🇵🇩🇪 ❤️ ☀︎ ⚠️ 1️⃣ 🏳️‍🌈 🫠",
        "Marks": "e\u0301 a\u0308\u0304 o\u0323\u0302 Z\u0351\u036b\u0343 \u200bzero\u00adwidth",
        "Braille": "⠁⠃⠉⠙⠑⡿⣿⢸⡇⠿ ▁▂▃▄▅▆▇█ ░▒▓ ┌─┬─┐ ╔═╦═╗",
    }
    text = "# All kinds of text\n\n![a picture](picture.png)\n\n"
    for title, sample in samples.items():
        text += f"## {title}\n\n" + f"{sample} *{sample[:6]}* **{sample[:4]}** `{sample[:5]}`\n\n" * 3
        text += f"| one | {title} | three |\n|---|---|---|\n" + "".join(f"| {n} | {sample[n:n + 7]} | {n * n} |\n" for n in range(4)) + "\n"
        text += "```rust\nfn main() {\n    println!(\"" + sample[:9] + "\"); // " + sample[:5] + "\n}\n```\n\n"
    (directory / "text.md").write_text(text)
    width, height = 160, 90
    pixels = bytes(part for y in range(height) for x in range(width) for part in (x * 255 // width, y * 255 // height, x * y % 256, 0))
    Picture(width, height, pixels).save(directory / "picture.png")


def make_repository(directory):
    """Commits on three branches that come together now and then, the same in every run."""
    directory.mkdir(exist_ok=True)

    def git(*arguments, second=0):
        when = f"{1_700_000_000 + 3600 * second} +0000"
        who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
               for what, value in (("NAME", "A. Nobody"), ("EMAIL", "nobody@example.org"), ("DATE", when))}
        nothing = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        subprocess.run(["git", "-C", str(directory), *arguments], env={**os.environ, **who, **nothing}, check=True, capture_output=True)

    if (directory / ".git").exists():
        return
    git("init", "--quiet", "--initial-branch=main")
    branches = ["main", "topic", "fix"]
    for n in range(1, 61):
        branch = branches[n * n % 3 if n > 3 else n - 1]
        git("checkout", "--quiet", *(["-B", branch] if n <= 3 else [branch]))
        if n % 10 == 0:
            other = branches[(branches.index(branch) + 1) % 3]
            git("merge", "--quiet", "--no-ff", "-m", f"Merge {other} into {branch}", other, second=n)
        else:
            (directory / f"{branch}-{n % 7}.txt").write_text("".join(f"line {line} of {n}\n" for line in range(n)))
            git("add", ".")
            git("commit", "--quiet", "-m", f"Change {n} é 日本", second=n)
        if n % 25 == 0:
            git("tag", f"v0.{n}", second=n)


def window_size(descriptor):
    return fcntl.ioctl(descriptor, termios.TIOCGWINSZ, bytes(8))


def start(command, size, environment=None, directory=None):
    """A program on a new pseudo-terminal; its process and the other end."""
    process, terminal = pty.fork()
    if process == 0:
        if directory:
            os.chdir(directory)
        fcntl.ioctl(0, termios.TIOCSWINSZ, size)
        os.execvpe(command[0], command, {**os.environ, **(environment or {})})
    return process, terminal


def relay(directory, command):
    directory = Path(directory)
    keys_path = directory / "keys"
    keys_path.unlink(missing_ok=True)
    os.mkfifo(keys_path)
    keys = os.open(keys_path, os.O_RDWR | os.O_NONBLOCK)
    output = open(directory / "output", "wb", buffering=0)
    size = window_size(0)
    tty.setraw(0)
    process, terminal = start(command, size)
    # A signal interrupts `select` as a byte does.
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def resize(narrower):
        rows, columns, *_ = struct.unpack("HHHH", window_size(0))
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, size_of(columns - narrower, rows))

    for number, narrower in {signal.SIGWINCH: 0, signal.SIGUSR1: 1, signal.SIGUSR2: 0}.items():
        signal.signal(number, lambda *_, narrower=narrower: resize(narrower))
    (directory / "relay").write_text(str(os.getpid()))
    while True:
        ready = select.select([0, terminal, keys, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 64)
        if terminal in ready:
            try:
                data = os.read(terminal, 65536)
            except OSError:
                break
            # Logged once the terminal has it: a picture is not awaited before.
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(1, rest):]
            output.write(data)
        for source in (0, keys):
            if source in ready:
                os.write(terminal, os.read(source, 4096))
    status = os.waitpid(process, 0)[1]
    (directory / "status").write_text(str(os.waitstatus_to_exitcode(status)))
    while True:
        time.sleep(60)


def size_of(columns, rows):
    return struct.pack("HHHH", rows, columns, 0, 0)


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] != "relay":
        sys.exit(__doc__)
    relay(sys.argv[2], sys.argv[3:])
