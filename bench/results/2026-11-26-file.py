#!/usr/bin/env python3
"""A program that prints a few lines into a file: by std's println!, by default, and with OUTPACE_STDOUT=block and =prompt.

2026-11-26-file.py PROGRAM RUNS: medians of interleaved runs, in microseconds from the program's start to its end. PROGRAM, built with --release:

    fn main() {
        let words: Vec<String> = std::env::args().collect();
        for i in 0..words[2].parse().unwrap() {
            match &*words[1] {
                "std" => println!("line {i} of some text that is here"),
                _ => outpace::println!("line {i} of some text that is here"),
            }
        }
    }
"""

import json, os, random, statistics, subprocess, sys, tempfile, time

program, runs = sys.argv[1], int(sys.argv[2])
WAYS = {"println": ("std", None), "default": ("lines", None), "block": ("lines", "block"), "prompt": ("lines", "prompt")}


def microseconds(way, lines):
    mode, buffering = WAYS[way]
    environment = {name: value for name, value in os.environ.items() if name != "OUTPACE_STDOUT"}
    if buffering:
        environment["OUTPACE_STDOUT"] = buffering
    with tempfile.TemporaryFile() as file:
        began = time.perf_counter_ns()
        child = subprocess.Popen([program, mode, str(lines)], stdout=file, env=environment)
        assert child.wait() == 0
        return (time.perf_counter_ns() - began) / 1000


for lines in [12, 13, 20, 50, 100, 300, 1000, 10000]:
    taken = {way: [] for way in WAYS}
    for _ in range(runs):
        for way in random.sample(list(WAYS), len(WAYS)):
            taken[way].append(microseconds(way, lines))
    print(json.dumps({"lines": lines} | {way: round(statistics.median(each)) for way, each in taken.items()}))
