"""kitty's screen without its window, for the tests of transcripts: `kitty +runpy "$(cat kitty.py)"`.

Reads commands, a line each, and answers `lines` with their number and the lines, and `gaps` likewise with how many lines a change of size has
put blanks into: kitty 0.26 reflows its history and its screen each by itself, which leaves a row that is shorter than the window is
wide and goes on in the next, and takes the cells behind that row for blanks with the next change.
    start COLUMNS ROWS | feed LENGTH, then the bytes | resize COLUMNS ROWS | lines | gaps
"""
import sys

from kitty.fast_data_types import Screen, set_options
from kitty.options.parse import merge_result_dicts
from kitty.options.types import Options, defaults

try:
    from kitty.fast_data_types import parse_bytes
except ImportError:  # Newer ones have their parser in the screen.
    def parse_bytes(screen, data):
        view = memoryview(data)
        while view:
            room = screen.test_create_write_buffer()
            taken = screen.test_commit_write_buffer(view, room)
            view = view[taken:]
            screen.test_parse_written_data()


# kitty runs this within a function: definitions see their parameters alone.
class Callbacks:
    """Ignores all calls for a window."""

    def __getattr__(self, name):
        return lambda *arguments: None


def lines(screen):
    """All that it has, rows that were wrapped put together."""
    pieces = []
    if screen.historybuf.count:
        screen.as_text_for_history_buf(pieces.append, False, False)
        if pieces and pieces[-1].endswith('\n'):
            # The last row of the history may go on in the first of the screen.
            pieces[-1] = pieces[-1][:-1]
        if not screen.linebuf.is_continued(0):
            pieces.append('\n')
    screen.as_text_non_visual(pieces.append, False, False)
    return [line.rstrip() for line in ''.join(pieces).split('\n')]


def without_blanks(lines):
    return [line.replace(' ', '') for line in lines]


def answer(answers, lines):
    answers.write(f'{len(lines)}\n'.encode())
    answers.writelines(line.encode() + b'\n' for line in lines)
    answers.flush()


HISTORY = 20_000
set_options(Options(merge_result_dicts(defaults._asdict(), {'scrollback_pager_history_size': 0})))
commands, answers = sys.stdin.buffer, sys.stdout.buffer
screen = None
gaps = 0
for command in commands:
    what, *numbers = command.decode().split()
    numbers = [int(number) for number in numbers]
    if what == 'start':
        columns, rows = numbers
        callbacks = Callbacks()
        screen = Screen(callbacks, rows, columns, HISTORY, 10, 20, 0, callbacks)
        gaps = 0
    elif what == 'feed':
        parse_bytes(screen, commands.read(numbers[0]))
    elif what == 'resize':
        columns, rows = numbers
        before = [line for line in lines(screen) if line]
        screen.resize(rows, columns)
        after = [line for line in lines(screen) if line]
        # Line by line, as the same change may take away others: those of a prompt.
        same = dict(zip(without_blanks(before), before))
        for key, line in zip(without_blanks(after), after):
            gaps += same.get(key, line) != line
    elif what == 'gaps':
        answer(answers, [''] * gaps)
    else:
        answer(answers, lines(screen))
