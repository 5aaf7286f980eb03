"""Requests a second of a server, each contestant for a second in each round, in random order.

    python3 2026-11-26-server.py OUTPACE SERVER ROUNDS
"""
import os, pty, random, re, signal, socket, statistics, subprocess, sys, threading, time, tty

outpace, server, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
LINE = "request 123456: GET / answered with 200, 14 bytes"


def reader(master, rate, end):
    while not end.is_set():
        try:
            if not os.read(master, rate // 200):
                return
        except OSError:
            return
        time.sleep(0.005)


def measure(command, output, other):
    """The rate of wrk, and the processor time a second of all processes of the contestant but the load generator."""
    end, masters, readers = threading.Event(), [], []

    def terminal(reads):
        master, slave = pty.openpty()
        masters.append(master)
        if reads:
            readers.append(threading.Thread(target=reader, args=(master, 1_000_000, end)))
            readers[-1].start()
        return slave

    null = os.open("/dev/null", os.O_RDWR)
    writer = None
    if other:
        slave = terminal(True)
        writer = subprocess.Popen(["yes", LINE], stdin=null, stdout=slave, stderr=null)
        os.close(slave)
    out = null if output == "null" else terminal(output == "1MB/s")
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    address = "http://127.0.0.1:%d/" % listener.getsockname()[1]
    program = subprocess.Popen(command, stdin=listener.fileno(), stdout=out, stderr=null)
    if out != null:
        os.close(out)
    listener.close()
    time.sleep(0.15)
    said = subprocess.run(["wrk", "-t1", "-c8", "-d1s", address], stdout=subprocess.PIPE, text=True).stdout
    if writer:
        writer.kill()
        writer.wait()
    program.kill()
    program.wait()
    end.set()
    for thread in readers:
        thread.join(0.02)
    for master in masters:
        os.close(master)
    os.close(null)
    time.sleep(0.1)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])


contestants = {
    "silent, its terminal takes 1 MB/s": ([server, "silent"], "1MB/s", False),
    "println! under run, 1 MB/s": ([outpace, "run", "--", server], "1MB/s", False),
    "println! under run, stalled": ([outpace, "run", "--", server], "stalled", False),
    "println! to the null device": ([server], "null", False),
    "silent, another process writes 1 MB/s to a terminal": ([server, "silent"], "null", True),
    "println! to the null device, another process writes 1 MB/s to a terminal": ([server], "null", True),
}
rates = {name: [] for name in contestants}
for _ in range(rounds):
    for name in random.sample(sorted(contestants), len(contestants)):
        rates[name].append(measure(*contestants[name]))
base = rates["silent, its terminal takes 1 MB/s"]
print("silent: %.0f requests/s" % statistics.median(base))
for name, all_ in rates.items():
    ratios = sorted(mine / his for mine, his in zip(all_, base))
    cut = max(0, round(len(ratios) * 0.025))
    print("| %s | %.3f (middle 95 %%: %.3f to %.3f) |" % (name, statistics.median(ratios), ratios[cut], ratios[-1 - cut]))
