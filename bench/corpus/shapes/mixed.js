// process.stdout.write of chunks of mixed size, most of which do not end a line; told `large`, collected: the remedy.
const lines = Number(process.argv.at(-1));
const least = process.argv[2] === 'large' ? 65536 : 0;
const sizes = [3, 290, 17, 60, 5, 130, 41];
let text = '';
for (let n = 0; n < lines; n++) {
  text += String(n % 10).repeat(sizes[n % sizes.length]) + (n % 7 === 6 ? '\n' : ' ');
  if (text.length > least) {
    process.stdout.write(text);
    text = '';
  }
}
if (text) process.stdout.write(text);
