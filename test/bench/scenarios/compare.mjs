// Compares two trees of this project, or one tree with different options, such as
//   bench.mjs compare --second='--processes 2' --cores 0-1

import { warmUp } from '../load.mjs';
import { joinRows, measure, print } from '../rounds.mjs';
import { serviceOf, TREE, withStarts } from '../servers.mjs';

export const about = '[TREE [TREE]]: the ratios of the second to the first (rate, p99, least CPU)';

export const defaults = {
  works: ['get', 'page', 'post', 'put', 'mix'],
  starts: 4,
  /** Of each start. */
  rounds: 8,
  seconds: 0.4,
  connections: 64,
  notes: 10_000,
  /** The cores of services and load; by default, each has one. */
  cores: '',
  /** More options of the service, as in `--first=--no-metrics`. */
  first: '',
  second: '',
};

export async function run(
  { works, starts, first, second, cores, ...shared },
  [one = TREE, other = one],
) {
  const load = cores ? { ...shared, cores } : shared;
  const [oneMore, otherMore] = [first, second].map((flags) => flags.split(' ').filter(Boolean));
  const commands = {
    first: serviceOf(one, '--log-level', 'silent', ...oneMore),
    second: serviceOf(other, '--log-level', 'silent', ...otherMore),
  };
  const started = await withStarts(starts, commands, load, async (servers) => {
    const rows = [];
    for (const work of works) {
      await warmUp(servers, work, load.notes);
      rows.push(await measure(servers, work, load));
    }
    return rows.flat();
  });
  const rows = joinRows(started);
  for (const work of works) print(rows.filter((row) => row.work === work));
}
