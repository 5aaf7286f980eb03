// The engine of VS Code's terminal (@xterm/headless) on a pseudo-terminal, whose terminal end is standard input and output. It reads
// as VS Code does: not while more than 100,000 characters wait to be worked through.
const fs = require("fs");
const { Terminal } = require("@xterm/headless");

const [cols, rows] = process.argv.slice(-2).map(Number);
const terminal = new Terminal({ cols, rows, scrollback: 1000, allowProposedApi: true });
terminal.onData((answer) => fs.writeSync(1, answer));

let pending = 0;
const input = fs.createReadStream(null, { fd: 0, highWaterMark: 65536 });
input.on("data", (bytes) => {
    pending += bytes.length;
    if (pending > 100000) input.pause();
    terminal.write(bytes, () => {
        pending -= bytes.length;
        if (pending < 5000) input.resume();
    });
});
// The program's end was closed.
input.on("error", () => process.exit(0));
