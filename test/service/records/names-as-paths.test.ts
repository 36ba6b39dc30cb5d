// Names of notes are paths: however a client sends one, it is the same, or refused.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DEPLOYMENTS } from '../../support/deployments.ts';
import { BEAUTIFUL, FORMS, HOSTILE } from '../../support/names-of-notes.ts';
import { startService } from '../../support/service.ts';

const NOTE = { title: 'a', body: 'b' };
const encoded = encodeURIComponent;

for (const [deployment, start] of Object.entries(DEPLOYMENTS))
  describe(deployment, () => {
    test('names as paths: a name means the same in every form, with every method', async (t) => {
      const { request } = await start(t);
      for (const [index, name] of BEAUTIFUL.entries()) {
        const made = await request('PUT', `/named/${encoded(name)}`, { json: NOTE });
        assert.deepEqual([made.status, made.json.id], [201, index + 1], name);
      }
      const { json } = await request('GET', '/notes?include=name&limit=100');
      assert.deepEqual(
        json.items.map((each: { name: string }) => each.name),
        BEAUTIFUL,
      );
      for (const [form, write] of Object.entries(FORMS))
        for (const [index, name] of BEAUTIFUL.entries()) {
          const path = `/named/${write(name)}`;
          const label = `${form}: ${name}`;
          const read = await request('GET', `${path}?include=name`);
          assert.deepEqual([read.json.id, read.json.name], [index + 1, name], label);
          assert.equal(read.headers['content-location'], `/notes/${index + 1}`, label);
          const patched = await request('PATCH', path, { json: { body: `${form}\n` } });
          assert.equal(patched.json.id, index + 1, label);
          const appended = await request('POST', `${path}/append`, { json: { text: 'end' } });
          assert.deepEqual([appended.status, appended.json.body], [200, `${form}\nend`], label);
          if (form !== 'raw slashes') continue;
          const edit = { old_text: 'end', new_text: form };
          assert.equal((await request('POST', `${path}/edit`, { json: edit })).status, 200, label);
          assert.equal((await request('PUT', path, { json: NOTE })).status, 200, label);
          assert.equal((await request('HEAD', path)).status, 200, label);
        }
      for (const name of BEAUTIFUL)
        assert.equal((await request('DELETE', `/named/${encoded(name)}`)).status, 204, name);
      for (const [index, name] of BEAUTIFUL.entries()) {
        assert.equal((await request('POST', `/trash/${index + 1}/restore`)).status, 200);
        assert.equal((await request('GET', `/named/${encoded(name)}`)).json.id, index + 1, name);
      }
    });

    test('names as paths: in a body, a name is the same in NFD, and refused alike', async (t) => {
      const { request } = await start(t);
      const bodies = BEAUTIFUL.map((name) => ({ ...NOTE, name: name.normalize('NFD') }));
      const body = bodies.map((each) => JSON.stringify(each)).join('\n');
      const lines = { body, headers: { 'content-type': 'application/x-ndjson' } };
      assert.equal((await request('POST', '/notes', lines)).status, 201);
      const [nfd] = bodies;
      assert.ok(nfd);
      const again = await request('POST', '/notes', { json: nfd });
      assert.deepEqual([again.status, again.json.errors[0].code], [422, 'taken']);
      const names = async () => {
        const { json } = await request('GET', '/notes?include=name&limit=100');
        return json.items.map(({ name }: { name: string }) => name);
      };
      assert.deepEqual(await names(), BEAUTIFUL);
      for (const [index, name] of BEAUTIFUL.entries()) {
        const path = `/notes/${index + 1}`;
        assert.equal((await request('PATCH', path, { json: { name: null } })).status, 200, name);
        const renamed = await request('PATCH', path, { json: { name: name.normalize('NFD') } });
        assert.equal(renamed.status, 200, name);
      }
      assert.deepEqual(await names(), BEAUTIFUL);
      for (const [name, [code]] of Object.entries(HOSTILE)) {
        const refused = await request('PATCH', '/notes/1', { json: { name } });
        assert.deepEqual([refused.status, refused.json.errors?.[0].code], [422, code], name);
      }
    });

    test('names as paths: no other text is one, in any form', async (t) => {
      const { request } = await start(t);
      for (const [name, [code, detail]] of Object.entries(HOSTILE))
        for (const [form, write] of Object.entries(FORMS))
          for (const [method, suffix, json] of [
            ['PUT', '', NOTE],
            ['GET', '', undefined],
            ['PATCH', '', { body: 'c' }],
            ['DELETE', '', undefined],
            ['POST', '/append', { text: 'c' }],
            ['POST', '%2Fedit', { old_text: 'b', new_text: 'c' }],
          ] as const) {
            if (form !== 'raw slashes' && method !== 'PUT') continue;
            const label = `${method} ${form}: ${JSON.stringify(name)}`;
            const path = `/named/${write(name)}${suffix}`;
            const answer = await request(method, path, json && { json });
            assert.equal(answer.status, 422, label);
            const [{ field, in: place, code: found, detail: said }] = answer.json.errors;
            assert.deepEqual([field, place, found], ['name', 'path', code], label);
            assert.match(said, detail, label);
          }
      assert.equal((await request('GET', '/notes')).json.total, 0);
    });
  });

test('names as paths: only POST takes `append` or `edit` off the end', async (t) => {
  const { request } = await startService(t);
  const append = async (path: string) =>
    (await request('POST', path, { json: { text: 'x' } })).json.title;
  for (const slash of ['/', '%2F', '%2f']) {
    assert.equal(await append(`/named/a${slash}append${slash}append`), 'a/append');
    assert.equal(await append(`/named/a${slash}append`), 'a');
    assert.equal((await request('GET', `/named/a${slash}append`)).json.title, 'a/append');
    assert.equal((await request('GET', `/named/a${slash}edit`)).status, 404);
    assert.equal((await request('DELETE', `/named/a${slash}append`)).status, 204);
    assert.equal((await request('DELETE', '/named/a')).status, 204);
  }
  const methods = 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS';
  const withPost = 'GET, HEAD, PUT, PATCH, DELETE, POST, OPTIONS';
  for (const [path, allow] of [
    ['/named/a', methods],
    ['/named/a/b', methods],
    ['/named/append', methods],
    ['/named/append/', methods],
    ['/named/a/append', withPost],
    ['/named/a%2Fedit', withPost],
    ['/named/append/append/b/edit', withPost],
  ] as const) {
    assert.equal((await request('OPTIONS', path)).headers.allow, allow, path);
    const { status, headers } = await request('TRACE', path);
    assert.deepEqual([status, headers.allow], [405, allow], path);
    if (allow === methods) assert.equal((await request('POST', path)).status, 405, path);
  }
  for (const path of ['/named', '/named?x', '/Named/a', '/named%2Fa'])
    assert.equal((await request('GET', path)).status, 404, path);
});

test('names as paths: an append titles its note by the name, as far as a title can', async (t) => {
  const { request } = await startService(t);
  for (const [name, title] of [
    ['Projekte/Küche.md', 'Projekte/Küche.md'],
    ['😀'.repeat(512), '😀'.repeat(500)],
    ['\u3000', '-'],
  ] as const) {
    const path = `/named/${encoded(name)}/append`;
    const { status, json } = await request('POST', path, { json: { text: 'x' } });
    assert.deepEqual([status, json.title], [201, title]);
  }
});
