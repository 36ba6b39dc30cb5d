// The command `key`: a new key, as a line that the file of keys takes.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadKeys } from '../../../src/guards/keys.ts';
import { assertRefused, runCommand } from '../../support/command.ts';
import { temporaryFolder } from '../../support/engine.ts';

test('key: prints a line with 256 random bits, which the file of keys takes', async (t) => {
  const file = join(temporaryFolder(t), 'keys');
  const texts: string[] = [];
  for (const args of [
    [],
    [],
    ['--name', 'agent', '--access', 'read', '--expires', '2999-03-01'],
    ['--expires=2999-03-01T12:00:00Z'],
  ]) {
    const { stdout, stderr, status } = await runCommand(t, ['key', ...args]);
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, /^[0-9a-f]{64}(?: [a-z]+=\S+)*\n$/);
    texts.push(stdout);
  }
  writeFileSync(file, texts.join(''));
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

test('key: wrong options are refused in the words of the file', async (t) => {
  for (const [args, reason] of [
    [
      ['--name', 'a b'],
      /--name takes 1 to 64 letters, digits, dots, underscores and hyphens \(see/,
    ],
    [['--name', ''], /--name takes/],
    [['--access', 'all'], /--access takes read or write/],
    [['--expires', '2027-02-30'], /--expires takes a date such as 2027-03-01 or a time such as /],
    [['agent'], /key takes only options/],
  ] as const)
    assertRefused(await runCommand(t, ['key', ...args]), 2, reason);
});
