// Short alternating rounds: on a shared machine, a comparison of neighbours is worth more than a
// long measurement of each.
import { least, median, quantile } from './figures.mjs';
import { drive } from './load.mjs';

/**
 * Loads each server in turn, round after round. Resolves with a row for each server: the `rate` per
 * second, the `p50` and `p99` in ms, the `cpuUs` of a request and the `cores` used, by round.
 */
export async function measure(servers, work, { rounds, ...load }) {
  const rows = servers.map(({ name: server }) => ({
    ...{ work, connections: load.connections, server },
    ...{ rate: [], p50: [], p99: [], cpuUs: [], cores: [] },
  }));
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, server] of servers.entries()) {
      const { name, cpu } = server;
      progress(`${work}, ${load.connections} connections: round ${round + 1}, ${name}`);
      const before = cpu();
      const { requests, seconds, p50, p99 } = await drive(server, work, load);
      const used = cpu() - before;
      const figures = { rate: requests / seconds, p50, p99 };
      Object.assign(figures, { cpuUs: (1e6 * used) / requests, cores: used / seconds });
      for (const [name, figure] of Object.entries(figures)) rows[index][name].push(figure);
    }
  }
  progress('');
  return rows;
}

/** Joins the rounds of several starts. The rows are in the order of the first start. */
export function joinRows([first, ...others]) {
  for (const row of others.flat()) {
    const same = first.find(
      ({ work, connections, server }) =>
        work === row.work && connections === row.connections && server === row.server,
    );
    for (const [name, figures] of Object.entries(row))
      if (Array.isArray(figures)) same[name].push(...figures);
  }
  return first;
}

const COLUMNS = {
  'requests/s': ({ rate }) => median(rate).toFixed(0),
  'spread %': ({ rate }) =>
    ((100 * (Math.max(...rate) - Math.min(...rate))) / median(rate)).toFixed(0),
  'p50 ms': ({ p50 }) => median(p50).toFixed(2),
  'p99 ms': ({ p99 }) => median(p99).toFixed(2),
  'CPU us': ({ cpuUs }) => least(cpuUs).toFixed(1),
  quartile: ({ cpuUs }) => quantile(cpuUs, 0.25).toFixed(1),
  cores: ({ cores }) => median(cores).toFixed(2),
};

/** The ratios to the first row: of the rates and p99 in the same round, and of the least CPU. */
const RATIOS = {
  rate: (row, first) => ratioOf(row.rate, first.rate),
  p99: (row, first) => ratioOf(row.p99, first.p99),
  CPU: (row, first) => (least(row.cpuUs) / least(first.cpuUs)).toFixed(3),
};

function ratioOf(figures, firsts) {
  const ratios = figures.map((figure, round) => figure / firsts[round]);
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(ratios, share).toFixed(2));
  return `${middle} (${low} to ${high})`;
}

/** Prints the rows of {@link measure} as a table; `CPU us` is the least of all rounds. */
export function print(rows) {
  const [first, ...others] = rows;
  console.log(`\n${first.work}, ${first.connections} connections`);
  const names = Object.keys(COLUMNS).map((name) => name.padStart(11));
  const ratios = Object.keys(RATIOS).map((name) => `${name} ratio`.padStart(24));
  const width = Math.max(...rows.map(({ server }) => server.length));
  console.log(`  ${' '.repeat(width)}${[...names, ...(others.length ? ratios : [])].join('')}`);
  for (const row of rows) {
    const cells = Object.values(COLUMNS).map((figure) => figure(row).padStart(11));
    if (row !== first)
      cells.push(...Object.values(RATIOS).map((ratio) => ratio(row, first).padStart(24)));
    console.log(`  ${row.server.padEnd(width)}${cells.join('')}`);
  }
}

/** Shows what is under way, on a terminal. */
export function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
