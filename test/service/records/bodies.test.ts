// What the service reads as a body: media types, JSON, and JSON values without conversions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_PARTS } from '../../../src/http/body/json.ts';
import type { Answer } from '../../support/http.ts';
import { JSON_TEXTS, nested } from '../../support/json-texts.ts';
import { startService } from '../../support/service.ts';

const NOTE = '{"title":"a","body":"b"}';

test('bodies', async (t) => {
  const service = await startService(t);
  const post = (body: string | Buffer, headers = {}): Promise<Answer> =>
    service.request('POST', '/notes', { body, headers });
  const total = async () => (await service.request('GET', '/notes')).json.total;

  await t.test('media types: JSON under any of its names, or none', async () => {
    for (const type of ['Application/JSON;charset="UTF-8"', 'application/vnd.charset+json'])
      assert.equal((await post(NOTE, { 'content-type': type })).status, 201, type);
    assert.equal((await post(NOTE)).status, 201);
  });

  await t.test('media types: any other is 415 and says what to send', async () => {
    const before = await total();
    for (const type of ['text/xml', 'application/json; charset=latin1', '']) {
      const answer = await post(NOTE, { 'content-type': type });
      assert.equal(answer.status, 415, type);
      assert.match(answer.json.detail, /content-type: application\/json/);
      assert.match(
        answer.json.detail,
        /curl: --json DATA, or -H "content-type: application\/json"/,
      );
      assert.match(String(answer.headers.accept), /^application\/json, application\/x-ndjson\b/);
    }
    assert.equal(await total(), before);
  });

  await t.test('media types: a content-encoding is 415, except identity', async () => {
    for (const coding of ['gzip', 'identity, gzip', '*']) {
      const answer = await post(NOTE, { 'content-encoding': coding });
      assert.equal(answer.status, 415, coding);
      assert.match(answer.json.detail, /content-encoding/);
      assert.equal(answer.headers['accept-encoding'], 'identity');
    }
    assert.equal((await post(NOTE, { 'content-encoding': ' Identity ' })).status, 201);
  });

  await t.test('media types: ignored if no body is read', async () => {
    const headers = { 'content-type': 'text/xml', 'content-encoding': 'gzip' };
    const parts = { headers, body: 'x' };
    assert.equal((await service.request('GET', '/notes', parts)).status, 200);
    assert.equal((await service.request('DELETE', '/notes/999', parts)).status, 404);
  });

  await t.test('media types: no accept header is refused', async () => {
    for (const accept of ['text/html', 'application/json;q=0', 'nonsense', '']) {
      const found = await service.request('GET', '/notes', { headers: { accept } });
      const missing = await service.request('GET', '/notes/999', { headers: { accept } });
      assert.deepEqual([found.status, missing.status], [200, 404], accept);
      assert.equal(found.headers['content-type'], 'application/json', accept);
      assert.equal(missing.headers['content-type'], 'application/problem+json', accept);
    }
  });

  await t.test('JSON: one sample of each class of texts', async () => {
    const before = await total();
    let created = 0;
    const assertStatus = async (body: string | Buffer, expected: number) => {
      const { status, headers, json } = await post(body);
      assert.equal(status, expected, JSON.stringify(String(body).slice(0, 100)));
      // The detail does not repeat the body.
      const refusal = /^The body is (?:not valid|empty|nested too deeply)/;
      if (status === 400) assert.match(json.detail, refusal);
      // A body that cannot be read is no reason to end the connection.
      assert.notEqual(headers.connection, 'close');
    };
    for (const { accepted, refused, decided = [] } of Object.values(JSON_TEXTS)) {
      for (const text of refused.slice(0, 1)) await assertStatus(text, 400);
      for (const text of accepted.slice(0, 1)) {
        // It is JSON, but not a note; and any JSON is ignored in a member that only answers have.
        await assertStatus(text, 422);
        const parts = ['{"title":"a","id":', text, ',"body":"b"}'].map((part) => Buffer.from(part));
        await assertStatus(Buffer.concat(parts), 201);
        created += 1;
      }
      for (const [text, decision] of decided.slice(0, 1)) {
        await assertStatus(text, decision === 'refused' ? 400 : 422);
      }
    }
    assert.equal(await total(), before + created);
    assert.ok(service.log.every(({ level }) => level !== 'error'));
  });

  await t.test('JSON: a missing body is 400', async () => {
    assert.equal((await service.request('POST', '/notes')).status, 400);
    const headers = { 'content-length': '0' };
    assert.equal((await service.request('PUT', '/notes/1', { headers })).status, 400);
  });

  await t.test('JSON: nested too deeply, or with too many parts, is 400', async () => {
    const bodyWith = (value: string) => `{"title":"a","body":"b","id":${value}}`;
    const { json: deep } = await post(bodyWith(nested(1_000)));
    assert.equal(deep.detail, 'The body is nested too deeply at line 1, column 1029.');
    assert.equal((await post(bodyWith(nested(999)))).status, 201);
    // The others are the object, its three members and the outer array.
    const parts = (count: number) => bodyWith(`[${'[],'.repeat(count - 5)}0]`);
    const { json: many } = await post(parts(MAX_PARTS + 1));
    assert.equal(many.detail, 'The body has too many arrays, objects and members.');
    assert.equal((await post(parts(MAX_PARTS))).status, 201);
  });

  await t.test('JSON: a byte order mark is 400, with its name', async () => {
    const type = { 'content-type': 'application/json' };
    const { status, json } = await post(`\ufeff${NOTE}`, type);
    const detail =
      'The body is not valid JSON at line 1, column 1: expected a value, found a byte order mark.';
    assert.deepEqual([status, json.detail], [400, detail]);
    assert.equal((await post(`\ufeff`, type)).json.detail, detail);
  });

  await t.test('JSON: nothing is converted to a string', async () => {
    for (const value of ['4.0', 'true', 'null', '["a"]']) {
      const { status, json } = await post(`{"title":${value},"body":"b"}`);
      assert.deepEqual([status, json.errors[0].code], [422, 'type'], value);
    }
    const { json } = await post('{"title":"4.0","body":"[1e5, 4.0, \\"4.0\\"]"}');
    assert.deepEqual([json.title, json.body], ['4.0', '[1e5, 4.0, "4.0"]']);
  });

  await t.test('JSON: nothing is converted to an integer', async () => {
    for (const value of ['4.0', '40e-1', '16.9', '1e400', '"4"', 'null']) {
      const body = `{"task_ids":[1,${value}],"concurrency_limit":${value}}`;
      const { json } = await service.request('POST', '/semaphore/run', { body });
      const faults = json.errors.map((each: Record<string, string>) => [each.pointer, each.code]);
      assert.deepEqual(faults.sort(), [
        ['#/concurrency_limit', 'type'],
        ['#/task_ids/1', 'type'],
      ]);
    }
  });

  await t.test('JSON: of several members with one name the last counts', async () => {
    const { json } = await post('{"title":1,"body":"a","title":"b","body":"c"}');
    assert.deepEqual([json.title, json.body], ['b', 'c']);
    assert.equal((await post('{"title":"a","body":"b","title":1}')).status, 422);
  });
});
