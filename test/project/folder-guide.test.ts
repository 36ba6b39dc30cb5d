// The guide to folders: its unit and its line of cron start the command as it is. Its console
// commands are run with those of other guides.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseCommand } from '../../src/cli/command-line.ts';
import { MAX_BODY_LENGTH } from '../../src/contract/generated.js';
import { SYNC_TIMES } from '../../src/sync/effects.ts';
import { LAUNCHER } from '../support/command.ts';
import { temporaryFolder } from '../support/engine.ts';
import { skipLoudly } from '../support/skip.ts';
import { codeBlocks, guide, proseOf } from './documents.ts';

const text = guide('folder');
const [unit = ''] = codeBlocks(text, 'ini');

test('folder: the unit and cron start the command with options that it has', () => {
  const blocks = codeBlocks(text, 'ini|text').join('\n');
  const commands = [...blocks.matchAll(/notes-server (sync .*)$/gm)].map(([, args = '']) => args);
  assert.equal(commands.length, 2);
  for (const args of commands) assert.equal(parseCommand(args.split(' '), {}).kind, 'run', args);
});

test('folder: the unit is valid', (t) => {
  if (spawnSync('systemd-analyze', ['--version']).status !== 0)
    return skipLoudly(t, 'there is no systemd-analyze here');
  const folder = temporaryFolder(t);
  const file = join(folder, 'notes-sync.service');
  writeFileSync(file, unit.replace('/usr/local/bin/notes-server', LAUNCHER));
  const env = { ...process.env, XDG_RUNTIME_DIR: folder };
  const { status, stderr } = spawnSync('systemd-analyze', ['--user', 'verify', file], {
    encoding: 'utf8',
    env,
  });
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
});

test('folder: the bounds are those of the code', () => {
  const prose = proseOf(text);
  for (const phrase of [
    `more than ${MAX_BODY_LENGTH.toLocaleString('en')} characters`,
    SYNC_TIMES.lookUnwatched === 2_000 && 'looks every two seconds',
    SYNC_TIMES.missing === 1_000 && 'a second look, a second later',
  ])
    assert.ok(phrase !== false && prose.includes(phrase), `${phrase}`);
});
