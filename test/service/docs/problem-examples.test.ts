// The service answers with exactly the problems that the contract gives as examples.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contract } from '../../support/contract.ts';
import { exchange, requestText } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';
import { sources } from '../../support/sources.ts';

const LAST = 'connection: close';
const request = (line: string, body = '', ...headers: string[]) => requestText(line, [LAST, ...headers], body);

/** A request for each example, by the response and the name of the example. */
const REQUESTS: Record<string, string> = {
  'BadRequest notJson': request('POST /notes', '{'),
  'BadRequest noTasks': request('POST /semaphore/run', '{"task_ids":[],"concurrency_limit":1}'),
  'BadRequest noItems': request('POST /pool/run', '{"items":[]}'),
  'Forbidden crossSite': request('POST /notes', '{}', 'sec-fetch-site: cross-site'),
  'NotFound note': request('GET /notes/42'),
  'NotFound tag': request('GET /tags/42'),
  'NotFound comment': request('GET /notes/1/comments/42'),
  'NotFound path': request('GET /nowhere'),
  'MethodNotAllowed patch': request('PATCH /notes'),
  'PayloadTooLarge tooLarge': request('POST /notes', '', 'content-length: 1048577'),
  'UnsupportedMediaType form': request('POST /notes', 'a=b', 'content-type: application/x-www-form-urlencoded'),
  'ExpectationFailed unknown': request('GET /notes', '', 'expect: a miracle'),
  'ValidationFailed body': request('POST /notes', '{"title":"a"}'),
  'ValidationFailed query': request('GET /notes?limit=a'),
  'ValidationFailed path': request('GET /notes/a'),
  'RequestHeaderFieldsTooLarge tooLarge': request('GET /notes', '', `x: ${'x'.repeat(20_000)}`),
  'NotImplemented transferCoding': request('POST /notes', '', 'transfer-encoding: gzip, chunked'),
  'HttpVersionNotSupported two': 'GET /notes HTTP/2.0\r\nhost: localhost\r\nconnection: close\r\n\r\n',
};

/** Examples that no single request causes; their text is in the code. */
const IN_CODE = [/^RequestTimeout /, /^InternalServerError /, /^ServiceUnavailable /];

/** Examples that depend on keys and rates. */
const GUARDED = [/^Unauthorized /, /^TooManyRequests /];

interface Media {
  readonly examples?: Readonly<Record<string, { readonly value: { readonly detail: string } }>>;
}

const responses = contract.components.responses as Record<string, { content?: Record<string, Media> }>;
const examples = Object.entries(responses).flatMap(([response, { content = {} }]) =>
  Object.entries(content['application/problem+json']?.examples ?? {}).map(
    ([name, { value }]) => [`${response} ${name}`, value] as const,
  ),
);

test('problem examples: each request gets the problem of the contract', async (t) => {
  const service = await startService(t);
  await service.request('POST', '/notes', { json: { title: 'a', body: 'b' } });
  let caused = 0;
  for (const [name, value] of examples) {
    const text = REQUESTS[name];
    if (text === undefined) {
      assert.ok(
        [...IN_CODE, ...GUARDED].some((each) => each.test(name)),
        `no request causes ${name}`,
      );
      continue;
    }
    const { body } = await exchange(service, text);
    assert.deepEqual(JSON.parse(body.replaceAll(service.url, 'http://127.0.0.1:3000')), value, name);
    caused += 1;
  }
  assert.equal(caused, Object.keys(REQUESTS).length);
});

test('problem examples: keys and rates', async (t) => {
  const service = await startService(t, { apiKeys: ['key'], rateLimit: 1 });
  const shown = (pattern: RegExp) => examples.find(([name]) => pattern.test(name))?.[1].detail;
  const refused = await exchange(service, request('GET /notes'));
  assert.equal(JSON.parse(refused.body).detail, shown(/^Unauthorized /));
  for (const count of [1, 2]) {
    const { body } = await exchange(service, request('GET /notes', '', 'x-api-key: key'));
    const untimed = (detail = '') => detail.replace(/\d+ seconds?/, 'N seconds');
    if (count === 2) assert.equal(untimed(JSON.parse(body).detail), untimed(shown(/^TooManyRequests /)));
  }
});

test('problem examples: the others are texts of the service', () => {
  for (const [name, { detail }] of examples) {
    if (!IN_CODE.some((each) => each.test(name))) continue;
    assert.ok(
      sources.some(({ lines }) => lines.some((line) => line.includes(`'${detail}'`))),
      `${name}: ${detail}`,
    );
  }
});
