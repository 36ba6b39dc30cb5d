// The Dockerfile is held against the code: what it copies is there, what it sets exists, and what it asks for answers.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { operations } from '../../src/contract/generated.js';
import { optionsHelp } from '../../src/options.ts';
import { optionsFor } from '../support/service.ts';
import { root } from '../support/sources.ts';

const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

/** The instructions in their order, each on one line. */
const instructions = read('Dockerfile')
  .replace(/^#.*\n/gm, '')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => line.split(/ (.*)/s).slice(0, 2) as [name: string, rest: string]);

const all = (name: string) => instructions.filter(([each]) => each === name).map(([, rest]) => rest);
const last = (name: string) => all(name).at(-1) ?? assert.fail(`there is no ${name}`);

/** The variables that the image sets. */
const variables = Object.fromEntries(
  last('ENV')
    .split(' ')
    .map((each) => each.split('=') as [string, string]),
);

test('what is copied is there, and nothing else is sent to the build', () => {
  const copied = all('COPY')
    .filter((rest) => !rest.startsWith('--from'))
    .flatMap((rest) => rest.split(' ').slice(0, -1));
  for (const path of copied) assert.ok(existsSync(new URL(path, root)), path);
  const [everything, ...sent] = read('.dockerignore').trim().split('\n');
  assert.equal(everything, '*');
  assert.deepEqual(sent.sort(), copied.map((path) => `!${path}`).sort());
});

test('both stages are of one exact version of Node on which the tests are run', () => {
  const version = /^NODE_VERSION=(\d+)\.\d+\.\d+$/.exec(last('ARG'));
  assert.ok(version);
  assert.match(read('.ci/run'), new RegExp(`^for version in .*\\b${version[1]}\\b.*; do$`, 'm'));
  assert.deepEqual(
    all('FROM').map((image) => image.replace(/\$\{NODE_VERSION\}/, 'N')),
    ['node:N-bookworm AS build', 'node:N-bookworm-slim'],
  );
});

test('the variables are options, and the port is the one that is told', () => {
  const names = optionsHelp().map(
    ([left]) => `NOTES_${left.slice(2).split(' ')[0]?.replaceAll('-', '_').toUpperCase()}`,
  );
  const told = [...read('README.md').matchAll(/--env (\w+)=/g)].map(([, name = '']) => name);
  assert.ok(told.length > 0);
  for (const name of [...told, ...Object.keys(variables)]) {
    assert.ok(name === 'NODE_ENV' || names.includes(name), name);
  }
  const [byDefault] = optionsHelp().filter(([left]) => left === '--port PORT');
  assert.ok(byDefault?.[1].endsWith(`(default: ${last('EXPOSE')})`));
  assert.equal(variables.NOTES_PORT, last('EXPOSE'));
  assert.equal(optionsFor('--db', variables.NOTES_DB ?? '').db, `${last('VOLUME')}/notes.db`);
});

test('it is not root that runs, and the signals go to the service itself', () => {
  assert.match(last('USER'), /^[1-9]\d*:[1-9]\d*$/);
  assert.deepEqual(JSON.parse(last('ENTRYPOINT')), ['node', '/app/bin/notes-server']);
  assert.ok(existsSync(new URL('bin/notes-server', root)));
});

test('the health check asks for what the service answers without a key', () => {
  const [, command = ''] = /CMD (\[.*\])$/.exec(last('HEALTHCHECK')) ?? [];
  const [program, , code] = JSON.parse(command) as string[];
  assert.equal(program, 'node');
  const path = /\$\{process\.env\.NOTES_PORT\}(\/\w+)`/.exec(code ?? '')?.[1];
  assert.ok(operations.some(({ method, template }) => method === 'GET' && template === path));
});
