"""An analyser of a web server's log with a running report, in a text layer that is line-buffered; told `large`, in one that is not: the remedy."""
import re
import sys
from collections import Counter

if sys.argv[1] == "large":
    sys.stdout = open(1, "w", buffering=1 << 16, closefd=False)
else:
    sys.stdout.reconfigure(line_buffering=True)
pattern = re.compile(r'(\S+) - - \[([^\]]+)\] "(\w+) (\S+) [^"]*" (\d+) (\d+)')
paths, sizes = Counter(), Counter()
for n in range(int(sys.argv[-1]) // 2):
    line = f'10.0.{n % 7}.{n % 251} - - [01/Jan/2026:00:{n // 60 % 60:02}:{n % 60:02}] "GET /page/{n * 7919 % 101} HTTP/1.1" {200 + n % 5 // 4 * 204} {n % 9999}'
    host, when, verb, path, status, size = pattern.match(line).groups()
    paths[path] += 1
    sizes[host] += int(size)
    print(f"{when} {verb} {path}: {status}, seen {paths[path]} times; {host} has {sizes[host]} bytes")
sys.stdout.flush()
