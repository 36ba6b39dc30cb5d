// A write whose connection ends after each of its bytes.
import assert from 'node:assert/strict';
import { assertProblem, type Conversation, chunkedText, converse, requestText } from './raw.ts';
import type { Service } from './service.ts';
import { until } from './until.ts';

const BODY = '{"title":"Ünïted","body":"a\\u0000b"}';

/** A note written with a length and in chunks. */
export const WRITES = {
  'with a length': requestText('POST /notes', ['content-type: application/json'], BODY),
  'in chunks': chunkedText('POST /notes', ['content-type: application/json'], BODY.slice(0, 12), BODY.slice(12)),
};

/** The ways in which a client leaves, and what it sees then. */
export const ENDS: Readonly<Record<string, (conversation: Conversation, sent: number) => Promise<void>>> = {
  async ended({ socket, answer, closed }, sent) {
    socket.end();
    // Without a request there is no answer.
    if (sent > 0) assertProblem(await answer(), 'bad-request');
    await closed();
  },
  async reset({ socket }) {
    socket.resetAndDestroy();
  },
};

/** The connections of this process, which holds both ends of each. */
const openEnds = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

/** Sends beginnings of `text`, each `step` bytes longer, and leaves. Asserts that nothing is stored or stays open. */
export async function cutOff(
  service: Service,
  text: string,
  leave: (conversation: Conversation, sent: number) => Promise<void>,
  step: number,
): Promise<void> {
  const total = async () => (await service.request('GET', '/notes')).json.total;
  const stored = await total();
  const before = openEnds();
  const bytes = Buffer.from(text);
  for (let length = 0; length < bytes.length; length += step) {
    const conversation = await converse(service);
    await new Promise((resolve) => conversation.socket.write(bytes.subarray(0, length), resolve));
    await leave(conversation, length);
  }
  await until(() => openEnds() <= before);
  assert.equal(await total(), stored);
  const whole = await converse(service, bytes);
  const { status, headers } = await whole.answer();
  // No id was given to a note that does not exist.
  assert.deepEqual([status, headers.location], [201, `/notes/${stored + 1}`]);
  whole.socket.destroy();
  assert.deepEqual(
    service.log.filter(({ level }) => level === 'error'),
    [],
  );
}
