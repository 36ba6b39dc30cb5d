// PATCH with a JSON Merge Patch (RFC 7396) on every kind of record.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COLLECTIONS, inputOf, maxLengthOf, prepare } from '../../support/collections.ts';
import { type Answer, type RequestParts, request } from '../../support/http.ts';
import { startService } from '../../support/service.ts';

const ACCEPT_PATCH = 'application/merge-patch+json, application/json';

for (const collection of COLLECTIONS) {
  const { label, path, fields, owner } = collection;
  const name = label.toLowerCase();

  test(`patch: ${name}`, async (t) => {
    const service = await startService(t);
    await prepare(service, collection);
    const { json: record } = await service.request('POST', path, {
      json: inputOf(collection, 'old'),
    });
    const target = `${path}/${record.id}`;
    const patch = (parts: RequestParts): Promise<Answer> => service.request('PATCH', target, parts);
    const read = async () => (await service.request('GET', target)).json;

    await t.test(`patch: ${name}: replaces what it names and keeps the rest`, async () => {
      let expected = record;
      for (const field of fields) {
        expected = { ...expected, [field]: `new ${field} é👋` };
        const { status, json, headers } = await patch({ json: { [field]: expected[field] } });
        assert.deepEqual([status, json], [200, expected]);
        assert.equal(headers['content-type'], 'application/json');
        assert.equal(headers['cache-control'], 'private, no-cache');
        const { headers: now, json: stored } = await service.request('GET', target);
        assert.deepEqual([stored, now.etag], [expected, headers.etag]);
      }
      const all = inputOf(collection, 'all');
      assert.deepEqual((await patch({ json: all })).json, { ...expected, ...all });
      assert.deepEqual((await service.request('GET', path)).json.items, [{ ...expected, ...all }]);
    });

    await t.test(`patch: ${name}: one that names nothing changes nothing`, async () => {
      const before = await service.request('GET', target);
      const listTag = (await service.request('GET', path)).headers.etag;
      const tag = String(before.headers.etag);
      const status = async (where: string, headers = {}) =>
        (await service.request('PATCH', where, { json: {}, headers })).status;
      for (const json of [{}, { id: 5 }, { etag: null, created_at: 1 }]) {
        const { status, headers, bytes } = await patch({ json });
        assert.deepEqual([status, headers.etag, bytes], [200, tag, before.bytes]);
      }
      assert.equal(await status(target, { 'if-match': tag }), 200);
      assert.equal(await status(target, { 'if-none-match': '"a"' }), 200);
      for (const condition of [
        { 'if-match': '"a"' },
        { 'if-match': `W/${tag}` },
        { 'if-none-match': tag },
        { 'if-none-match': `W/${tag}` },
        { 'if-none-match': '*' },
      ])
        assert.equal(await status(target, condition), 412);
      assert.equal(await status(`${path}/9999`), 404);
      assert.equal(await status(`${path}/9999`, { 'if-match': '"a"' }), 404);
      assert.equal((await service.request('GET', path)).headers.etag, listTag);
    });

    await t.test(`patch: ${name}: null, wrong types and violated bounds are 422`, async () => {
      const before = await service.request('GET', target);
      for (const field of fields) {
        for (const [value, code] of [
          [null, 'type'],
          [1, 'type'],
          [['a'], 'type'],
          ['', 'minLength'],
          ['\ud800', 'format'],
          ['x'.repeat(maxLengthOf(collection, field) + 1), 'maxLength'],
        ] as const) {
          const { status, json } = await patch({ json: { ...record, [field]: value } });
          const [error, ...others] = json.errors;
          assert.deepEqual([status, others], [422, []], `${field}: ${code}`);
          assert.deepEqual([error.pointer, error.code], [`#/${field}`, code]);
        }
      }
      for (const body of ['null', '[]', '"title"', '[{"op":"remove"}]']) {
        const { status, json } = await patch({ body });
        assert.deepEqual([status, json.detail], [422, 'The body must be an object.'], body);
      }
      for (const body of ['', '{', '\ufeff{}']) assert.equal((await patch({ body })).status, 400);
      const after = await service.request('GET', target);
      assert.deepEqual([after.headers.etag, after.bytes], [before.headers.etag, before.bytes]);
    });

    await t.test(`patch: ${name}: the media types of merge patches and JSON, or none`, async () => {
      const body = JSON.stringify(inputOf(collection, 'typed'));
      for (const type of ['application/merge-patch+json', 'application/json;charset="UTF-8"'])
        assert.equal((await patch({ body, headers: { 'content-type': type } })).status, 200, type);
      assert.equal((await patch({ body })).status, 200);
      for (const headers of [
        { 'content-type': 'application/json-patch+json' },
        { 'content-type': 'application/x-ndjson' },
        { 'content-encoding': 'gzip' },
      ]) {
        const answer = await patch({ body, headers });
        assert.deepEqual([answer.status, answer.headers['accept-patch']], [415, ACCEPT_PATCH]);
      }
    });

    await t.test(`patch: ${name}: OPTIONS of a record names the media types`, async () => {
      const { status, headers } = await service.request('OPTIONS', target);
      assert.deepEqual([status, headers['accept-patch']], [204, ACCEPT_PATCH]);
      assert.equal(headers.allow, 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS');
      const list = await service.request('OPTIONS', path);
      assert.equal(list.headers['accept-patch'], undefined);
      const refused = await service.request('PATCH', path, { json: {} });
      assert.deepEqual([refused.status, refused.headers['accept-patch']], [405, undefined]);
    });

    await t.test(`patch: ${name}: what is missing is 404 and names it`, async () => {
      const json = inputOf(collection, 'x');
      const missing = await service.request('PATCH', `${path}/9999`, { json });
      assert.equal(missing.status, 404);
      assert.equal(missing.json.detail, `${label} with ID 9999 was not found.`);
      if (!owner) return;
      for (const body of [json, {}]) {
        for (const [ownerId, detail] of [
          [999, `${owner.label} with ID 999 was not found.`],
          [1, `${label} with ID ${record.id} was not found.`],
        ] as const) {
          const elsewhere = target.replace('/3/', `/${ownerId}/`);
          const answer = await service.request('PATCH', elsewhere, { json: body });
          assert.deepEqual([answer.status, answer.json.detail], [404, detail]);
        }
      }
    });

    await t.test(`patch: ${name}: concurrent patches of other members all count`, async () => {
      const texts = Array.from({ length: 12 }, (_, index) => `text ${index}`);
      const answers = await Promise.all(
        texts.flatMap((text) =>
          fields.map((field) => request(service.url, 'PATCH', target, { json: { [field]: text } })),
        ),
      );
      assert.ok(answers.every(({ status }) => status === 200));
      assert.equal(new Set(answers.map(({ headers }) => headers.etag)).size, answers.length);
      const stored = await read();
      for (const field of fields) assert.ok(texts.includes(stored[field]), stored[field]);
    });
  });
}
