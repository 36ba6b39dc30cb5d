// Searches over HTTP, on every kind of database and with several processes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../../support/contract.ts';
import { DEPLOYMENTS, type Target } from '../../support/deployments.ts';
import { expected } from '../../support/records.ts';
import { setIndexTimes } from '../../support/search-index.ts';
import { startService } from '../../support/service.ts';

const NOTES = [
  ['Crème brûlée', 'Milk, eggs and sugar. ＡＢＣ ﾃｽﾄ'],
  ['東京都の予定', 'スカイツリーに登る。大雨'],
  ['Milk', 'Buy bread. The milk is for the dessert.'],
  ['か', 'words in a row; gen-itgc と 한국어를 배운다'],
];

/** Each text, and the queries that find it and that do not. */
const CASES: readonly (readonly [text: string, found: string[], missed: string[]])[] = [
  [
    '東京都は大雨です',
    ['東京', '京', '雨', '大雨です', '東京 雨', '"京都は"'],
    ['京東', '雪', '"東京 雨"'],
  ],
  ['スカイツリー', ['スカイ', 'ｽｶｲ', 'リー', 'ー'], ['スリ', 'すかい']],
  [
    '東京都 hello world',
    ['"東京都 hello"', '"都 hello"', '"hello wor"*'],
    ['"東京 hello"', '"hello wor"'],
  ],
  [
    '重跑gen-itgc后',
    ['重跑gen', '跑gen', 'gen-itgc', 'itgc后', 'itgc', 'GEN*'],
    ['重gen', 'gen后', 'en'],
  ],
  ['a 大雨 b', ['雨', 'a 雨', '"雨 b"', '"a 大"'], ['"a 雨"', '"大 b"']],
  ['ＡＢＣ ﾃｽﾄ', ['abc', 'テスト', 'ab*'], ['ab', 'デスト']],
  ['crème brûlée', ['creme', 'CRÈME', '"creme brulee"', 'br*'], ['crem', '"brulee creme"']],
  ['Milk and sugar, ^words in a row', ['milk', 'MILK sugar', '"words in a row"', 'wor*'], ['wor']],
  ['か', ['か'], ['が']],
  ['tiếng Việt', ['tieng', 'TIẾNG viet'], ['ting']],
  ['รถไฟฟ้า', ['ไฟ', 'ร', 'ฟ้า', '้'], ['ฟา']],
  [
    '안녕하세요 여러분',
    ['안녕', '하', '세요 분', '요'.normalize('NFD')],
    ['녕안', '"안녕 여러분"'],
  ],
  ['العَرَبِيَّة', ['العربية'], ['عرب']],
  ['👨‍👩‍👧 👍🏽', ['👨‍👩‍👧', '👩', '👍', '👍🏻', '"👧👍"'], ['👦', '👧👨']],
  [
    'milk and cookies',
    [
      'milk -zz',
      '"milk',
      'milk"*" + \'',
      '^milk (cookies) {',
      'milk -"and milk"',
      'coo*  and',
      'AND',
    ],
    ['milk zz', 'milk -coo*', 'milk OR cookies', 'title:milk', '"and milk"'],
  ],
  [
    'near a or b',
    ['NEAR(a', '"near"', 'a* OR', '^b', 'a:', '{a} + b', '"a', 'b"', '(a)*'],
    ['NOT', 'near(b'],
  ],
  ['کتاب‌های فارسی ۲۰:۳۰', ['كتابهاي', 'کتابہای فارسى', '20:30'], ['20:31']],
  ['שלום, п’ять', ['שלומ*', 'пʼять'], ['שלו']],
  ['スカイツリーと 한국어를 🍰', ['スカイ', '국어', '🍰'], ['国', '飴']],
  ['3月12日', ['3月', '月12', '12日', '日'], ['2日', '"3 12"']],
];

async function fill(service: Target): Promise<void> {
  for (const [title, body] of NOTES)
    await service.request('POST', '/notes', { json: { title, body } });
}

async function search(service: Target, query: string, more = '&order=id') {
  return service.request('GET', `/notes?q=${encodeURIComponent(query)}${more}`);
}

const idsOf = ({ items }: { items: { id: number }[] }) => items.map(({ id }) => id);

async function idsFor(service: Target, query: string): Promise<number[]> {
  const { status, json } = await search(service, query);
  assert.equal(status, 200, query);
  const ids = idsOf(json);
  assert.equal(json.total, ids.length, query);
  return ids;
}

for (const [deployment, start] of Object.entries(DEPLOYMENTS)) {
  test(`search: finds what the words say (${deployment})`, async (t) => {
    const service = await start(t);
    for (const [body] of CASES)
      await service.request('POST', '/notes', { json: { title: '-', body } });
    for (const [index, [text, found, missed]] of CASES.entries())
      for (const query of [...found, ...missed]) {
        const ids = await idsFor(service, query);
        assert.equal(ids.includes(index + 1), found.includes(query), `${query} in ${text}`);
      }
  });

  test(`search: leads to and finds beginnings of words (${deployment})`, async (t) => {
    const service = await start(t);
    await fill(service);
    for (const [query, ids] of [
      ['mil', [1, 3]],
      ['SUG mil', [1]],
      ['"in a ro"', [4]],
      ['mil -brea', [1]],
      ['京', [2]],
      ['zz', []],
    ] as const) {
      const { json, headers } = await search(service, query, '&match=prefix&order=id');
      assert.deepEqual(idsOf(json), ids, query);
      assert.doesNotMatch(String(headers.link), /alternate/, query);
    }
    const empty = await search(service, 'mil bre', '&include=snippet&offset=5');
    const first = `${service.url}/notes?q=mil+bre&include=snippet`;
    const alternate = `${first}&match=prefix`;
    assert.equal(empty.headers.link, `<${first}>; rel="first", <${alternate}>; rel="alternate"`);
    const { json } = await service.request('GET', alternate.slice(service.url.length));
    const ranges = [
      [4, 9],
      [15, 19],
    ];
    assert.deepEqual([idsOf(json), json.items[0].snippet.ranges], [[3], ranges]);
    // The same search could not be asked for, or found something.
    for (const query of ['zz '.repeat(9), 'milk'])
      assert.doesNotMatch(String((await search(service, query)).headers.link), /alternate/, query);
  });

  test(`search: finds at once what was written before it (${deployment})`, async (t) => {
    const service = await start(t);
    await fill(service);
    await service.request('PUT', '/notes/3', { json: { title: 'Oats', body: 'None' } });
    assert.deepEqual(await idsFor(service, 'milk'), [1]);
    await service.request('PATCH', '/notes/2', { json: { body: 'milk' } });
    await service.request('DELETE', '/notes/1');
    assert.deepEqual(await idsFor(service, 'milk'), [2]);
    assert.deepEqual(await idsFor(service, 'oats'), [3]);
    assert.deepEqual(await idsFor(service, 'スカイ'), []);
  });

  test(`search: combines with filters, orders, keys and members (${deployment})`, async (t) => {
    const service = await start(t);
    await fill(service);
    await service.request('POST', '/tags', { json: { name: 'a' } });
    await service.request('PUT', '/notes/3/tags/1');
    const found = async (more: string) => {
      const { json, headers } = await search(service, 'milk', more);
      return { ...json, items: idsOf(json), link: headers.link };
    };
    assert.deepEqual((await found('')).items, [3, 1], 'a match in the title weighs more');
    assert.deepEqual((await found('&order=-id&limit=1')).items, [3]);
    assert.deepEqual((await found('&order=updated&after=1')).items, [3]);
    assert.deepEqual((await found('&tag_id=1')).items, [3]);
    assert.deepEqual((await found('&untagged=true')).items, [1]);
    const second = await found('&limit=1&offset=1');
    assert.deepEqual([second.items, second.total, second.offset], [[1], 2, 1]);
    const url = `${service.url}/notes?q=milk&limit=1`;
    assert.equal(second.link, `<${url}&offset=0>; rel="prev", <${url}>; rel="first"`);
    const [first, byRank] = [await found('&limit=1&order=rank'), `${url}&order=rank`];
    assert.equal(first.link, `<${byRank}&offset=1>; rel="next", <${byRank}>; rel="first"`);
    const { json } = await service.request('GET', '/tags/1/notes?q=milk&include=tag_ids,snippet');
    const [title, body] = NOTES[2] ?? [];
    const snippet = { text: body, ranges: [[15, 19]] };
    assert.deepEqual(json.items, [expected({ id: 3, title, body, tag_ids: [1], snippet })]);
  });
}

test('search: behind by a great many writes, the answer says that it is catching up', async (t) => {
  setIndexTimes(t, { delayMs: 60_000, maxWaitMs: -1 });
  const service = await startService(t);
  await fill(service);
  const refused = await search(service, 'milk');
  assert.equal(refused.status, 503);
  assert.equal(refused.json.detail, 'The search index is catching up.');
  assert.match(String(refused.headers['retry-after']), /^[1-9]\d*$/);
  setIndexTimes(t, { maxWaitMs: 60_000 });
  assert.deepEqual(await idsFor(service, 'milk'), [1, 3]);
});

test('search: the time until the index has caught up depends on the texts', async (t) => {
  setIndexTimes(t, { delayMs: 60_000, maxWaitMs: -1 });
  const [small, service] = [await startService(t), await startService(t)];
  await small.request('POST', '/notes', { json: { title: 'a', body: 'b' } });
  assert.equal(await waitOf(small), 1);
  const headers = { 'content-type': 'application/x-ndjson' };
  const line = JSON.stringify({ title: 'a', body: '東'.repeat(100_000) });
  for (let count = 0; count < 12; count += 1)
    await service.request('POST', '/notes', { body: `${line}\n${line}`, headers });
  // Nothing has been indexed, so the estimate does not depend on the machine.
  assert.equal(await waitOf(service), 2);
});

async function waitOf(service: Target): Promise<number> {
  return Number((await search(service, 'b')).headers['retry-after']);
}

test('search: a snippet is as long as the contract permits', async (t) => {
  const service = await startService(t);
  await service.request('POST', '/notes', { json: { title: 'a', body: 'x'.repeat(1_000) } });
  const { json } = await search(service, 'x*', '&include=snippet');
  const { maxLength } = at('/components/schemas/Snippet/properties/text') as { maxLength: number };
  assert.equal(json.items[0].snippet.text.length, maxLength);
});
