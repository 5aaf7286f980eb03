// A compiler of sums to a stack machine, that prints each instruction with console.log; told `large`, they are joined: the remedy.
declare const process: { argv: string[]; stdout: { write(text: string): void } };

type Expression = number | { operator: '+' | '*'; left: Expression; right: Expression };

const large = process.argv[2] === 'large';
const lines = Number(process.argv[process.argv.length - 1]);
let said = 0;
let text = '';

function say(instruction: string): void {
  said++;
  if (!large) return console.log(instruction);
  text += instruction + '\n';
  if (text.length > 65536) {
    process.stdout.write(text);
    text = '';
  }
}

function make(depth: number, seed: number): Expression {
  if (depth === 0 || seed % 5 === 0) return seed % 100;
  return { operator: seed % 2 ? '+' : '*', left: make(depth - 1, (seed * 7 + 1) % 1009), right: make(depth - 1, (seed * 11 + 3) % 1009) };
}

function compile(expression: Expression): void {
  if (typeof expression === 'number') return say(`    push ${expression}`);
  compile(expression.left);
  compile(expression.right);
  say(expression.operator === '+' ? '    add' : '    multiply');
}

for (let n = 1; said < lines; n++) {
  say(`function${n}:`);
  compile(make(6, n));
  say('    return');
}
if (text) process.stdout.write(text);
