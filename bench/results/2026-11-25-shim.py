"""What scripts pay for `outpace run --shim auto`: processor and elapsed time of loops of short commands, against `--shim never`.

python3 bench/results/2026-11-25-shim.py target/release/outpace
"""
import os
import pty
import sys
import time

OUTPACE, ROUNDS = sys.argv[1], 5


def loop(count, body):
    return f"i=0; while [ $i -lt {count} ]; do {body}; i=$((i+1)); done"


MIXED = "echo $i | sed s/1/x/ | cat; date +%Y; tr a b </dev/null; ls /dev/null; head -c 3 /etc/passwd"
COMMANDS = {
    "dash, 2,000 times /bin/echo": ["dash", "-c", loop(2000, "/bin/echo $i")],
    "bash, 2,000 times /bin/echo": ["bash", "-c", loop(2000, "/bin/echo $i")],
    "dash, 1,000 times two subshells": ["dash", "-c", loop(1000, "(echo $i); x=$(echo a)")],
    "dash, 300 times nine commands": ["dash", "-c", loop(300, MIXED)],
    "sh, one command": ["sh", "-c", "/bin/echo a; true"],
    "env A=b true": ["env", "A=b", "true"],
}


def run(shim, command):
    began = time.time()
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(OUTPACE, [OUTPACE, "run", "--shim", shim, "--", *command])
    shown = b""
    try:
        while part := os.read(terminal, 1 << 16):
            shown += part
    except OSError:
        pass
    usage = os.wait4(child, 0)[2]
    os.close(terminal)
    return (usage.ru_utime + usage.ru_stime, time.time() - began), shown


for name, command in COMMANDS.items():
    times = {"never": [], "auto": []}
    shown = set()
    for round in range(ROUNDS):
        for shim in sorted(times, reverse=round % 2):
            took, bytes = run(shim, command)
            times[shim].append(took)
            shown.add(bytes)
    assert len(shown) == 1, f"{name}: not the same bytes"
    median = {shim: [sorted(part)[ROUNDS // 2] for part in zip(*all)] for shim, all in times.items()}
    (never, never_elapsed), (auto, auto_elapsed) = median["never"], median["auto"]
    print(f"| {name} | {never * 1e3:,.1f} ms | {auto * 1e3:,.1f} ms | {auto / never:.3f} | {auto_elapsed / never_elapsed:.3f} |")
