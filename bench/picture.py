#!/usr/bin/env python3
"""Draws the picture in README.md from a recorded result: bench/picture.py RESULT.json > bench/lines.svg"""

import json
import sys

RUNGS = [("println", "std::println!"), ("bufwriter", "BufWriter + writeln!"), ("outpace", "outpace::println!"),
         ("outpace-background", "outpace, Background")]
PLACES = [("pipe", "into a pipe"), ("pty", "to a terminal that reads at once")]
WIDTH, LABEL, BAR, ROW = 820, 210, 470, 26


def shown(ns):
    return f"{ns:,.0f} ns" if ns >= 100 else f"{ns:.1f} ns"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = json.load(file)["rows"]
    parts, y = [], 30
    for place, title in PLACES:
        cost = {}
        for row in rows:
            if row["experiment"] == "lines" and row["to"] == place and row["rung"] in dict(RUNGS):
                cost[row["rung"]] = row["caller_ns"]["median"] / row["messages"]
        most = max(cost.values())
        parts.append(f'<text x="10" y="{y}" class="title">What one line costs the program, {title}</text>')
        y += 12
        for rung, label in RUNGS:
            if rung not in cost:
                continue
            width = max(1.5, BAR * cost[rung] / most)
            kind = "ours" if rung.startswith("outpace") else "theirs"
            parts.append(f'<text x="{LABEL - 10}" y="{y + 17}" class="label">{label}</text>')
            parts.append(f'<rect x="{LABEL}" y="{y + 4}" width="{width:.1f}" height="17" class="{kind}"/>')
            parts.append(f'<text x="{LABEL + width + 8:.1f}" y="{y + 17}">{shown(cost[rung])}</text>')
            y += ROW
        y += 34
    height = y - 20
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">')
    print("<style>text{font:14px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}.label{text-anchor:end}"
          ".ours{fill:#1a7f37}.theirs{fill:#8c959f}@media(prefers-color-scheme:dark){text{fill:#e6edf3}}</style>")
    print("\n".join(parts))
    print("</svg>")


main()
