// What the parameters of lists refuse: values beyond their bounds, meaningless combinations.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startService } from '../../support/service.ts';

const service = await startService({ after });
for (const id of [1, 2, 3]) {
  const json = { title: `note ${id}`, body: 'b' };
  await service.request('POST', '/notes', { json });
  await service.request('POST', '/tags', { json: { name: `tag ${id}` } });
}
await service.request('PUT', '/notes/1/tags/1');

const NOTE_LISTS = ['/notes', '/tags/1/notes'];
const TAG_LISTS = ['/tags', '/notes/1/tags'];
const LISTS = [...NOTE_LISTS, ...TAG_LISTS, '/notes/1/comments'];

type Refused = readonly [query: string, field: string, code: string, detail: string];

const ONCE = ['maxItems', 'must be given only once'] as const;
const INTEGER = ['type', 'must be an integer'] as const;
const ONE_POSITION = (other: string) => ['oneOf', `must not be combined with ${other}`] as const;
const BY_RANK = 'must not be combined with the order rank, which q implies';

const search = (text: string) => `q=${encodeURIComponent(text)}`;
const TERMS = 'must contain at most 100 words in phrases and pairs of characters; shorten it';
const PREFIXES = 'must contain at most 8 words that end with "*" or a single character';

const FOLDER =
  'must be a path without control characters and backslashes, of which no segment is empty, . or ' +
  '..; a slash may follow';

const KEYS: readonly Refused[] = ['after', 'before'].flatMap((key): Refused[] => [
  [`${key}=-1`, key, 'minimum', 'must be at least 0'],
  [`${key}=9007199254740991`, key, 'maximum', 'must be at most 9007199254740990'],
  [`${key}=1e400`, key, ...INTEGER],
  ...['', '=', '=1.0', '=+1', '=-0', '=1%20', '=x', '=%D9%A1', '=1,2'].map(
    (text): Refused => [`${key}${text}`, key, ...INTEGER],
  ),
  [`${key}=1&${key}=1`, key, ...ONCE],
]);

const ON_ALL_LISTS: readonly Refused[] = [
  ...KEYS,
  ['after=1&before=5', 'before', ...ONE_POSITION('after')],
  ['before=5&after=1', 'before', ...ONE_POSITION('after')],
  ['offset=1&after=1', 'after', ...ONE_POSITION('offset')],
  ['%6Fffset=1&before=1', 'before', ...ONE_POSITION('offset')],
  ['offset=0&after=1&before=5', 'before', ...ONE_POSITION('after')],
  ['order=id&order=id', 'order', ...ONCE],
];

const ON_NOTES: readonly Refused[] = [
  [
    `tag_id=${[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].join('&tag_id=')}`,
    'tag_id',
    'maxItems',
    'must have at most 10 items',
  ],
  [`${'tag_id=1&'.repeat(11)}`, 'tag_id', 'maxItems', 'must have at most 10 items'],
  ['tag_id=0', 'tag_id', 'minimum', 'must be at least 1'],
  ['tag_id=1&tag_id=-3', 'tag_id', 'minimum', 'must be at least 1'],
  [`tag_id=${'1,'.repeat(10)}1`, 'tag_id', 'maxItems', 'must have at most 10 items'],
  ...['', '=', '=1,', '=,1', '=1.0', '=x'].map(
    (text): Refused => [`tag_id${text}`, 'tag_id', ...INTEGER],
  ),
  ['tag=a&tag=%20', 'tag', 'pattern', 'must not be blank'],
  [`tag=${'a'.repeat(201)}`, 'tag', 'maxLength', 'must have at most 200 characters'],
  ['tag=a&'.repeat(11), 'tag', 'maxItems', 'must have at most 10 items'],
  [
    `${'tag=a&'.repeat(4)}tag_id=1,2,3,4,5,6,7`,
    'tag',
    'maxItems',
    'must have at most 10 items together with tag_id',
  ],
  [`tag_id=${'9'.repeat(400)}`, 'tag_id', ...INTEGER],
  ['not_tag_id=0', 'not_tag_id', 'minimum', 'must be at least 1'],
  ['not_tag=a&not_tag=%20', 'not_tag', 'pattern', 'must not be blank'],
  ['not_tag=a&'.repeat(11), 'not_tag', 'maxItems', 'must have at most 10 items'],
  [
    `${'not_tag=a&'.repeat(4)}not_tag_id=1,2,3,4,5,6,7&tag_id=1,2,3,4,5,6,7`,
    'not_tag',
    'maxItems',
    'must have at most 10 items together with not_tag_id',
  ],
  ['untagged=true&untagged=true', 'untagged', ...ONCE],
  ['order=rank', 'order', 'dependentRequired', 'must not be rank without q'],
  ['match=prefix', 'match', 'dependentRequired', 'must not be prefix without q'],
  ['match=x&q=a', 'match', 'enum', 'must be "prefix"'],
  [
    `match=prefix&q=${'a+'.repeat(9)}`,
    'q',
    'words',
    'must contain at most 8 words with match=prefix',
  ],
  ['q=a&after=1', 'after', 'oneOf', BY_RANK],
  ['q=a&before=1&order=rank', 'before', 'oneOf', BY_RANK],
  ['q=a&offset=0&after=1', 'after', 'oneOf', BY_RANK],
  ...['after', 'before'].flatMap((key): Refused[] => [
    [`order=name&${key}=1`, key, 'oneOf', 'must not be combined with the order name'],
    [`${key}_name=a`, `${key}_name`, 'oneOf', 'must not be combined with the order id'],
    [`q=a&${key}_name=a`, `${key}_name`, 'oneOf', BY_RANK],
    [`order=-name&offset=1&${key}_name=a`, `${key}_name`, ...ONE_POSITION('offset')],
    [`order=name&${key}_name=`, `${key}_name`, 'minLength', 'must not be empty'],
  ]),
  ['order=name&after_name=a&before_name=b', 'before_name', ...ONE_POSITION('after_name')],
  ['folder=', 'folder', 'minLength', 'must not be empty'],
  [`folder=${'a'.repeat(513)}`, 'folder', 'maxLength', 'must have at most 512 characters'],
  ['folder=a&folder=b', 'folder', ...ONCE],
  ...['a//', '/', '//', '/a', 'a//b', '.', '..', '../', 'a/../b', 'a%5Cb', 'a%00'].map(
    (text): Refused => [`folder=${text}`, 'folder', 'pattern', FOLDER],
  ),
  ['q=a&q=a', 'q', ...ONCE],
  ['q=', 'q', 'minLength', 'must not be empty'],
  [`q=${'a'.repeat(501)}`, 'q', 'maxLength', 'must have at most 500 characters'],
  [`q=${'w+'.repeat(33)}`, 'q', 'words', 'must contain at most 32 words'],
  ['q=%20', 'q', 'words', 'must contain at least one word'],
  ['q=%22%27%2A', 'q', 'words', 'must contain at least one word'],
  [search(' \u3000\u0085'), 'q', 'words', 'must contain at least one word'],
  [search('"" - * "!" -"."'), 'q', 'words', 'must contain at least one word'],
  [search('-a -"b c"'), 'q', 'words', 'must contain at least one word without "-"'],
  [search(`a ${'-b '.repeat(32)}`), 'q', 'words', 'must contain at most 32 words'],
  [search('あ'.repeat(102)), 'q', 'words', TERMS],
  [search(`"${'a '.repeat(99)}" -ああ い`), 'q', 'words', TERMS],
  [search('a* "b c"* -d* -東 2024年 5月 3日 10時 1分'), 'q', 'words', PREFIXES],
];

test('list parameters: beyond the bounds is 422', async () => {
  const refusals = [
    ...LISTS.map((path) => [path, ON_ALL_LISTS] as const),
    ...NOTE_LISTS.map((path) => [path, ON_NOTES] as const),
    ...TAG_LISTS.map((path) => [path, [['name=a&name=b', 'name', ...ONCE]]] as const),
  ] as readonly (readonly [string, readonly Refused[]])[];
  for (const [path, refused] of refusals) {
    for (const [query, field, code, detail] of refused) {
      const { status, json } = await service.request('GET', `${path}?${query}`);
      assert.equal(status, 422, `${path}?${query}`);
      assert.deepEqual(json.errors, [{ field, in: 'query', code, detail }], `${path}?${query}`);
    }
  }
});

test('list parameters: values that are not among the known ones are 422', async () => {
  const unknown = (path: string) => [
    ...['order=', 'order', 'order=ID', 'order=+id', 'order=--id', 'order=number', 'order=%00'],
    ...['order=id,updated', 'include=Times', 'include=times&include=x', 'include=x'],
    ...['include=times%20', 'include=times,', `include=${'times,'.repeat(50)}times`],
    ...(NOTE_LISTS.includes(path)
      ? ['untagged=False', 'untagged=', 'untagged=1', 'include=notes_count']
      : ['order=rank', 'include=snippet', 'include=tag_ids']),
  ];
  for (const path of LISTS) {
    for (const query of unknown(path)) {
      const { status, json } = await service.request('GET', `${path}?${query}`);
      assert.equal(status, 422, `${path}?${query}`);
      const [name] = query.split('=');
      for (const { field } of json.errors) assert.equal(field, name, query);
    }
  }
  for (const path of ['/notes/1', '/tags/1', '/notes/1/comments/1']) {
    for (const query of ['include=x', 'include=snippet', 'include=times&include=x'])
      assert.equal((await service.request('GET', `${path}?${query}`)).status, 422, path + query);
  }
});

test('list parameters: generated clients send the default offset beside a key', async () => {
  for (const path of LISTS)
    for (const key of ['after=1', 'before=3', 'after=0&order=-updated']) {
      const plain = await service.request('GET', `${path}?${key}`);
      const { status, text, headers } = await service.request('GET', `${path}?offset=0&${key}`);
      assert.deepEqual(
        [status, text, headers.link],
        [200, plain.text, plain.headers.link],
        path + key,
      );
    }
});

test('list parameters: up to ten tags, and names up to their bounds', async () => {
  const ten = 'tag_id=1&'.repeat(10);
  assert.equal((await service.request('GET', `/notes?${ten}`)).json.total, 1);
  assert.equal((await service.request('GET', `/tags/1/notes?${ten}`)).json.total, 1);
  assert.equal((await service.request('GET', `/tags/2/notes?${ten}`)).json.total, 0);
  for (const path of ['/notes', '/tags/2/notes'])
    assert.equal((await service.request('GET', `${path}?${ten}tag=a`)).status, 422, path);
  const mixed = `${'tag=a&'.repeat(5)}tag_id=1,1,1,1,1`;
  assert.equal((await service.request('GET', `/tags/2/notes?${mixed}`)).status, 200);
  for (const [name, status] of [
    ['', 422],
    ['%20', 422],
    [encodeURIComponent('😀'.repeat(200)), 200],
    [encodeURIComponent('😀'.repeat(201)), 422],
    ['%ff', 400],
  ] as const)
    for (const path of ['/tags?name=', '/notes?tag=', '/tags/1/notes?tag=a&tag='])
      assert.equal((await service.request('GET', `${path}${name}`)).status, status, name);
});

test('list parameters: repeated and with commas, lists mean the same', async () => {
  await service.request('PUT', '/notes/1/tags/2');
  await service.request('PUT', '/notes/2/tags/2');
  for (const [path, ...queries] of [
    ['/notes', 'tag_id=1,2', 'tag_id=1&tag_id=2', 'tag_id=1,2&tag_id=1'],
    ['/notes', 'include=times,tag_ids', 'include=times&include=tag_ids'],
    ['/notes', '', 'untagged=false', 'include=', 'include=&include='],
    ['/notes/1', 'include=times,tag_ids', 'include=tag_ids&include=times'],
    ['/notes', 'tag=no%2Ctag', 'tag=no,tag', 'tag=no+tag'],
    ['/tags', 'include=times,notes_count', 'include=times&include=notes_count'],
    ['/tags/1/notes', 'tag_id=2', 'tag_id=2&untagged=false'],
    ['/notes', 'not_tag_id=1,2', 'not_tag_id=1&not_tag_id=2', 'not_tag=tag+1&not_tag=tag+2'],
    ['/notes', '', 'not_tag=no,tag', 'not_tag_id=77&not_tag=no'],
    ['/notes', 'order=name', 'order=-name&named=true', 'folder=a', 'order=name&folder=a/'],
    ['/tags/1/notes', 'not_tag_id=2', 'not_tag=tag+2&not_tag_id=77'],
  ] as const) {
    const answers = queries.map((query) => service.request('GET', `${path}?${query}`));
    const texts = (await Promise.all(answers)).map(({ status, text }) => `${status} ${text}`);
    assert.ok(texts[0]?.startsWith('200') && new Set(texts).size === 1, path);
  }
});

test('list parameters: several faults are reported at once', async () => {
  const path = '/notes?limit=0&order=x&after=-1&tag_id=0&tag_id=x&include=a,b';
  const { json } = await service.request('GET', path);
  const fields = json.errors.map(({ field }: { field: string }) => field);
  assert.deepEqual(fields.sort(), ['after', 'include', 'limit', 'order', 'tag_id', 'tag_id']);
  const both = await service.request('GET', '/notes?order=rank&include=snippet&after=1&before=2');
  assert.deepEqual(
    both.json.errors.map(({ field }: { field: string }) => field),
    ['before', 'order'],
  );
});

test('list parameters: a missing record is 404, after faults in the query', async () => {
  for (const path of ['/tags/77/notes', '/notes/77/tags', '/notes/77/comments']) {
    assert.equal((await service.request('GET', `${path}?after=1&before=2`)).status, 422);
    assert.equal((await service.request('GET', `${path}?limit=0`)).status, 422);
    const query = 'order=-updated&after=1&include=times';
    const { status, json } = await service.request('GET', `${path}?${query}`);
    const label = path.startsWith('/tags') ? 'Tag' : 'Note';
    assert.deepEqual([status, json.detail], [404, `${label} with ID 77 was not found.`]);
  }
  const filtered = await service.request('GET', '/tags/77/notes?tag_id=1');
  assert.equal(filtered.json.detail, 'Tag with ID 77 was not found.');
  for (const path of ['/tags/x/notes', '/notes/1.0/tags'])
    assert.equal((await service.request('GET', path)).status, 422, path);
  for (const path of ['/tags/0/notes', '/notes/-1/tags', '/tags/99999999999999999999/notes'])
    assert.equal((await service.request('GET', path)).status, 404, path);
});
