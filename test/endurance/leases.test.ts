// Leased threads: whatever runs at the same time, fails, leaves or is killed, no answer has
// anything of another request, and threads and memory come back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCommand } from '../support/command.ts';
import { type Answer, request } from '../support/http.ts';
import { createRandom, type Random } from '../support/mutations.ts';
import { openSocket, readAll, requestText } from '../support/raw.ts';
import { skipLoudly } from '../support/skip.ts';
import {
  CANNOT_LOOK,
  descriptorsOf,
  limited,
  residentMegabytesOf,
  SHORT_IDLE,
  threadsOf,
} from '../support/threads.ts';
import { until } from '../support/until.ts';

const REQUESTS = 2_000;
const CLIENTS = 24;
const SETTLED_MB = 100;

/** A request whose parts carry its own mark, and what must hold of its answer. */
interface Marked {
  readonly path: string;
  readonly json: object;
  assert(json: Answer['json']): void;
}

const itemsOf = (mark: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${mark} ${index}`);

/** The six demonstrations, each with values that no other request has. */
const MARKED: readonly ((mark: number, random: Random) => Marked)[] = [
  (mark, random) => {
    const [workers, count] = [1 + random.below(16), 1 + (mark % 1_000)];
    const expected = workers * count;
    return {
      path: '/counter/increment',
      json: { workers, count },
      assert: (json) => assert.deepEqual(json, { expected, actual: expected, consistent: true }),
    };
  },
  (mark, random) => {
    const task_ids = Array.from({ length: 1 + random.below(50) }, (_, at) => mark * 100 + at);
    const concurrency_limit = 1 + random.below(8);
    return {
      path: '/semaphore/run',
      json: { task_ids, concurrency_limit },
      assert(json) {
        const { completed, peak_concurrency, ...rest } = json;
        assert.deepEqual(rest, { total: task_ids.length, concurrency_limit });
        assert.deepEqual(completed.toSorted(), task_ids.toSorted());
        assert.equal(peak_concurrency, Math.min(task_ids.length, concurrency_limit));
      },
    };
  },
  (mark) => {
    const payload = `payload ${mark}`;
    const length = payload.length;
    return {
      path: '/event/sync',
      json: { payload },
      assert: (json) => assert.deepEqual(json, { payload, length, ready: true, done: true }),
    };
  },
  (mark, random) => {
    const good = itemsOf(`good ${mark}`, 1 + random.below(20));
    const bad = itemsOf(`fail ${mark}`, random.below(5));
    return {
      path: '/pool/run',
      json: { items: [...bad, ...good], max_workers: 1 + random.below(8) },
      assert({ succeeded, failed }) {
        const named = (list: { item: string }[]) => list.map(({ item }) => item);
        assert.deepEqual([named(failed), named(succeeded)], [bad, good]);
      },
    };
  },
  (mark, random) => {
    const items = itemsOf(`item ${mark}`, 1 + random.below(50));
    const num_consumers = 1 + random.below(8);
    return {
      path: '/producer-consumer/run',
      json: { items, num_consumers, queue_size: 1 + random.below(5) },
      assert({ consumed, results }) {
        const taken = results.map(({ item }: { item: string }) => item);
        assert.deepEqual([consumed, taken], [items.length, items]);
      },
    };
  },
  (mark, random) => {
    const items = itemsOf(`value ${mark}`, 1 + random.below(30));
    return {
      path: '/thread-local/run',
      // Always the same key, so that a value of an earlier lease would be seen.
      json: { items, context_key: 'key' },
      assert({ isolated, results }) {
        const values = results.map(({ value }: { value: string }) => value);
        assert.deepEqual([isolated, values], [true, items]);
      },
    };
  },
];

/** Flags of Node that kill a thread of the service now and then. */
const KILLER = `
  import { isMainThread } from 'node:worker_threads';
  const threads = new Set();
  if (isMainThread) {
    process.on('worker', (worker) => {
      threads.add(worker);
      worker.once('exit', () => threads.delete(worker));
    });
    setInterval(() => {
      const [first] = threads;
      first?.terminate();
    }, 300).unref();
  }`;

test('leases: nothing of one request is in the answer of another', async (t) => {
  if (CANNOT_LOOK) return skipLoudly(t, CANNOT_LOOK);
  const killer = ['--import', `data:text/javascript,${encodeURIComponent(KILLER)}`];
  const node = [...SHORT_IDLE, ...limited('queueMs', 60_000), ...killer];
  const command = startCommand(t, ['--port', '0', '--log-level', 'silent'], { node });
  const url = await command.ready();
  const { port } = new URL(url);
  const pid = command.process.pid ?? assert.fail();
  await request(url, 'GET', '/notes');
  const [threads, megabytes] = [threadsOf(pid), residentMegabytesOf(pid)];
  const descriptors = descriptorsOf(pid);
  const random = createRandom(52);
  const statuses: Record<number, number> = {};

  /** Disconnects before it has sent all, right after, or while others are served. */
  async function leave({ path, json }: Marked): Promise<void> {
    const text = requestText(`POST ${path}`, [], JSON.stringify(json));
    const moment = random.below(4);
    const socket = await openSocket({ port: Number(port) });
    const gone = readAll(socket);
    socket.write(moment === 0 ? text.slice(0, random.below(text.length)) : text);
    for (let answers = moment < 2 ? 0 : random.below(20); answers > 0; answers -= 1)
      await request(url, 'GET', '/health');
    // Node cannot reset a socket that is ending, and would never report that it is closed.
    if (random.oneIn(2) && socket.writable) socket.resetAndDestroy();
    else socket.destroy();
    await gone;
  }

  let next = 0;
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (next < REQUESTS) {
        next += 1;
        const marked = random.pick(MARKED)(next, random);
        if (random.oneIn(8)) {
          await leave(marked);
          continue;
        }
        const { status, json } = await request(url, 'POST', marked.path, { json: marked.json });
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (status === 200) marked.assert(json);
        // Its thread was killed.
        else assert.equal(status, 500, JSON.stringify(json));
      }
    }),
  );
  t.diagnostic(`${JSON.stringify(statuses)}; ${Math.round(residentMegabytesOf(pid))} MB`);
  assert.ok((statuses[200] ?? 0) > REQUESTS / 2);
  await until(() => threadsOf(pid) <= threads);
  await until(() => descriptorsOf(pid) <= descriptors + 1);
  await until(() => residentMegabytesOf(pid) < megabytes + SETTLED_MB);
});

test('leases: four clients of each demonstration are always served', async (t) => {
  const command = startCommand(t, ['--port', '0', '--log-level', 'error']);
  const url = await command.ready();
  const random = createRandom(4);
  for (const make of MARKED) {
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        for (let run = 0; run < 25; run += 1) {
          const marked = make(run, random);
          const { status, json } = await request(url, 'POST', marked.path, { json: marked.json });
          assert.equal(status, 200, `${marked.path}: ${JSON.stringify(json)}`);
          marked.assert(json);
        }
      }),
    );
  }
});
