"""The remedy of log.py: a large buffer, and its own flush at the exit alone."""
import atexit
import sys

sys.stderr = open(2, "w", 1 << 16, sys.stderr.encoding, sys.stderr.errors, closefd=False)
sys.stderr.flush = lambda: None
atexit.register(vars(sys.stderr).pop, "flush")

import logging

logging.basicConfig(level=logging.INFO)
for n in range(int(sys.argv[1]) if len(sys.argv) > 1 else 20000):
    logging.info("line %d", n)
