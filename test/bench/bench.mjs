// Runs one of the benchmarks in scenarios/ after `npm run build`:
//   node test/bench/bench.mjs [SCENARIO] [ARGUMENT...] [--OPTION VALUE...]
// Without a scenario it compares the service with other servers, as `npm run bench` does; `help`
// lists the scenarios and their options. Each exports a sentence `about` it, the `defaults` of its
// options (a list is given with commas), and `run`.
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';

const folder = new URL('scenarios/', import.meta.url);
const names = readdirSync(folder).map((file) => file.replace('.mjs', ''));
const [first = 'peers', ...rest] = process.argv.slice(2);
const [name, args] = first.startsWith('-') ? ['peers', process.argv.slice(2)] : [first, rest];

const load = (name) => import(new URL(`${name}.mjs`, folder).href);

/** Returns the value of an option as the type of its default. */
function typed(text, byDefault) {
  if (Array.isArray(byDefault)) return text.split(',').map((each) => typed(each, byDefault[0]));
  return typeof byDefault === 'number' ? Number(text) : text;
}

async function help() {
  for (const name of names) {
    const { about, defaults } = await load(name);
    const options = Object.entries(defaults).map(([option, value]) => ` [--${option} ${value}]`);
    console.log(`${name}: ${about}\n   ${options.join('')}`);
  }
}

if (names.includes(name)) {
  const { defaults, run } = await load(name);
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: Object.fromEntries(
      Object.entries(defaults).map(([option, value]) => [
        option,
        { type: 'string', default: String(value) },
      ]),
    ),
  });
  const entries = Object.entries(values).map(([option, text]) => [
    option,
    typed(text, defaults[option]),
  ]);
  await run(Object.fromEntries(entries), positionals);
} else {
  await help();
  if (name !== 'help') process.exitCode = 1;
}
