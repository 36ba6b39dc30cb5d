// Compares writes with parts with plain ones: creations with tags, a key, times or a name, and changes
// with tags or a name, or of a part of the text.
import { least } from '../figures.mjs';
import { generate } from '../load.mjs';
import { serviceOf, TREE, withServers } from '../servers.mjs';

export const about = '[TREE]: least CPU of writes with parts, as multiples of plain ones';

export const defaults = { connections: [64, 1], rounds: 12, seconds: 0.4, notes: 10_000 };

/** The works by the plain one that they are compared with. */
const WORKS = {
  post: ['post-tags', 'post-key', 'post-times', 'put-name'],
  put: ['put-tags', 'add-tags', 'rename', 'append-each', 'edit-each'],
};

export async function run({ connections, rounds, seconds, notes }, [tree = TREE]) {
  const commands = { ours: serviceOf(tree, '--log-level', 'silent') };
  await withServers(commands, { notes }, async ([{ url, cpu }]) => {
    for (const count of connections) {
      for (const [plain, others] of Object.entries(WORKS)) {
        const works = [plain, ...others];
        const figures = Object.fromEntries(works.map((work) => [work, []]));
        for (let round = 0; round < rounds; round += 1)
          for (const work of works) {
            const before = cpu();
            const { statuses } = await generate(url, work, { connections: count, seconds, notes });
            const { 200: changed = 0, 201: created = 0, ...failed } = statuses;
            if (Object.keys(failed).length > 0) throw new Error(JSON.stringify(failed));
            figures[work].push((1e6 * (cpu() - before)) / (changed + created));
          }
        const us = (work) => least(figures[work]);
        const multiples = others.map(
          (work) => `${work} ${us(work).toFixed(1)} (${(us(work) / us(plain)).toFixed(2)})`,
        );
        console.log(
          `${count} connections, us: ${plain} ${us(plain).toFixed(1)}, ${multiples.join(', ')}`,
        );
      }
    }
  });
}
