// console.log of objects; told `large`, inspected and joined: the remedy.
const { inspect } = require('util');
const large = process.argv[2] === 'large';
const lines = Number(process.argv.at(-1)) / 8;
let text = '';
for (let n = 0; n < lines; n++) {
  const object = { id: n, name: `item ${n % 9}`, price: n / 4 };
  if (large) {
    text += inspect(object) + '\n';
    if (text.length > 65536) {
      process.stdout.write(text);
      text = '';
    }
  } else {
    console.log(object);
  }
}
if (text) process.stdout.write(text);
