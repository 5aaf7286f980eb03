"""The start of `true` under builds of `outpace run`, in random order.

    python3 2026-11-26-start.py ROUNDS BINARY:MODE...

MODE is what --shim is given.
"""
import os, random, resource, statistics, sys, threading, time

rounds, contestants = int(sys.argv[1]), [word.rsplit(":", 1) for word in sys.argv[2:]]
master, slave = os.openpty()


def drain():
    while os.read(master, 65536):
        pass


threading.Thread(target=drain, daemon=True).start()
null = os.open("/dev/null", os.O_RDWR)


def start(binary, mode):
    """Milliseconds until the end, milliseconds of processor time and page faults of all its processes."""
    actions = [(os.POSIX_SPAWN_DUP2, place, to) for place, to in ((null, 0), (slave, 1), (null, 2))]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    words = [binary, "run", "--shim", mode, "--", "true"]
    os.waitpid(os.posix_spawn(binary, words, os.environ, file_actions=actions), 0)
    elapsed, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return elapsed * 1e3, processor * 1e3, after.ru_minflt - before.ru_minflt


figures = {tuple(contestant): [] for contestant in contestants}
for _ in range(rounds):
    for contestant in random.sample(sorted(figures), len(figures)):
        figures[contestant].append(start(*contestant))
for contestant, all_ in figures.items():
    elapsed, processor, faults = (sorted(one) for one in zip(*all_))
    print("| %s --shim %s | %.3f ms | %.3f ms | %.3f ms | %d |" % (*contestant, statistics.median(elapsed),
          elapsed[len(elapsed) // 20], statistics.mean(processor), statistics.median(faults)))
