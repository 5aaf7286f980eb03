"""Records of the module logging on stderr, each of which is flushed."""
import logging
import sys

logging.basicConfig(level=logging.INFO)
for n in range(int(sys.argv[1]) if len(sys.argv) > 1 else 20000):
    logging.info("line %d", n)
