"""print: lines on a terminal, blocks elsewhere; with -u every piece is a write."""
import sys

for n in range(int(sys.argv[1]) if len(sys.argv) > 1 else 20000):
    print("line", n)
