// A file in memory: the coding that a client gets, and whether it has the file already.
import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { createAssetServer } from '../../src/docs/static.ts';
import type { Reply } from '../../src/http/reply.ts';

const bytes = Buffer.from('body { color: red }'.repeat(50));

function header({ headers = [] }: Reply, name: string): string | undefined {
  const index = headers.indexOf(name);
  return index === -1 ? undefined : headers[index + 1];
}

test('assets: the best coding that the client accepts', async () => {
  const serve = createAssetServer(bytes, []);
  for (const [accepted, coding] of [
    ['', undefined],
    ['identity', undefined],
    ['deflate, zstd', undefined],
    ['*', undefined],
    ['gzip', 'gzip'],
    ['gzip, deflate, br', 'gzip'],
    ['GZIP', 'gzip'],
    ['br, gzip;q=0', undefined],
    ['br;q=nonsense, gzip;q=0.1', 'gzip'],
  ] as const) {
    const reply = await serve({ 'accept-encoding': accepted });
    assert.equal(header(reply, 'content-encoding'), coding, accepted);
    const body = reply.body as Buffer;
    assert.deepEqual(coding ? gunzipSync(body) : body, bytes, accepted);
  }
});

test('assets: 304 without a body for the entity tag of the same coding alone', async () => {
  const serve = createAssetServer(bytes, ['cache-control', 'no-cache']);
  const statusOf = async (headers: IncomingHttpHeaders) => (await serve(headers)).status;
  for (const [coding, other] of [
    ['identity', 'gzip'],
    ['gzip', 'identity'],
  ]) {
    const first = await serve({ 'accept-encoding': coding });
    const etag = header(first, 'etag') ?? '';
    for (const sent of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const reply = await serve({ 'accept-encoding': coding, 'if-none-match': sent });
      assert.deepEqual(reply, { status: 304, headers: first.headers ?? [] }, sent);
    }
    for (const sent of ['', '"other"', etag.slice(1, -1), `w/${etag}`, `${etag}x`, '"*"'])
      assert.equal(await statusOf({ 'accept-encoding': coding, 'if-none-match': sent }), 200, sent);
    assert.equal(await statusOf({ 'accept-encoding': other, 'if-none-match': etag }), 200);
  }
});
