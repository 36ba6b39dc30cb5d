// What the hazards share: requests whose answers may be large, and figures about many of them.
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** How a request ended. */
export interface Taken {
  readonly status: number;
  readonly milliseconds: number;
  readonly bytes: number;
}

/** Sends a GET and discards the body of the answer. */
export async function take(url: string, path: string, agent?: Agent): Promise<Taken> {
  const started = performance.now();
  const sent = request(`${url}${path}`, { agent: agent ?? false }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  await once(response, 'end');
  const milliseconds = performance.now() - started;
  return { status: response.statusCode ?? 0, milliseconds, bytes };
}

/** Creates a record. Rejects unless the answer is 201. */
export async function post(url: string, path: string, record: unknown): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(record),
  });
  await answer.arrayBuffer();
  if (answer.status !== 201) throw new Error(`${path}: ${answer.status}`);
}

/** Sends a GET until it is answered with 200, for at most `maxMs`. */
export async function takeWhenServed(url: string, path: string, maxMs: number): Promise<void> {
  const deadline = performance.now() + maxMs;
  while ((await take(url, path)).status !== 200) {
    if (performance.now() > deadline) throw new Error(`${path} is not served`);
    await delay(500);
  }
}

/** Requests `path` over one connection while `work` lasts; resolves with the times, ascending. */
export async function timesDuring(
  url: string,
  path: string,
  work: Promise<unknown>,
): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  const times: number[] = [];
  while (!isDone) times.push((await take(url, path, agent)).milliseconds);
  agent.destroy();
  await done;
  return times.sort((one, other) => one - other);
}

/** Returns the value below which the fraction `share` of sorted figures lies. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
}
