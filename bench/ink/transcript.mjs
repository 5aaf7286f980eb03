// draw/transcript-token-ink and -key-ink: a transcript by Ink, with finished messages in <Static>, as its documentation has them, and
// only rows that changed written again. TALK says which message it is about. Each is on its way to the terminal before the next.
// https://github.com/vadimdemedes/ink
// npm: ink react
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

// There Ink would show only the last frame.
delete process.env.CI;
const require = createRequire(import.meta.url);
const { createElement: h } = require('react');
const { Box, Static, Text, render } = await import(pathToFileURL(require.resolve('ink')));

const MESSAGES = 500;
const TOKENS_A_LINE = 10;
const TOKENS = ['a', ' stream', ' of', ' tokens', ' that', ' grows', ','];
const count = Number(process.argv[2] ?? 0);
const key = process.env.TALK === 'key';

let wrote = () => {};
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = (...all) => {
  wrote();
  return write(...all);
};
// Ink writes a frame in one turn.
const next = () => new Promise((done) => { wrote = () => setImmediate(done); });

let lines = Array.from({ length: MESSAGES }, (_, n) => `message ${n}: some words of it`);
let [open, typed] = ['', ''];

const view = () => h(Box, { flexDirection: 'column' },
  h(Static, { items: lines, children: (line, n) => h(Text, { key: n }, line) }),
  h(Text, null, open === '' ? ' ' : open),
  h(Text, { dimColor: true }, '\u2500'.repeat(process.stdout.columns ?? 80)),
  h(Text, null, `> ${typed}`),
  h(Text, null, '? for help'));

function reading() {
  const io = readFileSync('/proc/self/io', 'utf8');
  const counter = (name) => Number(io.match(`${name}: (\\d+)`)[1]);
  const { user, system } = process.cpuUsage();
  return { ns: process.hrtime.bigint(), cpu: (user + system) * 1000, writes: counter('syscw'), written: counter('wchar') };
}

let shown = next();
const options = { maxFps: 0, incrementalRendering: true, patchConsole: false, exitOnCtrlC: false };
const app = render(view(), options);
await shown;
const before = reading();
for (let n = 0; n < count; n++) {
  if (key) {
    typed = (typed.length >= 40 ? '' : typed) + String.fromCharCode(97 + (n % 26));
  } else {
    if (n % TOKENS_A_LINE === 0 && n > 0) {
      lines = [...lines, open];
      open = '';
    }
    open += TOKENS[n % TOKENS.length];
  }
  shown = next();
  app.rerender(view());
  await shown;
}
if (!key) {
  lines = [...lines, open];
  open = '';
  shown = next();
  app.rerender(view());
  await shown;
}
const called = process.hrtime.bigint();
if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
const after = reading();
app.unmount();
if (process.env.OUTPACE_RUNG_REPORT) {
  writeFileSync(process.env.OUTPACE_RUNG_REPORT, [
    `started_ns ${before.ns}`,
    `caller_ns ${called - before.ns}`,
    `wall_ns ${after.ns - before.ns}`,
    `cpu_ns ${after.cpu - before.cpu}`,
    `writes ${after.writes - before.writes}`,
    `written ${after.written - before.written}`,
    '',
  ].join('\n'));
}
