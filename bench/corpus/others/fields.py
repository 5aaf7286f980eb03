"""Three prints a line, each flushed; told `large`, neither flushed nor small: the remedy."""
import sys

is_large = sys.argv[1] == "large"
if is_large:
    sys.stdout = open(1, "w", buffering=1 << 16, closefd=False)
for n in range(int(sys.argv[-1]) // 3):
    print(n, end=" ", flush=not is_large)
    print(n * 7 % 1009, end=" ", flush=not is_large)
    print("fizz" if n % 3 == 0 else "-", flush=not is_large)
