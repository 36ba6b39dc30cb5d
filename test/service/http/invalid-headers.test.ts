// A reply that Node refuses to send: the client gets a 500, the log gets the cause, and the service
// continues.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../../src/http/problem.ts';
import type { Reply } from '../../../src/http/reply.ts';
import { startBareServer } from '../../support/bare-server.ts';
import { send } from '../../support/http.ts';

const REPLIES: Readonly<Record<string, () => Reply>> = {
  '/line-feed': () => ({ status: 200, headers: ['x-kept', 'a', 'location', '/a\nb'], body: 'x' }),
  '/no-latin-1': () => ({ status: 200, headers: ['location', '/\u4e2d'] }),
  '/no-body': () => ({ status: 204, headers: ['location', '/a\r\nb: c'] }),
  '/name': () => ({ status: 200, headers: ['not a name', 'a'] }),
  '/problem': () => {
    throw new Problem('not-found', 'It is not here.', { headers: ['location', '\n'] });
  },
};

test('headers: an invalid one is a 500 with its cause in the log', async (t) => {
  const routes = Object.entries(REPLIES).map(([template, handle]) => {
    return { method: 'GET', template, handle } as const;
  });
  const server = await startBareServer(t, routes);
  for (const path of Object.keys(REPLIES)) {
    const { status, headers, json } = await send(`http://127.0.0.1:${server.port}`, 'GET', path);
    assert.deepEqual([status, json.title], [500, 'Internal Server Error'], path);
    assert.deepEqual([headers.location, headers['x-kept']], [undefined, undefined], path);
    const { error, ...outcome } = server.outcomes.at(-1) ?? assert.fail();
    assert.equal(outcome.status, 500, path);
    assert.match(String((error as { code?: string }).code), /^ERR_INVALID_(?:CHAR|HTTP_TOKEN)$/);
  }
  assert.equal(server.outcomes.length, Object.keys(REPLIES).length);
});
