// The systemd unit of the guide to deployment agrees with the code, and systemd accepts it where it
// is installed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { unknownVariables } from '../../src/cli/options.ts';
import { HTTP_LIMITS } from '../../src/http/limits.ts';
import { LAUNCHER } from '../support/command.ts';
import { temporaryFolder } from '../support/engine.ts';
import { skipLoudly } from '../support/skip.ts';
import { codeBlocks, guide, proseOf } from './documents.ts';

const deployment = guide('deployment');
const [unit = '', dropIn = ''] = codeBlocks(deployment, 'ini');

/** All values of a setting. */
const valuesOf = (name: string) =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value ?? '');

/**
 * Runs `systemd-analyze` on the unit with the launcher of this tree; without it, skips the test and
 * returns undefined.
 */
function analyze(t: TestContext, ...args: string[]) {
  if (spawnSync('systemd-analyze', ['--version']).status !== 0) {
    skipLoudly(t, 'there is no systemd-analyze here');
    return undefined;
  }
  const file = join(temporaryFolder(t), 'notes-server.service');
  writeFileSync(file, unit.replace(/^ExecStart=.*$/m, `ExecStart=${process.execPath} ${LAUNCHER}`));
  const { status, stdout, stderr } = spawnSync('systemd-analyze', [...args, file], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

test('systemd: the variables are options, and keys are passed on', () => {
  const variables = valuesOf('Environment').flatMap((value) =>
    value.split(' ').map((each) => each.split('=')),
  );
  assert.deepEqual(unknownVariables(Object.fromEntries(variables)), []);
  const [[, keys = ''] = []] = variables.filter(([name]) => name === 'NOTES_API_KEYS_FILE');
  assert.equal(keys, `%d/${valuesOf('LoadCredential')[0]?.split(':')[0]}`);
  const [[, db = ''] = []] = variables.filter(([name]) => name === 'NOTES_DB');
  assert.equal(db, `%S/${valuesOf('StateDirectory')[0]}/notes.db`);
});

test('systemd: the variables of the drop-in for a proxy are options', () => {
  const names = [...dropIn.matchAll(/\b(NOTES_\w+)=/g)].map(([, name = '']) => name);
  assert.ok(names.includes('NOTES_SOCKET'));
  assert.deepEqual(unknownVariables(Object.fromEntries(names.map((name) => [name, '1']))), []);
});

test('systemd: the service starts once the clock is set', () => {
  for (const name of ['Wants', 'After'])
    assert.ok(valuesOf(name).join(' ').split(' ').includes('time-sync.target'), name);
  assert.match(proseOf(deployment), /`systemctl enable systemd-time-wait-sync`/);
});

test('systemd: a stop has enough time, and V8 may compile', () => {
  // Requests in flight come first, then the database.
  assert.ok(Number(valuesOf('TimeoutStopSec')[0]) * 1_000 > HTTP_LIMITS.closeMs + 5_000);
  assert.deepEqual(valuesOf('MemoryDenyWriteExecute'), []);
});

test('systemd: the unit is valid', (t) => {
  const verdict = analyze(t, 'verify');
  if (verdict) assert.deepEqual(verdict, { status: 0, stdout: '', stderr: '' });
});

test('systemd: the exposure is at most that in the guide', (t) => {
  const rating =
    /rates the exposure (\d+\.\d)/.exec(proseOf(deployment))?.[1] ??
    assert.fail('the guide has no rating');
  // Versions of systemd differ a little.
  const verdict = analyze(
    t,
    'security',
    '--offline=true',
    `--threshold=${Math.round(Number(rating) * 10) + 3}`,
  );
  if (verdict) assert.equal(verdict.status, 0, verdict.stdout.slice(-200));
});
