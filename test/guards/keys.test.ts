// Keys from texts and files, and whose key a request carries.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Keys, loadKeys } from '../../src/guards/keys.ts';
import type { ClientKey } from '../../src/http/route.ts';
import { temporaryFolder } from '../support/engine.ts';

function fileWith(t: TestContext, text: string | Buffer): string {
  const file = join(temporaryFolder(t), 'keys');
  writeFileSync(file, text);
  return file;
}

async function load(apiKeys: readonly string[], apiKeysFile?: string): Promise<Keys> {
  return (await loadKeys({ apiKeys, apiKeysFile })) ?? assert.fail('there are no keys');
}

function keyIn(keys: Keys, key: string): ClientKey {
  const found = keys.keyIn({ 'x-api-key': key });
  return typeof found === 'object' ? found : assert.fail(found);
}

const knows = (keys: Keys, key: string) =>
  typeof keys.keyIn({ authorization: `Bearer ${key}` }) === 'object';

const basic = (credentials: string, encoding: BufferEncoding = 'utf8') =>
  `Basic ${Buffer.from(credentials, encoding).toString('base64')}`;
const basics = (...all: string[]) => all.map((credentials) => basic(credentials));
const LONG = 'x'.repeat(10_000);
const USER = basic('user:one');

/** Values of authorization by the key that they carry. */
const AUTHORIZATIONS: Readonly<Record<string, readonly string[]>> = {
  one: [
    ...['Bearer one', 'bearer one', 'BEARER   one', USER.replace('Basic', 'bASIC  ')],
    ...basics(':one', 'user:one', 'J\u00f6rg \n:one', `${LONG}:one`),
    basic('\xff\xfe\0:one', 'latin1'),
  ],
  'a:b:': basics('user:a:b:'),
  wrong: [
    ...['Bearer onee', 'Bearer  two1', ...basics(':onee', 'one:no', ':one:', '::one', `:${LONG}`)],
    ...[':\xff', ':one\0', ':\ufeffone'].map((bytes) => basic(bytes, 'latin1')),
  ],
  none: [
    ...['', 'one', 'Bearer', 'Bearer ', 'Bearerone', 'Bearer one two', USER.replace(' ', '')],
    ...['Basic', 'Basic ', 'Basic =', 'Basic :', 'Basic :one', 'Basic user:one', 'Basic \u00e9'],
    ...basics('', 'one', 'one:', ':', ':one two', ':one\n', ': one', 'user: '),
    ...[`${USER} x`, `Bearer ${USER}`, 'Basic one'],
    ...[`Basic ${'x'.repeat(15_001)}`, `Basic ${'A'.repeat(15_000)}`],
  ],
};

/** The first digits of what `printf one | sha256sum` prints, and of the others. */
const LABELS: Readonly<Record<string, string>> = {
  one: '7692c3ad',
  two: '3fc4ccfe',
  'a:b:': 'b8c7be73',
};

test('keys: a bearer token comes first, then x-api-key, then a password', async () => {
  const keys = await load(Object.keys(LABELS));
  const found = (headers: IncomingHttpHeaders) => {
    const key = keys.keyIn(headers);
    return typeof key === 'string' ? key : key.label;
  };
  for (const [key, values] of Object.entries(AUTHORIZATIONS))
    for (const authorization of values) {
      const expected = LABELS[key] ?? key;
      assert.equal(found({ authorization }), expected, authorization.slice(0, 40));
      const isBearer = /^Bearer +\S+$/i.test(authorization);
      for (const [sent, other] of [
        ['two', LABELS.two],
        ['no', 'wrong'],
      ])
        assert.equal(
          found({ authorization, 'x-api-key': sent }),
          isBearer ? expected : other,
          `x-api-key ${sent} beside ${authorization.slice(0, 40)}`,
        );
    }
  for (const key of ['on', 'onee', 'One', 'one,two', 'one, one', LONG, '\u00e9', 'two one'])
    assert.equal(found({ 'x-api-key': key }), 'wrong', key.slice(0, 20));
  for (const headers of [{}, { 'x-api-key': '' }]) assert.equal(found(headers), 'none');
  assert.ok(!JSON.stringify(keyIn(keys, 'one')).includes('one'), 'what is known has the key');
});

test('keys: a file has one per line, with comments and blank lines', async (t) => {
  const file = fileWith(t, '\ufeff# ours\r\nfirst\r\n\n  second\t\n#third\nlast');
  const keys = await load(['text'], file);
  for (const key of ['first', 'second', 'last', 'text']) assert.ok(knows(keys, key), key);
  for (const key of ['#third', 'third', '#', 'ours']) assert.ok(!knows(keys, key), key);
});

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

const NO_KEY = /^Error: .* contains no key$/;
const KEY = /line 1 of .*: a key is visible ASCII without commas, not in quotes$/;
const ONLY = /line 1 of .*: only name=, access=, expires= may follow the key$/;
const MEANT = /line 1 of .* may follow the key; did you mean name\?$/;
const NAME = /line 1 of .*: name takes 1 to 64 letters, digits, dots, underscores and hyphens$/;
const ACCESS = /line 1 of .*: access takes read or write$/;
const EXPIRES = /line 1 of .*: expires takes a date such as 2027-03-01 or a time such as /;
const FIRST = /line 1 of .*: the key must come before its attributes$/;
const TAKEN = /: the key, its name or the start of its hash is already that of line 1$/;

const DATES = [
  ...['', 's3cret', '2999-02-29', '2999-13-01', '2999-00-01', '2999-1-1', '29990301'],
  ...['+002999-03-01', '2999-03-01T12:00:00', '2999-03-01T24:00:00Z', '2999-03-01T12:00Z'],
  ...['2999-03-01Z', '2999-03-01T12:00:00+2', '2999-03-01T12:00:00+24:00', '2999-03-01T12:00:60Z'],
];

const WRONG: readonly (readonly [message: RegExp, ...files: (string | Buffer)[]])[] = [
  [NO_KEY, '', '# a\n\n#b\n'],
  [KEY, 's3c,ret', '"s3cret"', 's3cr\u00e9t', Buffer.from([1, 2, 3, 0xff])],
  [/line 3 of .* not in quotes$/, 'a\nb\n"s3cret"'],
  [ONLY, 's3cret s3cret', 's3cret # s3cret', 's3cret s3cret=', 's3cret =s3cret'],
  [ONLY, 's3cret __proto__=s3cret', 's3cret constructor=s3cret'],
  [MEANT, 's3cret nmae=s3cret', 's3cret Name=s3cret'],
  [NAME, 's3cret name=', 's3cret name=s3cret=s3cret', 's3cret name=s3cr\u00e9t'],
  [NAME, `s3cret name=${'s3cret'.repeat(11)}`],
  [/line 1 of .*: name is given twice$/, 's3cret name=a name=s3cret'],
  [ACCESS, 's3cret access=s3cret', 's3cret access=READ'],
  [EXPIRES, ...DATES.map((date) => `s3cret expires=${date}`)],
  [FIRST, 'name=s3cret access=read'],
  [TAKEN, 's3cret\ns3cret access=read', 's3cret\ns3cret'],
  [TAKEN, 'a name=s3cret\nb name=s3cret', `a name=${LABELS.two}\ntwo`],
  // The SHA-256 of both begins with 7152ff1c.
  [TAKEN, 'key-8337\nkey-15029'],
  // The SHA-256 of the text that the tests load begins with 982d9e3e.
  [/: a key of NOTES_API_KEYS has the name or the start of the hash of/, 'a name=982d9e3e'],
];

test('keys: a wrong file is refused and not quoted, and a reload keeps the old keys', async (t) => {
  const file = fileWith(t, 'old');
  const keys = await load(['text'], file);
  for (const [message, ...texts] of WRONG)
    for (const text of texts) {
      writeFileSync(file, text);
      for (const read of [() => load(['text'], file), () => keys.reload()])
        await assert.rejects(read, (error: Error) => {
          assert.match(String(error), message, String(text));
          assert.doesNotMatch(error.message, /s3c|text/);
          return true;
        });
      assert.deepEqual([knows(keys, 'old'), knows(keys, 'text')], [true, true], String(text));
    }
});

test('keys: of a key that is also a text, the line counts', async (t) => {
  const keys = await load(['both', 'text', 'text'], fileWith(t, 'both name=b access=read'));
  assert.deepEqual(
    keys.entries.map(({ label, access }) => [label, access]),
    [
      ['b', 'read'],
      ['982d9e3e', 'write'],
    ],
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
    assert.equal(keyIn(keys, key).isOver, false, `${key}, a moment before`);
    t.mock.timers.setTime(end);
    assert.equal(keyIn(keys, key).isOver, true, key);
  }
});

test('keys: a reload ends those that it removes or changes, and no others', async (t) => {
  const lines = ['same name=a', 'moved name=b', 'changed name=c', 'removed name=d'];
  const file = fileWith(t, [...lines, 'one', 'two', 'three'].join('\n'));
  const keys = await load(['text'], file);
  const all = ['same', 'moved', 'changed', 'removed', 'one', 'two', 'three'];
  const before = all.map((key) => keyIn(keys, key));
  const changed = ['moved name=b', 'same name=a', 'changed name=c access=read', 'added name=d'];
  writeFileSync(file, [...changed, 'three', 'two name=two'].join('\n'));
  assert.equal(await keys.reload(), 7);
  assert.deepEqual(
    before.map(({ isOver }) => isOver),
    [false, false, true, true, true, true, false],
  );
  const now = ['same', 'moved', 'changed', 'added', 'text'];
  for (const key of now) assert.equal(keyIn(keys, key).isOver, false, key);
  for (const key of ['removed', 'one']) assert.ok(!knows(keys, key), key);
});

const NOT_A_FILE = /: it is not a regular file$/;

test('keys: what cannot be read is refused at once, and a reload keeps the old keys', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const file = fileWith(t, 'key');
  const keys = await load([], file);
  for (const [replace, reason] of [
    [() => {}, /^Error: cannot read .*keys: ENOENT: no such file/],
    [() => mkdirSync(file), NOT_A_FILE],
    [() => execFileSync('mkfifo', [file]), NOT_A_FILE],
    [() => symlinkSync('/dev/zero', file), NOT_A_FILE],
    [() => symlinkSync('/proc/self/mem', file), /^Error: cannot read .*: EIO: /],
    [() => writeFileSync(file, Buffer.alloc(4_194_305)), /^Error: cannot read .*: it is larger/],
  ] as const) {
    rmSync(file, { recursive: true, force: true });
    replace();
    await assert.rejects(load([], file), reason);
    await assert.rejects(keys.reload(), reason);
    assert.ok(knows(keys, 'key'));
  }
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
  assert.ok(knows(keys, 'revoked'), 'the old keys are lost');
  writeFileSync(file, 'new');
  await keys.reload();
  release();
  assert.deepEqual([knows(keys, 'revoked'), knows(keys, 'new')], [false, true]);
});

test('keys: at most 10,000', async () => {
  const texts = Array.from({ length: 10_001 }, (_, index) => `key-${index}`);
  assert.equal(await (await load(texts.slice(1))).reload(), 10_000);
  await assert.rejects(load(texts), /there are 10001 keys; at most 10000 are allowed/);
});
