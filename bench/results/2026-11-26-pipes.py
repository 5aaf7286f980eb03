"""Programs that write a line at a time into a pipe to `cat`: plain, and under `outpace run --shim never` and `auto`.

python3 2026-11-26-pipes.py target/release/outpace [rounds]: medians of interleaved rounds, in milliseconds, from the program's start to `cat`'s
end; and the time in which a program that is asked for a line answers, in microseconds. Needs cc, rustc, javac, perl, python3 and sed."""

import os
import statistics
import subprocess
import sys
import tempfile
import time

outpace = os.path.abspath(sys.argv[1])
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
os.chdir(tempfile.mkdtemp())
sources = {
    "slow.rs": 'fn main() { for i in 0..500_000 { println!("line {i} of a program that writes"); } }',
    "both.rs": 'fn main() { for i in 0..100_000 { println!("line {i}"); if i % 10 == 0 { eprintln!("note {i}"); } } }',
    "slow.c": '#include <stdio.h>\nint main(void) { setvbuf(stdout, 0, _IOLBF, 0); for (int i = 0; i < 500000; i++) printf("line %d of a program that writes\\n", i); }',
    "J.java": 'public class J { public static void main(String[] a) { for (int i = 0; i < 500000; i++) System.out.println("line " + i + " of a program that writes"); } }',
}
for name, text in sources.items():
    with open(name, "w") as file:
        file.write(text)
for build in ["rustc -O slow.rs", "rustc -O both.rs", "cc -O2 -o slow-c slow.c", "javac J.java"]:
    subprocess.run(build.split(), check=True)
PROGRAMS = {
    "Rust `println!`, 500,000 lines": ["./slow"],
    "Rust, 100,000 lines, each tenth with one on stderr (a pipe of its own)": ["./both"],
    "C, line-buffered, 500,000": ["./slow-c"],
    "Perl `$|=1`, 500,000": ["perl", "-e", '$|=1; print "line $_ of a program that writes\\n" for 1..500000'],
    "Java, 500,000": ["java", "J"],
    "Python `-u`, 200,000": ["python3", "-u", "-c", "for i in range(200000): print('line', i)"],
    "`true`, the mean of 40": ["true"],
}
MODES = {"plain": [], "never": [outpace, "run", "--shim", "never", "--"], "auto": [outpace, "run", "--"]}


def run(command):
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    readers = [subprocess.Popen(["cat"], stdin=pipe, stdout=subprocess.DEVNULL) for pipe in (program.stdout, program.stderr)]
    program.stdout.close()
    program.stderr.close()
    for process in [program, *readers]:
        process.wait()


def answer(command):
    program = subprocess.Popen([*command, "sed", "-u", "s/x/y/"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    times = []
    for _ in range(3000):
        began = time.perf_counter()
        program.stdin.write(b"x\n")
        assert program.stdout.read(2) == b"y\n"
        times.append(time.perf_counter() - began)
    program.stdin.close()
    program.wait()
    return statistics.median(times) * 1e6, sum(times) * 1e3


took = {}
for _ in range(rounds):
    for name, program in PROGRAMS.items():
        for mode, prefix in MODES.items():
            times = 40 if "true" in program else 1
            began = time.perf_counter()
            for _ in range(times):
                run([*prefix, *program])
            took.setdefault(name, {}).setdefault(mode, []).append((time.perf_counter() - began) / times * 1e3)
    for mode, prefix in MODES.items():
        median, whole = answer(prefix)
        took.setdefault("`sed -u`, an answer, median of 3,000 (µs)", {}).setdefault(mode, []).append(median)
        took.setdefault("`sed -u`, all 3,000 answers", {}).setdefault(mode, []).append(whole)

print("| | " + " | ".join(MODES) + " |\n|---|" + "---|" * len(MODES))
for name, modes in took.items():
    print(f"| {name} | " + " | ".join(f"{statistics.median(modes[mode]):.2f}" for mode in MODES) + " |")
