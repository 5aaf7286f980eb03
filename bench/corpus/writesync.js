// fs.writeSync: a write for each line, whatever the destination; told `large` the remedy.
const fs = require('fs');
const lines = Number(process.argv.at(-1));
const least = process.argv[2] === 'large' ? 65536 : 0;
let text = '';
for (let n = 0; n < lines; n++) {
  text += `line ${n}\n`;
  if (text.length > least) {
    fs.writeSync(1, text);
    text = '';
  }
}
fs.writeSync(1, text);
