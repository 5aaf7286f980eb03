"""A maze, carved and then drawn cell by cell, each flushed, as for somebody who watches; told `large`, not flushed: the remedy."""
import random
import sys

large = sys.argv[1] == "large"
if large:
    sys.stdout = open(1, "w", buffering=1 << 16, closefd=False)
random.seed(1)
width = 79
height = max(int(sys.argv[-1]) // width, 5) | 1
walls = [[True] * width for _ in range(height)]
stack = [(1, 1)]
walls[1][1] = False
while stack:
    x, y = stack[-1]
    ways = [(a, b) for a, b in ((2, 0), (-2, 0), (0, 2), (0, -2)) if 0 < x + a < width and 0 < y + b < height and walls[y + b][x + a]]
    if not ways:
        stack.pop()
        continue
    a, b = random.choice(ways)
    walls[y + b // 2][x + a // 2] = walls[y + b][x + a] = False
    stack.append((x + a, y + b))
for row in walls:
    for wall in row:
        if large:
            print("#" if wall else " ", end="")
        else:
            print("#" if wall else " ", end="", flush=True)
    print()
sys.stdout.flush()
