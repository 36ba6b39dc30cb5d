// The pages that problem types name, and the examples of problems in the contract: the service
// answers with exactly those problems.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type ProblemType, problems } from '../../../src/contract/generated.js';
import { contract } from '../../support/contract.ts';
import { exchange, requestText } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';
import { sources } from '../../support/sources.ts';

const service = await startService({ after }, { bodyLimitBytes: 100 });

const explanationOf = ({ slug, status, title, meaning, remedy }: ProblemType) => {
  const description = `${meaning} ${remedy.replaceAll('`', '')}`;
  return { slug, status, title, description };
};

test('problem pages: each has meaning, remedy and example', async (t) => {
  const { request } = await startService(t, { problemBase: 'https://errors.example/kinds' });
  for (const problem of problems) {
    const { slug, status, title, meaning, remedy } = problem;
    const page = await request('GET', `/problems/${slug}`);
    assert.equal(page.status, 200, slug);
    assert.equal(page.headers['content-type'], 'text/html; charset=utf-8', slug);
    const text = page.text.replace(/&#(\d+);/g, (_reference, code) => String.fromCharCode(code));
    assert.ok(text.includes(`<title>${status} ${title} - notes-server</title>`), slug);
    assert.ok(text.includes(`<h1><span class="status">${status}</span> ${title}</h1>`), slug);
    for (const paragraph of [meaning, remedy])
      assert.ok(text.includes(`<p>${paragraph.replace(/`(.*?)`/g, '<code>$1</code>')}</p>`), slug);
    const example = JSON.parse(/<pre><code>(\{.*\})<\/code>/s.exec(text)?.[1] ?? '');
    assert.deepEqual(
      [example.type, example.status],
      [`https://errors.example/kinds/${slug}`, status],
    );
    const json = await request('GET', `/problems/${slug}`, {
      headers: { accept: 'application/json' },
    });
    assert.deepEqual(json.json, explanationOf(problem));
  }
});

test('problem pages: JSON only if it is named, and HTML not preferred', async () => {
  const [html, json] = ['text/html; charset=utf-8', 'application/json'];
  for (const [accepted, type] of [
    [undefined, html],
    ['*/*', html],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', html],
    ['application/json;q=0.5, text/html', html],
    ['application/json;q=0', html],
    ['application/json;q=0, text/html;q=0', html],
    ['text/*, application/*', html],
    ['application/json;q=x', html],
    ['image/png', html],
    ['application/json', json],
    ['Application/JSON; charset=utf-8', json],
    ['application/json, text/plain, */*', json],
    ['text/html, application/json, application/problem+json', json],
    ['text/html;q=0.5, application/json;q=0.5', json],
    ['text/html;q=0, application/json;q=0.1', json],
    ['text/html;q=0.5, application/json;q=0.6', json],
    ['text/html;q=x, application/json', json],
  ] as const) {
    const headers = accepted === undefined ? {} : { accept: accepted };
    for (const path of ['/problems', '/problems/not-found']) {
      const answer = await service.request('GET', path, { headers });
      assert.equal(answer.headers['content-type'], type, accepted);
      assert.equal(answer.headers.vary, 'accept', accepted);
      assert.equal(answer.headers['cache-control'], 'no-store', accepted);
    }
  }
});

test('problem pages: a list of all, open without a key', async (t) => {
  const { request } = await startService(t, { apiKeys: ['key'] });
  const { text } = await request('GET', '/problems');
  assert.ok(text.includes('<h1>Problems</h1>'));
  assert.deepEqual(
    [...text.matchAll(/href="problems\/([\w-]+)"/g)].map(([, slug]) => slug),
    problems.map(({ slug }) => slug),
  );
  for (const { slug, status, title, meaning } of problems) {
    const row = new RegExp(
      `<span class="status">${status}</span>\\n<p><a [^>]*><code>${slug}<.*?</li>`,
      's',
    );
    const [shown = ''] = row.exec(text) ?? [];
    assert.ok(shown.includes(`<span class="soft">${title}</span>`), slug);
    assert.ok(shown.includes(`<p>${meaning.split(' ')[0]} `), slug);
  }
  const { json } = await request('GET', '/problems', { headers: { accept: 'application/json' } });
  assert.deepEqual(json, { items: problems.map(explanationOf) });
});

/** The text of a request that is the last one of its connection. */
const last = (line: string, body = '', ...headers: string[]) =>
  requestText(line, ['connection: close', ...headers], body);

const NOTE = '{"title":"a","body":"b"}';
const LINES = 'content-type: application/x-ndjson';

const REQUESTS: Record<string, string> = {
  'BadRequestResponse notJson': last('POST /notes', '{', 'content-type: application/json'),
  'BadRequestResponse noType': last('POST /notes', 'Milk'),
  'BadRequestResponse noTasks': last(
    'POST /semaphore/run',
    '{"task_ids":[],"concurrency_limit":1}',
  ),
  'BadRequestResponse noItems': last('POST /pool/run', '{"items":[]}'),
  'BadRequestResponse notTags': last('PUT /notes/1', NOTE, 'if-match: 1'),
  'BadRequestResponse notKey': last('POST /notes', NOTE, 'idempotency-key: a b'),
  'BadRequestResponse notLine': last('POST /notes', `${NOTE}\n{`, LINES),
  'ProblemResponse badRequest': 'nonsense\r\n\r\n',
  'ProblemResponse notEncoded': last('GET /notes?q=東'),
  'ProblemResponse payloadTooLarge': last('GET /notes', '', 'content-length: 1048577'),
  'ProblemResponse forbidden': last('POST /notes', '{}', 'sec-fetch-site: cross-site'),
  'NotFoundResponse note': last('GET /notes/42'),
  'NotFoundResponse tag': last('GET /tags/42'),
  'NotFoundResponse comment': last('GET /notes/1/comments/42'),
  'NotFoundResponse noteTag': last('DELETE /notes/1/tags/1'),
  'NotFoundResponse path': last('GET /nowhere'),
  'NoPageResponse slug': last('GET /problems/nothing'),
  'ProblemResponse methodNotAllowed': last('PATCH /notes'),
  'CursorExpiredResponse expired': last('GET /changes?since=00000000-1'),
  'PreconditionFailedResponse changed': last('PUT /notes/1', NOTE, 'if-match: "5f2c9a01-42"'),
  'NamePreconditionFailedResponse missing': last('PUT /named/backup', NOTE, 'if-match: *'),
  'NoEntityTagResponse noEntityTag': last('PUT /notes/1/tags/1', '', 'if-match: *'),
  'PayloadTooLargeResponse tooLarge': last('POST /notes', '', 'content-length: 1048577'),
  'UnsupportedMediaTypeResponse form': last(
    'PUT /notes/1',
    'a=b',
    'content-type: application/x-www-form-urlencoded',
  ),
  'UnsupportedMediaTypeResponse jsonPatch': last(
    'PATCH /notes/1',
    '[]',
    'content-type: application/json-patch+json',
  ),
  'UnsupportedMediaTypeResponse jsonLines': last(
    'POST /notes',
    NOTE,
    'content-type: application/jsonl',
  ),
  'ProblemResponse expectationFailed': last('GET /notes', '', 'expect: a miracle'),
  'ValidationFailedResponse body': last('POST /notes', '{"title":"a"}'),
  'ValidationFailedResponse query': last('GET /notes?limit=a'),
  'ValidationFailedResponse unknownTag': last('PATCH /notes/1', '{"tag_ids":[42]}'),
  'ValidationFailedResponse unknownVersion': last('POST /notes/1/restore', '{"version":42}'),
  'ValidationFailedResponse path': last('GET /notes/a'),
  'CreationRefusedResponse body': last('POST /notes', '{"title":"a"}'),
  'CreationRefusedResponse line': last('POST /notes', `${NOTE}\n{"title":" ","body":"b"}`, LINES),
  'CreationRefusedResponse unknownTag': last(
    'POST /notes',
    '{"title":"a","body":"b","tag_ids":[42]}',
  ),
  'CreationRefusedResponse keyReused': last('POST /notes', NOTE, 'idempotency-key: used'),
  'ProblemResponse requestHeaderFieldsTooLarge': last('GET /notes', '', `x: ${'x'.repeat(20_000)}`),
  'ProblemResponse notImplemented': last('POST /notes', '', 'transfer-encoding: gzip, chunked'),
  'ProblemResponse httpVersionNotSupported':
    'GET /notes HTTP/2.0\r\nhost: localhost\r\nconnection: close\r\n\r\n',
};

/** Examples that no single request causes; their text is in the code. */
const IN_CODE = [/ requestTimeout$/, / internalServerError$/, / serviceUnavailable$/];

const GUARDED = [/ unauthorized$/, / keyExpired$/, / insufficientAccess$/, / tooManyRequests$/];

interface Media {
  readonly examples?: Readonly<Record<string, { readonly value: { readonly detail: string } }>>;
}

const responses = contract.components.responses as Record<
  string,
  { content?: Record<string, Media> }
>;
const examples = Object.entries(responses).flatMap(([response, { content = {} }]) =>
  Object.entries(content['application/problem+json']?.examples ?? {}).map(
    ([name, { value }]) => [`${response} ${name}`, value] as const,
  ),
);

test('problem examples: each request gets the problem of the contract', async (t) => {
  const service = await startService(t);
  const headers = { 'idempotency-key': 'used' };
  await service.request('POST', '/notes', { json: { title: 'b', body: 'b' }, headers });
  await service.request('POST', '/tags', { json: { name: 'a' } });
  let caused = 0;
  for (const [name, value] of examples) {
    const text = REQUESTS[name];
    if (text === undefined) {
      assert.ok(
        [...IN_CODE, ...GUARDED].some((each) => each.test(name)),
        `add a request that causes "${name}" to REQUESTS in test/service/docs/problems.test.ts, ` +
          'or list it in IN_CODE there',
      );
      continue;
    }
    const { body } = await exchange(service, text);
    assert.deepEqual(
      JSON.parse(body.replaceAll(service.url, 'http://127.0.0.1:3000')),
      value,
      name,
    );
    caused += 1;
  }
  assert.equal(caused, Object.keys(REQUESTS).length);
});

test('problem examples: keys and rates', async (t) => {
  const service = await startService(t, { apiKeys: ['key'], rateLimit: 1 });
  const shown = (pattern: RegExp) => examples.find(([name]) => pattern.test(name))?.[1].detail;
  const refused = await exchange(service, last('GET /notes'));
  assert.equal(JSON.parse(refused.body).detail, shown(/ unauthorized$/));
  for (const count of [1, 2]) {
    const { body } = await exchange(service, last('GET /notes', '', 'x-api-key: key'));
    const untimed = (detail = '') => detail.replace(/\d+ seconds?/, 'N seconds');
    if (count === 2)
      assert.equal(untimed(JSON.parse(body).detail), untimed(shown(/ tooManyRequests$/)));
  }
});

test('problem examples: the others are texts of the service', () => {
  for (const [name, { detail }] of examples) {
    if (!IN_CODE.some((each) => each.test(name))) continue;
    assert.ok(
      sources.some(({ lines }) =>
        lines
          .join('\n')
          .replaceAll(/' \+\n\s*'/g, '')
          .includes(`'${detail}'`),
      ),
      `${name}: ${detail}`,
    );
  }
});
