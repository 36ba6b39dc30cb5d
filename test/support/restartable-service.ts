// A service of one or several processes that are killed while clients use it. Its clients go on
// after broken connections, refusals and time-outs.
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { stop } from './command.ts';
import type { Ends } from './engine.ts';
import { type Answer, brokenConnection, type RequestParts, request } from './http.ts';
import { sendSignal, startProcesses } from './processes.ts';
import { between } from './random.ts';
import { until } from './until.ts';

/** A service that can be killed. */
export interface RestartableService {
  /** Resolves with the URL, which is another one after `killAll`, once the service is ready. */
  url(): Promise<string>;
  /** Sends a request; resolves with undefined if it gets no answer, or 503. */
  attempt(method: string, path: string, parts?: RequestParts): Promise<Answer | undefined>;
  /** Sends a request until it is answered, and not with 503. */
  insist(method: string, path: string, parts?: RequestParts): Promise<Answer>;
  /** Kills one of several processes; resolves when another has taken its place. */
  killOne(): Promise<void>;
  /** Stops one process while `meanwhile` runs, as a debugger or a full disk does. */
  hangOne(meanwhile: () => Promise<void>): Promise<void>;
  /** Kills the only or first process, which the others follow, and starts the service again. */
  killAll(): Promise<void>;
  /** How many requests were not answered, or with 503. */
  failures(): number;
  stop(): Promise<void>;
}

/** Starts a service of `processes` on the database `db`, as `--db` takes it. */
export async function startRestartable(
  test: Ends,
  db: string,
  processes = 2,
): Promise<RestartableService> {
  const agent = new Agent({ keepAlive: true });
  let isOver = false;
  test.after(() => {
    isOver = true;
    agent.destroy();
  });
  const args = ['--db', db, '--log-level', 'silent'];
  const start = () => startProcesses(test, processes, args);
  let running = start();
  let failures = 0;
  await running;

  async function attempt(method: string, path: string, parts?: RequestParts) {
    try {
      const answer = await request((await running).url, method, path, { agent, ...parts });
      if (answer.status !== 503) return answer;
    } catch (error) {
      assert.ok(brokenConnection(error), error as Error);
    }
    failures += 1;
    await nextTurn();
    return undefined;
  }

  return {
    url: async () => (await running).url,
    attempt,
    async insist(method, path, parts) {
      for (;;) {
        const answer = await attempt(method, path, parts);
        if (answer) return answer;
        // Otherwise a test that has failed would never let its process end.
        assert.ok(!isOver, `${method} ${path}: no answer until the end of the test`);
      }
    },
    async killOne() {
      const { serving } = await running;
      const victim = serving()[between(0, processes - 1)];
      assert.ok(victim);
      sendSignal(victim, 'SIGKILL');
      await until(() => !serving().includes(victim) && serving().length === processes);
    },
    async hangOne(meanwhile) {
      const victim = (await running).serving()[between(0, processes - 1)];
      assert.ok(victim);
      sendSignal(victim, 'SIGSTOP');
      await meanwhile();
      sendSignal(victim, 'SIGCONT');
    },
    async killAll() {
      const killed = await running;
      killed.process.kill('SIGKILL');
      running = killed.ended.then(start);
      await running;
    },
    failures: () => failures,
    async stop() {
      assert.equal((await stop(await running)).status, 0);
    },
  };
}

/** Runs `clients` at once and meanwhile `kills`, each after a further equal share of `total`. */
export async function withKills(
  clients: Promise<unknown>,
  { done, total }: { readonly done: () => number; readonly total: number },
  kills: readonly (() => Promise<void>)[],
): Promise<void> {
  let isOver = false;
  const ended = clients.finally(() => {
    isOver = true;
  });
  ended.catch(() => {});
  for (const [index, kill] of kills.entries()) {
    const enough = (total * (index + 1)) / (kills.length + 1);
    // In steps, as a busy machine may need longer for all than one wait lasts.
    for (let before = done(); before < enough && !isOver; before = done())
      await until(() => isOver || done() > before);
    if (isOver) await ended;
    await kill();
  }
  await ended;
}
