"""Words are sorted for each line, which is written and flushed; told `large`, neither flushed nor small: the remedy."""
import sys

is_large = sys.argv[1] == "large"
if is_large:
    sys.stdout = open(1, "w", buffering=1 << 16, closefd=False)
for n in range(int(sys.argv[-1])):
    words = sorted(str(n * k % 1009) for k in range(3, 40))
    sys.stdout.write(" ".join(words[:8]) + "\n")
    if not is_large:
        sys.stdout.flush()
