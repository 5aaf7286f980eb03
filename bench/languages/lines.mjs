// A write for each call; fixed: many lines a call.
const out = process.env.STREAM ? process.stderr : process.stdout;
const lines = Number(process.argv[2]);
if (process.env.MODE === "fixed") {
  let text = "";
  for (let i = 0; i < lines; i++) {
    text += "line ";
    text += `${i}\n`;
    if (text.length >= 65536) {
      out.write(text);
      text = "";
    }
  }
  out.write(text);
} else {
  for (let i = 0; i < lines; i++) {
    out.write("line ");
    out.write(`${i}\n`);
  }
}
