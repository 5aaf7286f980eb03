"""Rows of the module csv; with -u each is a write. Told `large`, into a large buffer: the remedy."""
import csv
import sys

if sys.argv[1] == "large":
    sys.stdout = open(1, "w", buffering=1 << 16, closefd=False, newline="")
rows = csv.writer(sys.stdout)
for n in range(int(sys.argv[-1])):
    rows.writerow([n, n % 97, f"name {n % 11}", n / 8])
sys.stdout.flush()
