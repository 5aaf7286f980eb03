#!/usr/bin/env python3
"""Records what a program writes to a terminal as an asciicast (version 2), which asciinema and others play.

    crates/outpace-ratatui/scripts/record.py COLUMNSxROWS FILE [--resize SECONDS:COLUMNSxROWS]... -- COMMAND...

Changes of size are sent to the program, and recorded.
"""
import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time


def size_of(text):
    columns, rows = text.split('x')
    return int(columns), int(rows)


def main(arguments):
    options, command = arguments[:arguments.index('--')], arguments[arguments.index('--') + 1:]
    (columns, rows), path, options = size_of(options[0]), options[1], options[2:]
    resizes = []
    for text in options[1::2]:
        at, size = text.split(':')
        resizes.append((float(at), *size_of(size)))
    child, terminal = pty.fork()
    if child == 0:
        time.sleep(0.2)
        os.execvp(command[0], command)

    def resize(columns, rows):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    resize(columns, rows)
    start = time.monotonic()
    with open(path, 'w') as cast:
        def record(kind, text):
            print(json.dumps([round(time.monotonic() - start, 4), kind, text], ensure_ascii=False), file=cast)

        print(json.dumps({'version': 2, 'width': columns, 'height': rows, 'command': ' '.join(command[-1:])}), file=cast)
        rest = b''
        while True:
            due = resizes[0][0] - (time.monotonic() - start) if resizes else 1
            readable, _, _ = select.select([terminal], [], [], max(0, due))
            if resizes and time.monotonic() - start >= resizes[0][0]:
                _, columns, rows = resizes.pop(0)
                resize(columns, rows)
                os.kill(child, signal.SIGWINCH)
                record('r', f'{columns}x{rows}')
            if not readable:
                continue
            try:
                data = rest + os.read(terminal, 65536)
            except OSError:
                break
            # A symbol may be cut in two.
            text = data.decode(errors='ignore')
            rest = data[len(text.encode()):]
            if text:
                record('o', text)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
