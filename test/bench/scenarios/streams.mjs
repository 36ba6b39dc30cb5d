// Measures GETs alone, beside idle streams of changes, and beside as many that get some changes a
// second.
import { generate, warmUp } from '../load.mjs';
import { measure, print } from '../rounds.mjs';
import { SERVERS, withServers } from '../servers.mjs';

export const about = 'GETs beside many streams of changes';

export const defaults = {
  streams: 1_000,
  writes: [0, 1, 10],
  rounds: 10,
  seconds: 2,
  connections: 64,
  notes: 1_000,
};

async function openStream(url) {
  const answer = await fetch(`${url}/changes`, { headers: { accept: 'text/event-stream' } });
  if (answer.status !== 200) throw new Error(`a stream was refused: ${answer.status}`);
  answer.body.pipeTo(new WritableStream()).catch(() => {});
}

export async function run({ streams, writes, ...load }) {
  const commands = { alone: SERVERS.ours, beside: SERVERS.ours };
  await withServers(commands, load, async (servers) => {
    await warmUp(servers, 'get', load.notes);
    const { url, residentMb } = servers[1];
    const beforeMb = residentMb();
    for (let count = 0; count < streams; count += 1) await openStream(url);
    console.log(`${streams} streams: ${(residentMb() - beforeMb).toFixed(0)} MB`);
    for (const rate of writes) {
      // Each server is written while the other is measured, too.
      const seconds = 2 * load.rounds * load.seconds;
      const writing = { ...load, rate, seconds, connections: 1 };
      const written = rate > 0 ? servers.map((each) => generate(each.url, 'post', writing)) : [];
      console.log(`${rate} changes a second`);
      print(await measure(servers, 'get', load));
      await Promise.all(written);
    }
  });
}
