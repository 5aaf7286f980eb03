// xterm.js without a browser, for the tests of transcripts: NODE_PATH names where `npm install @xterm/headless` has put it.
//
// Reads commands, a line each, and answers `lines` with their number and the lines.
//     start COLUMNS ROWS | feed LENGTH, then the bytes | resize COLUMNS ROWS | lines | stopped
// and `stopped` with as many lines as motions up had to stop at the top of the screen.
'use strict';
const { Terminal } = require('@xterm/headless');

let terminal;
let stopped = 0;
let waiting = Buffer.alloc(0);
let work = Promise.resolve();

function lines() {
  const buffer = terminal.buffer.normal;
  const all = [];
  for (let y = 0; y < buffer.length; y++) {
    const row = buffer.getLine(y);
    const next = buffer.getLine(y + 1);
    const goesOn = next && next.isWrapped;
    let text = row.translateToString(!goesOn);
    // A wide symbol did not fit into the last column.
    if (goesOn && row.getCell(terminal.cols - 1).getChars() === '') text = text.slice(0, -1);
    if (row.isWrapped && all.length > 0) all[all.length - 1] += text;
    else all.push(text);
  }
  process.stdout.write(`${all.length}\n${all.map((line) => line + '\n').join('')}`);
}

function perform(what, [first, second], bytes) {
  switch (what) {
    case 'start':
      if (terminal) terminal.dispose();
      terminal = new Terminal({ cols: first, rows: second, scrollback: 20000, allowProposedApi: true });
      stopped = 0;
      terminal.parser.registerCsiHandler({ final: 'A' }, ([rows]) => {
        stopped += terminal.buffer.normal.cursorY < rows;
        return false;
      });
      return;
    case 'feed': return new Promise((done) => terminal.write(bytes, done));
    case 'resize': return terminal.resize(first, second);
    case 'lines': return lines();
    case 'stopped': return void process.stdout.write(`${stopped}\n${'\n'.repeat(stopped)}`);
  }
}

process.stdin.on('data', (chunk) => {
  waiting = Buffer.concat([waiting, chunk]);
  for (;;) {
    const end = waiting.indexOf(10);
    if (end < 0) return;
    const [what, ...words] = waiting.toString('latin1', 0, end).split(' ');
    const numbers = words.map(Number);
    const length = what === 'feed' ? numbers[0] : 0;
    if (waiting.length < end + 1 + length) return;
    const bytes = waiting.subarray(end + 1, end + 1 + length);
    waiting = waiting.subarray(end + 1 + length);
    work = work.then(() => perform(what, numbers, bytes));
  }
});
