// A process of a service dies, and another takes its place.
import assert from 'node:assert/strict';
import { type RequestParts, request } from './http.ts';
import { isAlive, type Processes, untilAllAnswered } from './processes.ts';
import { converse } from './raw.ts';
import { until } from './until.ts';

/**
 * Asserts that a process that dies is replaced while the others serve. Resolves with the id of the
 * dead one.
 */
export async function assertReplaced(
  service: Processes,
  parts: RequestParts = {},
): Promise<number> {
  const { length } = service.serving();
  const [victim = 0, ...others] = service.serving();
  const message = (text: string) => service.nextLine((line) => line.message.includes(text));
  const [ended, replaced] = [message('process ended'), message('process replaced')];
  // Connections that the dying process was to accept must not hang.
  process.kill(victim, 'SIGSTOP');
  const port = Number(new URL(service.url).port);
  const conversations = await Promise.all(Array.from({ length: 8 }, () => converse({ port })));
  const answers = conversations.map(({ socket, answer }) => {
    socket.write('GET /livez HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
    return answer().catch((error: Error) => error);
  });
  process.kill(victim, 'SIGKILL');
  await until(() => !isAlive(victim));
  for (const answer of await Promise.all(answers)) {
    if (answer instanceof Error) assert.match(answer.message, /the connection ended/);
  }
  const json = { title: 'meanwhile', body: 'b' };
  assert.equal((await request(service.url, 'POST', '/notes', { json, ...parts })).status, 201);
  const { level, status, ended: pid } = await ended;
  assert.deepEqual([level, status, pid], ['error', 'SIGKILL', victim]);
  await replaced;
  const serving = service.serving();
  assert.equal(serving.length, length);
  assert.ok(others.every((other) => serving.includes(other)) && !serving.includes(victim));
  await untilAllAnswered(service, serving);
  return victim;
}
