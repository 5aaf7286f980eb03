// What a token and a key below a transcript of 500 messages cost by Ink: bytes written to a terminal of 80x24.
//     npm install --prefix DIRECTORY ink react
//     cp bench/ink/transcript.mjs DIRECTORY && node DIRECTORY/transcript.mjs
// Prints what outpace bench draw/transcript-* prints of its rungs. Each message is shown before the next.
import { EventEmitter } from 'node:events';
import { createElement as h } from 'react';
import { Box, Static, Text, render } from 'ink';

const MESSAGES = 500;
const COUNT = 300;
const TOKENS = ['a', ' stream', ' of', ' tokens', ' that', ' grows', ','];

class Terminal extends EventEmitter {
  columns = 80;
  rows = 24;
  isTTY = true;
  bytes = 0;
  write(text) {
    this.bytes += Buffer.byteLength(text);
    return true;
  }
}

const messages = Array.from({ length: MESSAGES }, (_, n) => `message ${n}: some words of it`);

function status(typed) {
  return [
    h(Text, { key: 'rule', dimColor: true }, '\u2500'.repeat(80)),
    h(Text, { key: 'input' }, `> ${typed}`),
    h(Text, { key: 'help' }, '? for help'),
  ];
}

// Finished messages as Ink's documentation has them, in <Static>, or all of them in one tree, as applications begin.
function view(inStatic, lines, open, typed) {
  const line = (text, key) => h(Text, { key }, text === '' ? ' ' : text);
  const finished = inStatic
    ? h(Static, { items: lines, children: line })
    : h(Box, { flexDirection: 'column' }, lines.map(line));
  return h(Box, { flexDirection: 'column' }, finished, h(Text, null, open === '' ? ' ' : open), ...status(typed));
}

const shown = () => new Promise((done) => setTimeout(done, 40));

for (const inStatic of [true, false]) {
  for (const what of ['token', 'key']) {
    const stdout = new Terminal();
    const options = { stdout, stdin: Object.assign(new EventEmitter(), { isTTY: false }), debug: false, patchConsole: false, exitOnCtrlC: false };
    let [lines, open, typed] = [messages, '', ''];
    const app = render(view(inStatic, lines, open, typed), options);
    await shown();
    const before = stdout.bytes;
    for (let n = 0; n < COUNT; n++) {
      if (what === 'key') {
        typed = (typed.length >= 40 ? '' : typed) + String.fromCharCode(97 + (n % 26));
      } else {
        if (n % 10 === 0 && n > 0) {
          lines = [...lines, open];
          open = '';
        }
        open += TOKENS[n % 7];
      }
      app.rerender(view(inStatic, lines, open, typed));
      await shown();
    }
    const bytes = (stdout.bytes - before) / COUNT;
    console.log(`a ${what}, ${inStatic ? 'messages in <Static>' : 'messages in one tree'}: ${Math.round(bytes)} bytes`);
    app.unmount();
  }
}
process.exit(0);
