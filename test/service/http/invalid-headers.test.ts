// A reply that Node refuses to send: the client gets a 500, the log gets the cause, and the service
// continues.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../../src/http/problem.ts';
import { startBareServer } from '../../support/bare-server.ts';
import { send } from '../../support/http.ts';

const headers = ['etag', '"\u4e2d"'];
const HANDLERS = {
  '/reply': () => ({ status: 200, headers, body: 'x' }),
  '/problem': () => {
    throw new Problem('precondition-failed', 'It has changed.', { headers });
  },
};

test('headers: an invalid one is a 500 with its cause in the log', async (t) => {
  const routes = Object.entries(HANDLERS).map(([template, handle]) => {
    return { method: 'GET', template, handle } as const;
  });
  const server = await startBareServer(t, routes);
  for (const { template } of routes) {
    const { json } = await send(`http://127.0.0.1:${server.port}`, 'GET', template);
    assert.equal(json.title, 'Internal Server Error', template);
    const { status, error } = server.outcomes.at(-1) ?? assert.fail();
    assert.deepEqual([status, (error as { code?: string }).code], [500, 'ERR_INVALID_CHAR']);
  }
});
