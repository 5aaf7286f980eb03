"""A flush after each line."""
import sys

for n in range(int(sys.argv[1]) if len(sys.argv) > 1 else 20000):
    print("line", n, flush=True)
