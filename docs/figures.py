#!/usr/bin/env python3
"""Draws the figures of the README and of the book from recorded results

Records have the letters that docs/numbers.txt gives them.
"""

import argparse
import json
import re
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "bench" / "results"
PARSER = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
PARSER.add_argument("folder", nargs="?", type=Path, default=HERE / "figures", help="by default docs/figures")
FIGURES = PARSER.parse_args().folder
RECORDS = dict(re.findall(r"^([A-Z]) = (\S+)$", (HERE / "numbers.txt").read_text(encoding="utf-8"), re.M))
WIDTH = 760
STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}.label,.end{text-anchor:end}"
    ".middle{text-anchor:middle}.small{font-size:12px;fill:#57606a}.ours{fill:#1a7f37}.theirs{fill:#8c959f}"
    ".box{fill:none;stroke:#57606a;stroke-width:1.5}.line{stroke:#57606a;stroke-width:1.5;fill:none}"
    ".thin{stroke:#8c959f;stroke-width:1}.wait{stroke:#cf222e;stroke-width:4}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}.box,.line{stroke:#9198a1}.ours{fill:#3fb950}}"
)


def save(name, parts, height):
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">',
           f"<style>{STYLE}</style>", *parts, "</svg>"]
    (FIGURES / f"{name}.svg").write_text("\n".join(svg) + "\n", encoding="utf-8")


def text(x, y, words, kind=""):
    attribute = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{attribute}>{escape(words)}</text>'


def rect(x, y, width, height, kind):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{kind}"/>'


def line(x1, y1, x2, y2, kind="line"):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def arrow(x1, y, x2):
    return line(x1, y, x2 - 7, y) + f'<path d="M{x2 - 8:.1f} {y - 4:.1f}L{x2:.1f} {y:.1f}L{x2 - 8:.1f} {y + 4:.1f}" class="line"/>'


def bars(name, groups, label=210):
    """Groups of (title, [(label, value, shown, is ours)]): bars from zero, one scale a group."""
    parts, y = [], 26
    width = WIDTH - label - 130
    for title, rows in groups:
        parts.append(text(10, y, title, "title"))
        y += 10
        most = max(value for _, value, _, _ in rows)
        for words, value, shown, ours in rows:
            length = max(1.5, width * value / most)
            parts.append(text(label - 10, y + 17, words, "label"))
            parts.append(rect(label, y + 4, length, 17, "ours" if ours else "theirs"))
            parts.append(text(label + length + 8, y + 17, shown))
            y += 26
        y += 32
    save(name, parts, y - 26)


def rows_of(record, **wanted):
    rows = json.loads((RESULTS / RECORDS[record]).read_text(encoding="utf-8"))["rows"]
    return {row["rung"]: row for row in rows if all(row.get(key) == value for key, value in wanted.items())}


def nanos(ns):
    return f"{ns:,.0f} ns" if ns >= 100 else f"{ns:.1f} ns"


def number(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:.2f}"


def a_line(row):
    return row["caller_ns"]["median"] / row["messages"]


def lines():
    rungs = [("println", "std::println!"), ("bufwriter", "BufWriter + writeln!"), ("outpace", "outpace::println!"),
             ("outpace-background", "outpace, Background")]
    groups = []
    for place, title in [("pipe", "into a pipe"), ("pty", "to a terminal that reads at once")]:
        found = rows_of("B", experiment="lines", to=place)
        rows = []
        for rung, label in rungs:
            delivered = found[rung]["delivered_ns"]["median"] / found[rung]["messages"]
            shown = nanos(delivered)
            if rung == "outpace-background":
                shown += f" (the caller: {nanos(a_line(found[rung]))})"
            rows.append((label, delivered, shown, rung.startswith("outpace")))
        groups.append((f"One line, until its reader has it, {title}", rows))
    bars("lines", groups)


def terminals():
    rows = []
    for place, label in [("pipe", "a pipe"), ("pty", "reads, shows nothing"), ("alacritty", "alacritty"), ("kitty", "kitty"),
                         ("xterm", "xterm")]:
        found = rows_of("L", experiment="lines", to=place)
        cost = found["println"]["delivered_ns" if "delivered_ns" in found["println"] else "wall_ns"]["median"]
        cost /= found["println"]["messages"]
        rows.append((label, cost, nanos(cost), False))
    bars("terminals", [("std::println!, from the call until the reader has taken the line", rows)])


def stderr():
    found = rows_of("B", experiment="fps", to="xterm")
    groups = []
    for title, field, scale in [("Write calls a frame", "writes", lambda row: row["writes"] / row["messages"]),
                                ("Frames a second in xterm", "fps", lambda row: row["fps"])]:
        rows = []
        for rung, label in [("stdout-line", "stdout, line-buffered"), ("stderr-raw", "stderr, unbuffered"),
                            ("stderr-line", "stderr, line-buffered"), ("stderr-block", "stderr, block-buffered")]:
            value = scale(found[rung])
            rows.append((label, value, number(value), False))
        groups.append((title, rows))
    bars("stderr", groups)


def endl():
    groups = []
    for place, title in [("file", "to a file"), ("pty", "to a terminal that reads at once")]:
        found = rows_of("B", experiment="endl", to=place)
        rows = [(label, a_line(found[rung]), nanos(a_line(found[rung])), False)
                for rung, label in [("endl.gcc", "<< std::endl"), ("newline.gcc", "<< '\\n'")]]
        groups.append((f"One number and its newline in C++, {title}", rows))
    bars("endl", groups)


def server():
    groups = []
    rungs = [("silent", "no logging", False), ("println", "println!", False), ("background-drop-oldest", "Background, dropping", True),
             ("background-spill", "Background, spilling", True)]
    for place, title in [("pty:stalled", "a terminal that stands still")]:
        found = rows_of("S", experiment="server", to=place, connections=8)
        rows = []
        for rung, label, ours in rungs:
            if rung in found and "requests_per_second" in found[rung]:
                value = found[rung]["requests_per_second"]["median"]
                rows.append((label, value, number(value), ours))
        groups.append((f"Requests a second, logging each one to {title}", rows))
    bars("server", groups)


def frames():
    found = rows_of("B", experiment="draw", to="pty")
    groups = []
    for scene in ["animation", "log", "editor", "dashboard"]:
        rows = []
        for rung, label in [("crossterm", "crossterm"), ("outpace", "outpace")]:
            value = found[f"{scene}-{rung}"]["bytes_per_frame"]
            rows.append((label, value, f"{value:,.0f}", rung == "outpace"))
        groups.append((f"Bytes a frame, {scene}", rows))
    bars("frames", groups, 120)


def languages():
    """For each language: a line to a terminal as it prints by itself, after the shortest fix, and under `outpace run`."""
    found = rows_of("B", experiment="languages", to="pty")
    names = {"c": "C", "cpp": "C++, std::endl", "go": "Go", "rust": "Rust", "zig": "Zig", "java": "Java", "node": "Node", "python": "Python",
             "perl": "Perl", "ruby": "Ruby", "php": "PHP", "lua": "Lua", "awk": "awk", "bash": "bash"}
    kinds = [("", "theirs", "by default"), ("-fixed", "ours", "after the fix"), ("-run", "box", "under outpace run")]

    def cost(rung):
        return found[rung]["wall_ns"]["median"] / found[rung]["messages"]

    left, y = 130, 24
    parts, most = [text(10, y, "One line to a terminal that reads at once", "title")], max(cost(rung) for rung in names)
    for i, (_, kind, label) in enumerate(kinds):
        parts += [rect(365 + 130 * i, y - 10, 12, 10, kind), text(383 + 130 * i, y, label, "small")]
    y += 16
    for rung in sorted(names, key=cost, reverse=True):
        shown = [(cost(rung + ending), kind) for ending, kind, _ in kinds if rung + ending in found]
        parts.append(text(left - 10, y + 11 + 6 * len(shown) / 2, names[rung], "label"))
        for value, kind in shown:
            length = max(1.5, (WIDTH - left - 90) * value / most)
            parts += [rect(left, y, length, 10, kind), text(left + length + 8, y + 9, nanos(value), "small")]
            y += 13
        y += 8
    save("languages", parts, y)


def relay():
    """What `outpace run` puts between a server and its collector."""
    parts = [text(75, 66, "server", "middle title"), rect(10, 40, 130, 44, "box"),
             text(340, 30, "outpace run", "middle title"), rect(200, 40, 280, 110, "box"),
             text(685, 66, "collector", "middle title"), rect(620, 40, 130, 44, "box"),
             rect(216, 52, 160, 22, "ours"), text(340, 90, "in memory (--memory)", "middle small"),
             rect(216, 104, 248, 14, "theirs"), text(340, 136, "then in a file, or the oldest lines go", "middle small"),
             arrow(140, 62, 200), text(170, 52, "read", "middle small"), text(170, 80, "at once", "middle small"),
             arrow(480, 62, 620), text(550, 52, "as fast as it reads", "middle small")]
    save("relay", parts, 160)


def when():
    """For each buffering: when a text was written, and when it arrived."""
    found = rows_of("B", experiment="when", to="pty")
    left, right, parts, y = 210, WIDTH - 40, [], 24
    steps = ["half a line", "its newline", "four lines", "the flush", "a last word", "the drop"]
    x_of = {step: left + (right - left) * (i + 0.5) / len(steps) for i, step in enumerate(steps)}
    for step in steps:
        parts.append(text(x_of[step], y, step, "middle small"))
        parts.append(line(x_of[step], y + 8, x_of[step], y + 262, "thin"))
    y += 28
    for rung, label in [("raw", "none (raw)"), ("linewriter", "line"), ("bufwriter", "block"), ("prompt", "Prompt")]:
        parts.append(text(left - 40, y + 26, label, "label"))
        for i, arrival in enumerate(found[rung]["arrivals"]):
            at, to = x_of[arrival["written_at"]], x_of[arrival["arrived_at"]]
            height = y + 4 + 10 * i
            if to > at:
                parts.append(line(at, height, to, height, "wait"))
            parts.append(f'<circle cx="{to:.1f}" cy="{height:.1f}" r="5" class="{"ours" if rung == "prompt" else "theirs"}"/>')
        y += 60
    parts.append(text(left, y + 16, "A red line: written, not yet on the screen. A dot: it appears.", "small"))
    save("when", parts, y + 26)


def path():
    """What happens between `println!` and the screen."""
    def cost(rung, place):
        row = rows_of("B", experiment="lines", to=place)[rung]
        return row["wall_ns"]["median"] / row["messages"]

    write = cost("println", "null") - cost("bufwriter", "null")
    pipe, terminal = (cost("println", place) - cost("println", "null") for place in ["pipe", "pty"])
    stations = [("format", "digits are made", f"{cost('bufwriter', 'null'):.0f} to {cost('csv-bufwriter', 'null'):.0f} ns"),
                ("buffer", "of the program", "a copy"),
                ("write(2)", "a system call", f"{write / 1000:.1f} µs"),
                ("the kernel", "pipe, terminal layer", f"{pipe / 1000:.1f} to {terminal / 1000:.1f} µs a line"),
                ("the reader", "terminal or program", f"{cost('println', 'xterm') / 1000:.0f} µs a line in xterm")]
    parts, width, gap = [], 132, 20
    for i, (name, what, cost) in enumerate(stations):
        x = 10 + i * (width + gap)
        parts.append(rect(x, 34, width, 62, "box"))
        parts.append(text(x + width / 2, 60, name, "middle title"))
        parts.append(text(x + width / 2, 82, what, "middle small"))
        parts.append(text(x + width / 2, 120, cost, "middle small"))
        if i + 1 < len(stations):
            parts.append(arrow(x + width, 65, x + width + gap))
    edge = 10 + 2 * (width + gap) - gap / 2
    parts.append(line(edge, 10, edge, 130, "thin"))
    parts.append(text(edge - 6, 20, "in the program", "end small"))
    parts.append(text(edge + 6, 20, "outside it", "small"))
    save("path", parts, 134)


def prompt():
    """The queue of a stream: what is written, what is pending, what is being built."""
    parts = [text(10, 24, "A stream: a queue of bytes", "title")]
    zones = [("written", "with the kernel", 150, "theirs"), ("pending", "whole messages, published", 250, "ours"),
             ("being built", "one message", 110, "box"), ("free", "", 150, "box")]
    x = 10
    for name, what, width, kind in zones:
        parts.append(rect(x, 44, width, 34, kind))
        parts.append(text(x + width / 2, 100, name, "middle"))
        parts.append(text(x + width / 2, 118, what, "middle small"))
        x += width
    parts.append(text(160, 146, "▲ drained: moved by the thread that drains", "small"))
    parts.append(text(410, 166, "▲ published: moved by the caller, one store", "small"))
    save("prompt", parts, 180)


def main():
    FIGURES.mkdir(parents=True, exist_ok=True)
    for figure in [lines, terminals, stderr, endl, server, frames, languages, relay, when, path, prompt]:
        figure()


main()
