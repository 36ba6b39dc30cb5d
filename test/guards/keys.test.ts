// Keys from texts and files, and whose key a request carries.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Keys, loadKeys } from '../../src/guards/keys.ts';
import { temporaryFolder } from '../support/engine.ts';

function fileWith(t: TestContext, text: string | Buffer): string {
  const file = join(temporaryFolder(t), 'keys');
  writeFileSync(file, text);
  return file;
}

async function load(apiKeys: readonly string[], apiKeysFile?: string): Promise<Keys> {
  return (await loadKeys({ apiKeys, apiKeysFile })) ?? assert.fail('there are no keys');
}

const knows = (keys: Keys, key: string) =>
  typeof keys.holderOf({ authorization: `Bearer ${key}` }) === 'object';

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
    assert.equal(typeof keys.holderOf(headers), 'object', JSON.stringify(headers));
});

test('keys: each is one holder, whose name does not reveal it', async () => {
  const keys = await load(['one', 'two']);
  const one = keys.holderOf({ authorization: 'Bearer one' });
  assert.deepEqual(keys.holderOf({ 'x-api-key': 'one' }), one);
  assert.notDeepEqual(keys.holderOf({ 'x-api-key': 'two' }), one);
  const numbers = ['one', 'two'].map((key) => Object(keys.holderOf({ 'x-api-key': key })).number);
  assert.deepEqual(numbers, [1, 2]);
  assert.ok(!JSON.stringify(one).includes('one'));
});

test('keys: unknown ones are wrong, and other headers carry none', async () => {
  const keys = await load(['one', 'two']);
  const long = 'x'.repeat(10_000);
  for (const key of ['on', 'onee', 'One', 'one,two', 'one, one', long, '\u00e9', 'two one'])
    assert.equal(keys.holderOf({ 'x-api-key': key }), 'wrong', key.slice(0, 20));
  for (const authorization of ['Bearer onee', 'Bearer  two1'])
    assert.equal(keys.holderOf({ authorization }), 'wrong');
  const others = ['one', 'Basic one', 'Bearer', 'Bearer ', 'Bearerone', 'Bearer one two'];
  for (const authorization of others)
    assert.equal(keys.holderOf({ authorization }), 'none', authorization);
  for (const headers of [{}, { 'x-api-key': '' }]) assert.equal(keys.holderOf(headers), 'none');
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
  ['a key with a blank', 'good\nsec ret\n', /^line 2 of .* is not a key/],
  ['a key with a comma', 'sec,ret', /^line 1 of /],
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

test('keys: an unreadable file is refused', async (t) => {
  const folder = temporaryFolder(t);
  await assert.rejects(
    load([], join(folder, 'missing')),
    /^Error: cannot read .*missing: there is no such file$/,
  );
  mkdirSync(join(folder, 'folder'));
  await assert.rejects(load([], join(folder, 'folder')), /it is a folder$/);
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
  await assert.rejects(keys.reload(), /there is no such file/);
  assert.deepEqual(state(), [false, true, true, true]);
  writeFileSync(file, 'old');
  assert.equal(await keys.reload(), 2);
  assert.deepEqual(state(), [true, false, false, true]);
});

test('keys: concurrent reloads run in order, the last one counts', async (t) => {
  const file = join(temporaryFolder(t), 'keys');
  writeFileSync(file, 'first');
  const keys = await load([], file);
  rmSync(file);
  // The first reload blocks on the pipe; meanwhile a file replaces it and the second one begins.
  execFileSync('mkfifo', [file]);
  const slow = keys.reload();
  const pipe = await open(file, 'w');
  rmSync(file);
  writeFileSync(file, 'new');
  const quick = keys.reload();
  await pipe.writeFile('revoked');
  await pipe.close();
  await Promise.all([slow, quick]);
  assert.deepEqual([knows(keys, 'revoked'), knows(keys, 'new')], [false, true]);
});

test('keys: at most 512', async () => {
  const texts = Array.from({ length: 513 }, (_, index) => `key-${index}`);
  assert.equal(await (await load(texts.slice(1))).reload(), 512);
  await assert.rejects(load(texts), /there are 513 keys; at most 512 are allowed/);
});
