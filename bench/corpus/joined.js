// Many lines in one write: the remedy.
const lines = Number(process.argv[2] ?? 20000);
let text = [];
for (let n = 0; n < lines; n++) {
  text.push(`line ${n}\n`);
  if (text.length === 8192) {
    process.stdout.write(text.join(""));
    text = [];
  }
}
process.stdout.write(text.join(""));
