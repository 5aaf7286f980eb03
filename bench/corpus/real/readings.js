// Readings of sensors from an asynchronous generator, each written when it comes; told `large`, collected: the remedy.
const least = process.argv[2] === 'large' ? 65536 : 0;
const lines = Number(process.argv.at(-1));

async function* readings() {
  let state = 17;
  for (let n = 0; n < lines; n++) {
    state = (state * 48271) % 2147483647;
    if (n % 64 === 63) await null;
    yield { n, sensor: 'abcdefgh'[state % 8], value: (state % 40000) / 100 };
  }
}

async function main() {
  const means = {};
  let text = '';
  for await (const { n, sensor, value } of readings()) {
    const mean = (means[sensor] = means[sensor] === undefined ? value : means[sensor] * 0.9 + value * 0.1);
    text += `${n} ${sensor} ${value.toFixed(2)} ${mean.toFixed(3)}\n`;
    if (text.length > least) {
      process.stdout.write(text);
      text = '';
    }
  }
  if (text) process.stdout.write(text);
}
main();
