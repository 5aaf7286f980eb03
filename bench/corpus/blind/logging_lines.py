"""Records of the module logging on stdout, each of which is flushed; told `large`, kept in memory for a thousand of them: the remedy."""
import logging
import logging.handlers
import sys

handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
log = logging.getLogger("jobs")
log.setLevel(logging.INFO)
if sys.argv[1] == "large":
    sys.stdout = handler.stream = open(1, "w", buffering=1 << 16, closefd=False)
    handler.flush = lambda: None
log.addHandler(handler)
for n in range(int(sys.argv[-1]) // 4):
    log.info("job %d has ended with %s", n, "success" if n % 17 else "an error")
sys.stdout.flush()
