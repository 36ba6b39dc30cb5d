import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { createAssetServer } from '../../src/docs/static.ts';
import type { Reply } from '../../src/http/reply.ts';

const HEADERS = ['content-type', 'text/css', 'cache-control', 'no-cache'];
const bytes = Buffer.from('body { color: red }'.repeat(50));
const compressed = { bytes, brotli: brotliCompressSync(bytes), gzip: gzipSync(bytes) };

function header({ headers = [] }: Reply, name: string): string | undefined {
  const index = headers.indexOf(name);
  assert.equal(headers.lastIndexOf(name), index, `duplicate ${name}`);
  return index === -1 ? undefined : headers[index + 1];
}

function decoded(reply: Reply): Buffer {
  const body = reply.body as Buffer;
  const coding = header(reply, 'content-encoding');
  if (coding === 'br') return brotliDecompressSync(body);
  return coding === 'gzip' ? gunzipSync(body) : body;
}

test('assets: sent with their headers and an ETag', () => {
  const reply = createAssetServer({ bytes }, HEADERS)({});
  assert.equal(reply.status, 200);
  assert.equal(reply.body, bytes);
  assert.equal(header(reply, 'content-type'), 'text/css');
  assert.equal(header(reply, 'cache-control'), 'no-cache');
  assert.equal(header(reply, 'vary'), 'accept-encoding');
  assert.match(header(reply, 'etag') ?? '', /^"[\w-]{22}"$/);
});

test('assets: the best coding that the client accepts', () => {
  const serve = createAssetServer(compressed, HEADERS);
  const cases: [string | undefined, string | undefined][] = [
    [undefined, undefined],
    ['', undefined],
    ['identity', undefined],
    ['deflate, zstd', undefined],
    ['*', undefined],
    ['br', 'br'],
    ['gzip', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['GZIP', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0.0, gzip;q=0', undefined],
    ['br;q=nonsense, gzip;q=0.1', 'gzip'],
    ['br;q=0.1, gzip', 'gzip'],
    ['br;q=0.5, gzip;q=0.5', 'br'],
  ];
  for (const [accepted, coding] of cases) {
    const reply = serve(accepted === undefined ? {} : { 'accept-encoding': accepted });
    assert.equal(reply.status, 200);
    assert.equal(header(reply, 'content-encoding'), coding, accepted);
    assert.equal(header(reply, 'vary'), 'accept-encoding');
    assert.deepEqual(decoded(reply), bytes);
  }
  assert.equal(
    header(
      createAssetServer({ bytes, gzip: compressed.gzip }, [])({ 'accept-encoding': 'br, gzip' }),
      'content-encoding',
    ),
    'gzip',
  );
});

test('assets: each coding and content has its own ETag', () => {
  const etags = (content: Buffer) =>
    ['identity', 'br', 'gzip'].map((coding) => {
      const asset = {
        bytes: content,
        brotli: brotliCompressSync(content),
        gzip: gzipSync(content),
      };
      return header(createAssetServer(asset, HEADERS)({ 'accept-encoding': coding }), 'etag');
    });
  assert.equal(new Set([...etags(bytes), ...etags(Buffer.from('other'))]).size, 6);
  assert.deepEqual(etags(bytes), etags(Buffer.from(bytes)));
});

test('assets: 304 without a body for a matching ETag', () => {
  const serve = createAssetServer(compressed, HEADERS);
  for (const coding of ['identity', 'br', 'gzip']) {
    const first = serve({ 'accept-encoding': coding });
    const etag = header(first, 'etag') ?? '';
    const lists = [`"other", ${etag}`, `W/"a",W/${etag} ,"b"`];
    for (const sent of [etag, `W/${etag}`, ...lists, '*', ` ${etag} `]) {
      const reply = serve({ 'accept-encoding': coding, 'if-none-match': sent });
      assert.equal(reply.status, 304, sent);
      assert.equal(reply.body, undefined);
      for (const name of ['etag', 'vary', 'cache-control'])
        assert.equal(header(reply, name), header(first, name));
    }
  }
});

test('assets: 200 for another ETag', () => {
  const serve = createAssetServer(compressed, HEADERS);
  const etag = header(serve({}), 'etag') ?? '';
  for (const sent of ['', '"other"', etag.slice(1, -1), `w/${etag}`, `${etag}x`, '"*"', 'W/*']) {
    const reply = serve({ 'if-none-match': sent });
    assert.equal(reply.status, 200, sent);
    assert.deepEqual(reply.body, bytes);
  }
  assert.equal(
    serve({ 'accept-encoding': 'br', 'if-none-match': etag }).status,
    200,
    'the ETag of another coding',
  );
});
