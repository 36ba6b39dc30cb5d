// A write that is cut off at each of its bytes: nothing of it is stored, and nothing of it stays.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertProblem, type Conversation, chunkedText, converse, requestText } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const NOTE = '{"title":"Ünïted","body":"a\\u0000b"}';
const WRITES = {
  'with a length': requestText('POST /notes', ['content-type: application/json'], NOTE),
  'in chunks': chunkedText('POST /notes', ['content-type: application/json'], NOTE.slice(0, 12), NOTE.slice(12)),
};

/** How a client can go, and what the service does then. */
const ENDS: Readonly<Record<string, (conversation: Conversation, sent: number) => Promise<void>>> = {
  async 'ends in order'({ socket, answer, closed }, sent) {
    socket.end();
    // Who has said nothing is told nothing.
    if (sent > 0) assertProblem(await answer(), 'bad-request');
    await closed();
  },
  async 'is reset'({ socket }) {
    socket.resetAndDestroy();
  },
};

/** The connections of this process, which has both ends of each. */
const openEnds = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

for (const [how, text] of Object.entries(WRITES)) {
  for (const [end, leave] of Object.entries(ENDS)) {
    test(`a POST ${how} whose connection ${end} at any byte stores nothing`, async (t) => {
      const service = await startService(t);
      const before = openEnds();
      const bytes = Buffer.from(text);
      for (let length = 0; length < bytes.length; length += 1) {
        const conversation = await converse(service);
        await new Promise((resolve) => conversation.socket.write(bytes.subarray(0, length), resolve));
        await leave(conversation, length);
      }
      await until(() => openEnds() === before);
      t.diagnostic(`cut off at each of ${bytes.length} bytes`);

      assert.equal((await service.request('GET', '/notes')).json.total, 0);
      const whole = await converse(service, bytes);
      const { status, headers } = await whole.answer();
      // The first id: none was given to a note that is not there.
      assert.deepEqual([status, headers.location], [201, '/notes/1']);
      whole.socket.destroy();
      assert.deepEqual(
        service.log.filter(({ level }) => level === 'error'),
        [],
      );
    });
  }
}
