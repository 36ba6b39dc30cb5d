// The header `link` of lists, and walks along it while others write.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linkTo } from '../../support/page-checks.ts';
import { type Service, startService } from '../../support/service.ts';
import { lines } from '../../support/tagged-notes.ts';

async function createNotes(service: Service, count: number): Promise<void> {
  const noteOf = (number: number) => ({ title: `note ${number}`, body: 'té' });
  const notes = Array.from({ length: count }, (_, index) => noteOf(index + 1));
  assert.equal((await service.request('POST', '/notes', lines(...notes))).status, 201);
}

test('links: begin with the base URL, and keep all other parameters', async (t) => {
  const base = 'https://example.org/api/v1';
  const service = await startService(t, { baseUrl: base });
  await createNotes(service, 5);
  await service.request('POST', '/tags', { json: { name: 'a' } });
  for (const id of [1, 2, 3, 4]) await service.request('PUT', `/notes/${id}/tags/1`);
  const linkOf = async (path: string) => (await service.request('GET', path)).headers.link;

  const first = `<${base}/notes>; rel="first"`;
  assert.equal(await linkOf('/notes'), first);
  assert.equal(
    await linkOf('/notes?offset=1&limit=2'),
    `<${base}/notes?limit=2&offset=3>; rel="next", <${base}/notes?limit=2&offset=0>; rel="prev",` +
      ` <${base}/notes?limit=2>; rel="first"`,
  );
  const kept =
    'limit=1&tag_id=1&q=%22%3E%2C+t%C3%A9%22&tag_id=1&order=updated&include=times%2Ctag_ids';
  assert.equal(
    await linkOf(
      '/tags/01/notes?limit=1&tag_id=1&after=1&q=%22>,%20t%C3%A9%22&tag_id=1&order=updated' +
        '&include=times,tag_ids',
    ),
    `<${base}/tags/1/notes?${kept}&after=2>; rel="next",` +
      ` <${base}/tags/1/notes?${kept}&before=2>; rel="prev",` +
      ` <${base}/tags/1/notes?${kept}>; rel="first"`,
  );
  for (const path of ['/notes/1', '/notes/1?include=times', '/openapi.json'])
    assert.equal(await linkOf(path), undefined, path);
  const head = await service.request('HEAD', '/notes?order=-id&limit=2');
  assert.equal(
    head.headers.link,
    `<${base}/notes?order=-id&limit=2&after=4>; rel="next",` +
      ` <${base}/notes?order=-id&limit=2>; rel="first"`,
  );
});

test('links: are left out where the header would be too long for clients', async (t) => {
  const service = await startService(t);
  const words = '𝼀'.repeat(500);
  for (let count = 0; count < 3; count += 1)
    await service.request('POST', '/notes', { json: { title: 'a', body: words } });
  const relationsOf = async (path: string) => {
    const link = String((await service.request('GET', path)).headers.link);
    return Array.from(link.matchAll(/; rel="(\w+)"/g), ([, relation]) => relation);
  };
  assert.deepEqual(await relationsOf(`/notes?limit=1&offset=1&q=${encodeURIComponent(words)}`), [
    'next',
  ]);
  const limit = (length: number) => `limit=${'0'.repeat(length)}1`;
  assert.deepEqual(await relationsOf(`/notes?offset=1&${limit(9_000)}`), ['next']);
  assert.deepEqual(await relationsOf(`/notes?offset=2&${limit(3_900)}`), ['prev', 'first']);
  assert.deepEqual(await relationsOf(`/notes?offset=1&${limit(2_600)}`), ['next', 'prev', 'first']);
});

test('links: walks skip and repeat nothing that stays while others write', async (t) => {
  const service = await startService(t);
  await createNotes(service, 60);
  await service.request('POST', '/tags', { json: { name: 'a' } });
  for (let id = 1; id <= 60; id += 1) await service.request('PUT', `/notes/${id}/tags/1`);
  let removed = 0;
  for (const list of ['/notes?', '/notes?tag_id=1&']) {
    for (const order of ['id', '-id', 'updated', '-updated']) {
      const seen: number[] = [];
      const position = order === 'id' ? '&after=0' : '';
      let path: string | undefined = `${list}order=${order}&limit=7${position}`;
      while (path !== undefined) {
        const { json, headers } = await service.request('GET', path);
        const ids: number[] = json.items.map(({ id }: { id: number }) => id);
        seen.push(...ids);
        // The last one of the page, whose key is in the link, and one that may not have been seen.
        removed += 1;
        for (const id of [ids.at(-1) ?? 0, removed * 2])
          await service.request('DELETE', `/notes/${id}`);
        if (seen.length < 60) await createNotes(service, 1);
        path = linkTo('next', headers.link, service.url);
      }
      assert.equal(new Set(seen).size, seen.length, `${list}order=${order}`);
      const left = await service.request('GET', `${list}limit=100`);
      const stayed: number[] = left.json.items.map(({ id }: { id: number }) => id);
      const missed = stayed.filter((id) => !seen.includes(id));
      // Notes that were created behind the position of the walk.
      assert.ok(
        missed.every((id) => id > 60),
        `${list}order=${order}: ${missed}`,
      );
    }
  }
});
