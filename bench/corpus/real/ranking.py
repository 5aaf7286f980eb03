"""A ranking that is sorted again after every result, and its first place printed and flushed; told `large`, not flushed: the remedy."""
import sys

large = sys.argv[1] == "large"
if large:
    sys.stdout = open(1, "w", buffering=1 << 16, closefd=False)
points = {f"team {n}": 0 for n in range(300)}
for n in range(int(sys.argv[-1]) // 10):
    points[f"team {n * n % 300}"] += n % 13
    ranking = sorted(points.items(), key=lambda pair: (-pair[1], pair[0]))
    print(f"{n}: {ranking[0][0]} leads with {ranking[0][1]} before {ranking[1][0]}", flush=not large)
sys.stdout.flush()
