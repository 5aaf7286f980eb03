"""JSON lines as bytes, flushed; told `large`, not flushed, into a large buffer: the remedy."""
import json
import sys

large = sys.argv[1] == "large"
out = open(1, "wb", buffering=1 << 16, closefd=False) if large else sys.stdout.buffer
for n in range(int(sys.argv[-1]) // 2):
    out.write(json.dumps({"id": n, "even": n % 2 == 0, "tags": ["a", "b"]}).encode() + b"\n")
    if not large:
        out.flush()
out.flush()
