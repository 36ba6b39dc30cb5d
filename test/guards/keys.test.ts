// Keys from texts and files, and whose key a request carries.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isReadByOthers } from '../../src/guards/key-file.ts';
import { type Key, type Keys, loadKeys } from '../../src/guards/keys.ts';
import { temporaryFolder } from '../support/engine.ts';

function fileWith(t: TestContext, text: string | Buffer): string {
  const file = join(temporaryFolder(t), 'keys');
  writeFileSync(file, text);
  return file;
}

async function load(apiKeys: readonly string[], apiKeysFile?: string): Promise<Keys> {
  return (await loadKeys({ apiKeys, apiKeysFile })) ?? assert.fail('there are no keys');
}

function keyIn(keys: Keys, key: string): Key {
  const found = keys.keyIn({ 'x-api-key': key });
  return typeof found === 'object' ? found : assert.fail(found);
}

/** The first digits of what `printf one | sha256sum` prints, and of two. */
const ONE = '7692c3ad';
const TWO = '3fc4ccfe';

const knows = (keys: Keys, key: string) =>
  typeof keys.keyIn({ authorization: `Bearer ${key}` }) === 'object';

test('keys: sent as a bearer token or as x-api-key', async () => {
  const keys = await load(['one', 'two']);
  for (const headers of [
    { authorization: 'Bearer one' },
    { authorization: 'bearer one' },
    { authorization: 'BEARER   one' },
    { 'x-api-key': 'one' },
    { authorization: 'Basic one', 'x-api-key': 'one' },
    { authorization: 'Bearer one', 'x-api-key': 'wrong' },
  ])
    assert.equal(typeof keys.keyIn(headers), 'object', JSON.stringify(headers));
});

const basic = (credentials: string | Buffer) =>
  `Basic ${Buffer.from(credentials).toString('base64')}`;

test('keys: sent as a password', async () => {
  const keys = await load(['one', 'a:b:']);
  for (const authorization of [
    ...[':one', 'user:one', 'user:a:b:', 'J\u00f6rg \n:one', `${'x'.repeat(10_000)}:one`].map(
      basic,
    ),
    basic(Buffer.from('\xff\xfe\0:one', 'latin1')),
    basic(':one').replace('Basic', 'bASIC  '),
  ])
    assert.equal(typeof keys.keyIn({ authorization }), 'object', authorization);
  for (const credentials of [':onee', 'one:two', ':one:', '::one', `:${'x'.repeat(10_000)}`])
    assert.equal(keys.keyIn({ authorization: basic(credentials) }), 'wrong', credentials);
  for (const bytes of [':\xff', ':one\0', ':\ufeffone'])
    assert.equal(keys.keyIn({ authorization: basic(Buffer.from(bytes, 'latin1')) }), 'wrong');
});

test('keys: a malformed password is none, and x-api-key counts instead of any', async () => {
  const keys = await load(['one', 'two']);
  const encoded = basic('user:one');
  for (const authorization of [
    ...['Basic', 'Basic ', 'Basic =', 'Basic :', 'Basic :one', 'Basic user:one', 'Basic \u00e9'],
    ...['', 'one', 'one:', ':', ':one two', ':one\n', ': one', 'user: '].map(basic),
    ...[`${encoded}=`, `${encoded}x`, `${encoded} x`, `${encoded},`, encoded.slice(0, -1)],
    ...[encoded.replace('Basic ', 'Basic'), encoded.replace('Basic', 'Bearer Basic')],
    ...[basic('us~r:one?').replace(/[+/]/g, '-'), 'Basic dXNlcjpvbmV='],
    ...[`Basic ${'x'.repeat(15_001)}`, `Basic ${'A'.repeat(15_000)}`],
  ]) {
    assert.equal(keys.keyIn({ authorization }), 'none', authorization.slice(0, 40));
    assert.equal(typeof keys.keyIn({ authorization, 'x-api-key': 'two' }), 'object');
  }
  const both = keys.keyIn({ authorization: basic(':one'), 'x-api-key': 'two' });
  assert.deepEqual(both, keyIn(keys, 'two'));
  assert.equal(keys.keyIn({ authorization: basic(':one'), 'x-api-key': 'no' }), 'wrong');
});

test('keys: each is one holder, whose name does not reveal it', async () => {
  const keys = await load(['one', 'two']);
  const one = keys.keyIn({ authorization: 'Bearer one' });
  assert.deepEqual(keys.keyIn({ 'x-api-key': 'one' }), one);
  assert.notDeepEqual(keys.keyIn({ 'x-api-key': 'two' }), one);
  const labels = ['one', 'two'].map((key) => keyIn(keys, key).label);
  assert.deepEqual(labels, [ONE, TWO]);
  assert.ok(!JSON.stringify(one).includes('one'));
});

test('keys: unknown ones are wrong, and other headers carry none', async () => {
  const keys = await load(['one', 'two']);
  const long = 'x'.repeat(10_000);
  for (const key of ['on', 'onee', 'One', 'one,two', 'one, one', long, '\u00e9', 'two one'])
    assert.equal(keys.keyIn({ 'x-api-key': key }), 'wrong', key.slice(0, 20));
  for (const authorization of ['Bearer onee', 'Bearer  two1'])
    assert.equal(keys.keyIn({ authorization }), 'wrong');
  const others = ['one', 'Basic one', 'Bearer', 'Bearer ', 'Bearerone', 'Bearer one two'];
  for (const authorization of others)
    assert.equal(keys.keyIn({ authorization }), 'none', authorization);
  for (const headers of [{}, { 'x-api-key': '' }]) assert.equal(keys.keyIn(headers), 'none');
});

test('keys: a file has one per line, with comments and blank lines', async (t) => {
  const file = fileWith(t, '\ufeff# ours\r\nfirst\r\n\n  second\t\n#third\nlast');
  const keys = await load(['text'], file);
  for (const key of ['first', 'second', 'last', 'text']) assert.ok(knows(keys, key), key);
  for (const key of ['#third', 'third', '#', 'ours']) assert.ok(!knows(keys, key), key);
});

const WRONG: readonly (readonly [name: string, text: string | Buffer, message: RegExp])[] = [
  ['nothing', '', /contains no key$/],
  ['comments alone', '# a\n\n#b\n', /contains no key$/],
  ['a key with a blank', 'good\nsec ret\n', /^line 2 of .*: only name=, access=, expires= may/],
  [
    'a key with a comma',
    'sec,ret',
    /^line 1 of .*: a key is visible ASCII without commas, not in quotes$/,
  ],
  ['a key in quotes', 'good\n"secret"', /^line 2 of .*: a key is .* not in quotes$/],
  ['a key that is not ASCII', 'good\ngood\nsecr\u00e9t', /^line 3 of /],
  ['bytes', Buffer.from([1, 2, 3, 0xff]), /^line 1 of /],
];

for (const [name, text, message] of WRONG) {
  test(`keys: a file with ${name} is refused and not quoted`, async (t) => {
    await assert.rejects(load(['text'], fileWith(t, text)), (error: Error) => {
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /sec|secr|good/);
      return true;
    });
  });
}

test('keys: a line may have attributes in any order', async (t) => {
  const lines = [
    'plain',
    'reader name=Agent_1.a-b access=read expires=2999-03-01',
    '  writer\texpires=2999-03-01T12:00:00.5+02:00   access=write  # ',
    'digits name=7',
  ].map((line) => line.replace('# ', ''));
  const keys = await load([], fileWith(t, lines.join('\n')));
  assert.deepEqual(
    ['plain', 'reader', 'writer', 'digits'].map((key) => {
      const { label, name, access, expiresAt } = keyIn(keys, key);
      return [label, name, access, expiresAt];
    }),
    [
      ['a116c9ed', null, 'write', null],
      ['Agent_1.a-b', 'Agent_1.a-b', 'read', '2999-03-01T23:59:59Z'],
      ['b9300677', null, 'write', '2999-03-01T10:00:00Z'],
      ['7', '7', 'write', null],
    ],
  );
});

const ONLY = /line 1 of .*: only name=, access=, expires= may follow the key/;
const EXPIRES = /line 1 of .*: expires takes a date such as 2027-03-01 or a time such as /;
const NAME = /line 1 of .*: name takes 1 to 64 letters, digits, dots, underscores and hyphens$/;

const TAKEN = 'its name, or the start of its hash, is already';

const WRONG_LINES: readonly (readonly [line: string, message: RegExp])[] = [
  ['s3cret s3cret', ONLY],
  ['s3cret # s3cret', ONLY],
  ['s3cret nmae=s3cret', /expires= may follow the key; did you mean name\?$/],
  ['s3cret s3cret=', ONLY],
  ['s3cret =s3cret', ONLY],
  ['s3cret __proto__=s3cret', ONLY],
  ['s3cret constructor=s3cret', ONLY],
  ['s3cret Name=s3cret', /did you mean name\?$/],
  ['s3cret name=', NAME],
  ['s3cret name=s3cret=s3cret', NAME],
  [`s3cret name=${'s3cret'.repeat(11)}`, NAME],
  ['s3cret name=s3cr\u00e9t', NAME],
  ['s3cret name=a name=s3cret', /line 1 of .*: name is given twice$/],
  ['s3cret access=s3cret', /line 1 of .*: access takes read or write$/],
  ['s3cret access=READ', /access takes read or write$/],
  ...[
    '',
    's3cret',
    '2999-02-29',
    '2999-13-01',
    '2999-00-01',
    '2999-1-1',
    '29990301',
    '+002999-03-01',
  ]
    .concat(['2999-03-01T12:00:00', '2999-03-01T24:00:00Z', '2999-03-01T12:00Z', '2999-03-01Z'])
    .concat(['2999-03-01T12:00:00+2', '2999-03-01T12:00:00+24:00', '2999-03-01T12:00:60Z'])
    .concat(['9999-12-31T23:59:59-00:01'])
    .map((date) => [`s3cret expires=${date}`, EXPIRES] as const),
  ['name=s3cret access=read', /line 1 of .*: the key must come before its attributes$/],
  ['s3cret\ns3cret access=read', /line 2 of .*: line 1 has the same key with other attributes$/],
  ['text access=read', /line 1 of .*: NOTES_API_KEYS has the same key with other attributes$/],
  ['a name=s3cret\nb name=s3cret', new RegExp(`line 2 of .*: ${TAKEN} that of line 1$`)],
  [`a name=${TWO}\ntwo`, new RegExp(`line 2 of .*: ${TAKEN} that of line 1$`)],
  ['a name=982d9e3e', new RegExp(`line 1 of .*: ${TAKEN} that of NOTES_API_KEYS$`)],
  // The SHA-256 of both begins with 7152ff1c.
  ['key-8337\nkey-15029', new RegExp(`line 2 of .*: ${TAKEN} that of line 1$`)],
];

for (const [line, message] of WRONG_LINES) {
  test(`keys: refuses ${JSON.stringify(line)} and quotes none of it`, async (t) => {
    await assert.rejects(load(['text'], fileWith(t, line)), (error: Error) => {
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /s3cr|text/);
      return true;
    });
  });
}

test('keys: one that is repeated with the same attributes counts once', async (t) => {
  const file = fileWith(t, 'text\nb name=b access=read\n# more\nb access=read name=b\nc');
  const keys = await load(['text', 'text'], file);
  assert.deepEqual(
    keys.entries.map(({ label }) => label),
    ['982d9e3e', 'b', '2e7d2c03'],
  );
});

test('keys: a date lasts until its end in UTC, a time until that moment', async (t) => {
  const day = '2027-03-01';
  const file = fileWith(t, `day expires=${day}\ntime expires=${day}t12:00:00-01:30`);
  const keys = await load([], file);
  t.mock.timers.enable({ apis: ['Date'], now: 0 });
  for (const [key, end] of [
    ['day', Date.UTC(2027, 2, 2)],
    ['time', Date.UTC(2027, 2, 1, 13, 30)],
  ] as const) {
    t.mock.timers.setTime(end - 1);
    assert.equal(keyIn(keys, key).isOver, false);
    t.mock.timers.setTime(end);
    assert.equal(keyIn(keys, key).isOver, true);
  }
});

test('keys: a reload ends those that it removes or changes, and no others', async (t) => {
  const lines = ['same name=a', 'moved name=b', 'changed name=c', 'removed name=d'];
  const file = fileWith(t, [...lines, 'one', 'two', 'three'].join('\n'));
  const keys = await load([], file);
  const all = ['same', 'moved', 'changed', 'removed', 'one', 'two', 'three'];
  const before = all.map((key) => keyIn(keys, key));
  const changed = ['moved name=b', 'same name=a', 'changed name=c access=read', 'added name=d'];
  writeFileSync(file, [...changed, 'three', 'two name=two'].join('\n'));
  await keys.reload();
  assert.deepEqual(
    before.map(({ isOver }) => isOver),
    [false, false, true, true, true, true, false],
  );
  const ofNow = ['same', 'moved', 'changed', 'added'].map((key) => keyIn(keys, key).isOver);
  assert.deepEqual(ofNow, [false, false, false, false]);
});

test('keys: a file that other users can read', {
  skip: process.platform === 'win32',
}, async (t) => {
  const file = fileWith(t, 'key');
  for (const [mode, isRead] of [
    [0o600, false],
    [0o400, false],
    [0o644, true],
    [0o604, true],
  ] as const) {
    chmodSync(file, mode);
    assert.equal(await isReadByOthers(file), isRead, mode.toString(8));
  }
  assert.equal(await isReadByOthers(`${file}-missing`), false);
});

test('keys: an unreadable file is refused', async (t) => {
  const folder = temporaryFolder(t);
  await assert.rejects(
    load([], join(folder, 'missing')),
    /^Error: cannot read .*missing: ENOENT: no such file/,
  );
  mkdirSync(join(folder, 'folder'));
  await assert.rejects(load([], join(folder, 'folder')), /it is not a regular file$/);
});

test('keys: a file that fails while it is read, or is huge, is refused', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const file = fileWith(t, 'key');
  const keys = await load([], file);
  for (const [replace, reason] of [
    [() => symlinkSync('/proc/self/mem', file), /^Error: cannot read .*: EIO: /],
    [() => writeFileSync(file, Buffer.alloc(4_194_305)), /^Error: cannot read .*: it is larger/],
  ] as const) {
    rmSync(file);
    replace();
    await assert.rejects(load([], file), reason);
    await assert.rejects(keys.reload(), reason);
    assert.ok(knows(keys, 'key'));
  }
  writeFileSync(file, `new\n${'#'.repeat(4_194_300)}`);
  assert.equal(await keys.reload(), 1);
});

test('keys: a reload replaces those of the file, a wrong file none', async (t) => {
  const file = fileWith(t, 'old\nboth');
  const keys = await load(['text'], file);
  writeFileSync(file, 'both\nnew\n');
  assert.equal(await keys.reload(), 3);
  const state = () => ['old', 'both', 'new', 'text'].map((key) => knows(keys, key));
  assert.deepEqual(state(), [false, true, true, true]);
  for (const [, text] of WRONG) {
    writeFileSync(file, text);
    await assert.rejects(keys.reload());
    assert.deepEqual(state(), [false, true, true, true]);
  }
  rmSync(file);
  await assert.rejects(keys.reload(), /ENOENT: no such file/);
  assert.deepEqual(state(), [false, true, true, true]);
  writeFileSync(file, 'old');
  assert.equal(await keys.reload(), 2);
  assert.deepEqual(state(), [true, false, false, true]);
});

/** Makes the next opening of a file wait for `release`. `begun` resolves when it waits. */
function holdOpen(t: TestContext) {
  const events = new EventEmitter();
  const { open } = promises;
  t.mock.method(promises, 'open', async (...args: Parameters<typeof open>) => {
    const opened = await open(...args);
    if (events.emit('begin')) await once(events, 'release');
    return opened;
  });
  syncBuiltinESMExports();
  t.after(() => {
    // Timers, too: other files of tests in this process import them.
    t.mock.reset();
    syncBuiltinESMExports();
  });
  return { begun: once(events, 'begin'), release: () => events.emit('release') };
}

test('keys: concurrent reloads run in order, the last one counts', async (t) => {
  const file = fileWith(t, 'first');
  const keys = await load([], file);
  const { begun, release } = holdOpen(t);
  const slow = keys.reload();
  await begun;
  rmSync(file);
  writeFileSync(file, 'new');
  const quick = keys.reload();
  release();
  await Promise.all([slow, quick]);
  assert.deepEqual([knows(keys, 'first'), knows(keys, 'new')], [false, true]);
});

test('keys: a reload ends after 5 seconds if the file hangs, and later ones work', async (t) => {
  const file = fileWith(t, 'revoked');
  const keys = await load([], file);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { begun, release } = holdOpen(t);
  const hanging = keys.reload();
  await begun;
  const ended = assert.rejects(hanging, /the file of keys could not be read within 5 seconds$/);
  t.mock.timers.tick(5_000);
  await ended;
  assert.ok(knows(keys, 'revoked'));
  writeFileSync(file, 'new');
  await keys.reload();
  release();
  assert.deepEqual([knows(keys, 'revoked'), knows(keys, 'new')], [false, true]);
});

test('keys: a pipe or a device is refused at once', async (t) => {
  const file = fileWith(t, 'key');
  const keys = await load([], file);
  rmSync(file);
  execFileSync('mkfifo', [file]);
  for (const source of [file, '/dev/zero'])
    await assert.rejects(load([], source), /: it is not a regular file$/);
  await assert.rejects(keys.reload(), /: it is not a regular file$/);
  assert.ok(knows(keys, 'key'));
});

test('keys: at most 10,000', async () => {
  const texts = Array.from({ length: 10_001 }, (_, index) => `key-${index}`);
  assert.equal(await (await load(texts.slice(1))).reload(), 10_000);
  await assert.rejects(load(texts), /there are 10001 keys; at most 10000 are allowed/);
});
