# On a terminal a line, elsewhere a block, stderr a line; PYTHONUNBUFFERED and -u: none.
import os
import sys

out = sys.stderr if os.environ.get("STREAM") else sys.stdout
if os.environ.get("MODE") == "fixed":
    out = open(out.fileno(), "w", buffering=1 << 16, closefd=False)
for i in range(int(sys.argv[1])):
    print("line ", end="", file=out)
    print(i, file=out)
out.flush()
