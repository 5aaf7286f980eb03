"""A large buffer, wherever it goes: the remedy."""
import sys

sys.stdout = open(1, "w", 1 << 16, sys.stdout.encoding, sys.stdout.errors, closefd=False)
for n in range(int(sys.argv[1]) if len(sys.argv) > 1 else 20000):
    print("line", n)
