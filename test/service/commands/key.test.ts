// The command `key`: a new key, as a line that the file of keys takes.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { loadKeys } from '../../../src/guards/keys.ts';
import { LAUNCHER } from '../../support/command.ts';
import { newFile, openDatabase } from '../../support/databases.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { runInProcess } from '../../support/in-process-command.ts';

test('key: prints a line with 256 random bits, which the file of keys takes', async (t) => {
  const file = join(temporaryFolder(t), 'keys');
  const texts: string[] = [];
  for (const args of [
    [],
    [],
    ['--name', 'agent', '--access', 'read', '--expires', '2999-03-01'],
    ['--expires=2999-03-01T12:00:00Z'],
  ]) {
    const { line = '' } = await runInProcess(['key', ...args]);
    assert.match(line, /^[0-9a-f]{64}(?: [a-z]+=\S+)*$/);
    texts.push(line);
  }
  writeFileSync(file, texts.join('\n'));
  const keys = await loadKeys({ apiKeys: [], apiKeysFile: file });
  const labels = texts.map((text) => hash('sha256', text.split(/\s/)[0] ?? '').slice(0, 8));
  assert.deepEqual(
    keys?.entries.map(({ label, access, expiresAt }) => [label, access, expiresAt]),
    [
      [labels[0], 'write', null],
      [labels[1], 'write', null],
      ['agent', 'read', '2999-03-01T23:59:59Z'],
      [labels[3], 'write', '2999-03-01T12:00:00Z'],
    ],
  );
});

test('key: appended to any file, it is a key of its own, and so is the last one', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'keys');
  const shell = `'${process.execPath}' '${LAUNCHER}' key --name new >> keys`;
  const append = async (before: string) => {
    writeFileSync(file, before);
    await promisify(execFile)('sh', ['-c', shell], { cwd: folder });
    return readFileSync(file, 'utf8').slice(before.length);
  };
  // The command sees only whether the file is empty.
  const [toNothing, toSomething] = [await append(''), await append('old')];
  assert.doesNotMatch(toNothing, /^\n/);
  for (const [before, names] of [
    ['', [null]],
    ['old', ['old', null]],
    ['old\n', ['old', null]],
    ['\ufeffold name=old\r\n# last', ['old', null]],
    ['first\r\nold access=read', ['first', 'old', null]],
    ['first\n\nold', ['first', 'old', null]],
  ] as const) {
    const line = before === '' ? toNothing : toSomething;
    writeFileSync(file, before + line);
    const keys = await loadKeys({ apiKeys: [], apiKeysFile: file });
    const [added = ''] = line.trim().split(' ');
    assert.match(added, /^[0-9a-f]{64}$/);
    for (const name of names)
      assert.ok(keys?.keyIn({ 'x-api-key': name ?? added }), `${before}: ${name}`);
    assert.equal(keys?.entries.length, names.length);
  }
});

test('key: a line that cannot be written is an error, as for other commands', {
  skip: !existsSync('/dev/full'),
}, async (t) => {
  const db = newFile(t);
  await (await openDatabase(t, db)).close();
  for (const args of ['key', '--help', '-V', `check '${db}'`, `export --db '${db}'`])
    await assert.rejects(
      promisify(execFile)('sh', ['-c', `'${process.execPath}' '${LAUNCHER}' ${args} > /dev/full`]),
      { code: 1, stderr: /^notes-server: ENOSPC: no space left on device, write\n$/ },
    );
});

test('key: wrong options are refused in the words of the file', async () => {
  for (const [arg, message] of Object.entries({
    '--name=a b': /^--name takes 1 to 64 letters, digits, dots, underscores and hyphens/,
    '--name=': /^--name takes/,
    '--access=all': /^--access takes read or write/,
    '--expires=2027-02-30': /^--expires takes a date such as 2027-03-01 or a time such as /,
  }))
    await assert.rejects(runInProcess(['key', arg]), { name: 'UsageError', message });
});
