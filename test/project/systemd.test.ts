// The unit of the README is held against the code, and judged by systemd itself where that is there.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { HTTP_LIMITS } from '../../src/http/server.ts';
import { optionsHelp } from '../../src/options.ts';
import { LAUNCHER } from '../support/command.ts';
import { temporaryFolder } from '../support/engine.ts';
import { skipLoudly } from '../support/skip.ts';
import { root } from '../support/sources.ts';

const readme = readFileSync(new URL('README.md', root), 'utf8');
const unit = /```ini\n(\[Unit\][\s\S]*?)```/.exec(readme)?.[1] ?? assert.fail('the README has no unit');

/** All values of a setting. */
const valuesOf = (name: string) =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value ?? '');

/** Runs `systemd-analyze` on the unit, with this tree for what it starts; undefined, and the test skipped, without one. */
function analyze(t: TestContext, ...args: string[]) {
  if (spawnSync('systemd-analyze', ['--version']).status !== 0) {
    skipLoudly(t, 'there is no systemd-analyze here');
    return undefined;
  }
  const file = join(temporaryFolder(t), 'notes-server.service');
  writeFileSync(file, unit.replace(/^ExecStart=.*$/m, `ExecStart=${process.execPath} ${LAUNCHER}`));
  const { status, stdout, stderr } = spawnSync('systemd-analyze', [...args, file], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

test('the variables are options, and the keys are those that systemd hands over', () => {
  const names = optionsHelp().map(
    ([left]) => `NOTES_${left.slice(2).split(' ')[0]?.replaceAll('-', '_').toUpperCase()}`,
  );
  const variables = valuesOf('Environment').flatMap((value) => value.split(' ').map((each) => each.split('=')));
  for (const [name = ''] of variables) assert.ok(names.includes(name), name);
  const [[, keys = ''] = []] = variables.filter(([name]) => name === 'NOTES_API_KEYS_FILE');
  assert.equal(keys, `%d/${valuesOf('LoadCredential')[0]?.split(':')[0]}`);
  const [[, db = ''] = []] = variables.filter(([name]) => name === 'NOTES_DB');
  assert.equal(db, `%S/${valuesOf('StateDirectory')[0]}/notes.db`);
});

test('a stop has the time that it may take, and the engine of Node may make code', () => {
  // What is in flight, then the database.
  assert.ok(Number(valuesOf('TimeoutStopSec')[0]) * 1_000 > HTTP_LIMITS.closeMs + 5_000);
  assert.deepEqual(valuesOf('MemoryDenyWriteExecute'), []);
});

test('systemd finds nothing wrong with it', (t) => {
  const verdict = analyze(t, 'verify');
  if (verdict) assert.deepEqual(verdict, { status: 0, stdout: '', stderr: '' });
});

test('systemd rates it as little exposed as the README says', (t) => {
  const told = /rates the exposure (\d+\.\d)/.exec(readme)?.[1] ?? assert.fail('the README tells no rating');
  // Other versions of systemd weigh a little differently.
  const verdict = analyze(t, 'security', '--offline=true', `--threshold=${Math.round(Number(told) * 10) + 3}`);
  if (verdict) assert.equal(verdict.status, 0, verdict.stdout.slice(-200));
});
