// A write whose connection ends at any of its bytes stores nothing.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  assertProblem,
  type Conversation,
  chunkedText,
  converse,
  requestText,
} from '../../support/raw.ts';
import { assertNoErrors, startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const BODY = '{"title":"Ünïted","body":"a\\u0000b"}';

const JSON_TYPE = ['content-type: application/json'];
// Node does not report that the body of such a request ends too early.
const UPGRADE = [...JSON_TYPE, 'connection: Upgrade', 'upgrade: h2c'];
const PARTS = [BODY.slice(0, 12), BODY.slice(12)];

const WRITES = {
  'with a length': requestText('POST /notes', JSON_TYPE, BODY),
  'in chunks': chunkedText('POST /notes', JSON_TYPE, ...PARTS),
  'with a length, for an upgrade': requestText('POST /notes', UPGRADE, BODY),
  'in chunks, for an upgrade': chunkedText('POST /notes', UPGRADE, ...PARTS),
};

const ENDS: Readonly<Record<string, (conversation: Conversation, sent: number) => Promise<void>>> =
  {
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
const openEnds = () =>
  process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

const service = await startService({ after });
const total = async () => (await service.request('GET', '/notes')).json.total;

for (const [how, text] of Object.entries(WRITES)) {
  for (const [end, leave] of Object.entries(ENDS)) {
    test(`cut-off writes: a POST ${how}, ${end} at any byte`, async () => {
      const stored = await total();
      const before = openEnds();
      const bytes = Buffer.from(text);
      for (let length = 0; length < bytes.length; length += 1) {
        const conversation = await converse(service);
        await new Promise((resolve) =>
          conversation.socket.write(bytes.subarray(0, length), resolve),
        );
        await leave(conversation, length);
      }
      await until(() => openEnds() <= before);
      assert.equal(await total(), stored);
      const whole = await converse(service, bytes);
      const { status, headers } = await whole.answer();
      // No id was given to a note that does not exist.
      assert.deepEqual([status, headers.location], [201, `/notes/${stored + 1}`]);
      whole.socket.destroy();
      assertNoErrors(service);
    });
  }
}
