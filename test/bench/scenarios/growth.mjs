// Measures speed as the data grows, compared with Fastify: pages at the beginning, in the middle
// and at the end, single reads, new notes, and a note with 100,000 comments.
import { execFileSync } from 'node:child_process';
import { measure, print } from '../rounds.mjs';
import { here, installPeers, SERVERS, start, withServers } from '../servers.mjs';

export const about = 'pages, GETs and POSTs among more and more notes, compared with Fastify';

export const defaults = {
  sizes: [10_000, 100_000, 1_000_000],
  connections: [64, 1],
  rounds: 5,
  seconds: 2,
};

const COMMENTS = 100_000;

/** Fills the tables that the server creates itself. */
const filledWith = (notes, comments) => async (command, file) => {
  await (await start((port) => command(port, file))).stop();
  const fill = (table, count) =>
    execFileSync(process.execPath, [here('peers/fill.mjs'), file, String(count), table]);
  fill('notes', notes);
  if (comments > 0) fill('comments', comments);
};

const pagesOf = (list, count) =>
  [0, count / 2, count - 20].map((offset) => `${list}?offset=${offset}`);

export async function run({ sizes, connections, ...load }) {
  installPeers();
  const compare = async (commands, works, notes, comments = 0) => {
    const prepare = filledWith(notes, comments);
    await withServers(commands, { prepare }, async (servers) => {
      console.log(`\n${notes} notes, ${comments} comments`);
      for (const work of works)
        for (const count of connections)
          print(await measure(servers, work, { ...load, notes, connections: count }));
    });
  };
  const { fastify, ours } = SERVERS;
  for (const notes of sizes)
    await compare({ fastify, ours }, [...pagesOf('/notes', notes), 'get', 'post'], notes);
  await compare({ ours }, pagesOf('/notes/1/comments', COMMENTS), 1, COMMENTS);
}
