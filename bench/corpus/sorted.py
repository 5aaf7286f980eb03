"""Work of its own for each line, and a flush after it."""
import sys

for n in range(int(sys.argv[1]) if len(sys.argv) > 1 else 20000):
    print(n, sorted(n * 7919 % k for k in range(90, 100)), flush=True)
