// What the command shows at a terminal after its start.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { firstSteps } from '../../../src/cli/first-steps.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { optionsFor } from '../../support/service.ts';
import { hasTerminals, onTerminal } from '../../support/terminal.ts';

const URL = 'http://127.0.0.1:3000';
const NOTE = `--json '{"title":"Hello","body":"World"}'`;

test('first steps: on a terminal, where standard output is the ready line', async (t) => {
  if (!hasTerminals(t)) return;
  const file = join(temporaryFolder(t), 'output');
  const [docs, data = '', first, stop] = (await onTerminal(t, `--db a.db > ${file}`)).split('\r\n');
  const ready = readFileSync(file, 'utf8');
  const [, url] = /^notes-server listening on (http:\S+)\n$/.exec(ready) ?? [];
  const steps = [`  docs  ${url}/docs`, `  try   curl ${NOTE} ${url}/notes`, '  stop  Ctrl-C'];
  assert.deepEqual([docs, first, stop], steps);
  assert.match(data, /^ {2}data {2}\/.*\/a\.db$/);
});

test('first steps: for each kind of service', () => {
  const steps = (address: string, ...args: string[]) =>
    firstSteps(optionsFor(...args), address)
      .trimEnd()
      .split('\n')
      .map((line) => line.slice('  docs  '.length));
  const note = `curl ${NOTE} ${URL}/notes`;
  assert.deepEqual(steps(URL, '--db', ':memory:'), [`${URL}/docs`, ':memory:', note, 'Ctrl-C']);
  const cluster = 'rqlite://127.0.0.1:4001?user=me';
  assert.equal(steps(URL, '--db', cluster)[1], cluster);
  assert.equal(steps(URL)[1], resolve('notes.db'));
  const withKeys = steps(URL, '--api-keys-file', 'keys', '--base-url', 'https://a.example/b/');
  assert.equal(withKeys[0], 'https://a.example/b/docs');
  assert.equal(withKeys[2], `curl -H 'authorization: Bearer KEY' ${NOTE} ${URL}/notes`);
});
