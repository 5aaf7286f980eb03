// console.log: a write for each.
const lines = Number(process.argv[2] ?? 20000);
for (let n = 0; n < lines; n++) console.log(`line ${n}`);
