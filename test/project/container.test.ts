// The Dockerfile agrees with the code: the files that it copies, the options that it sets, the path
// that it requests.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { OPTIONS } from '../../src/cli/option-table.ts';
import { unknownVariables } from '../../src/cli/options.ts';
import { operations } from '../../src/contract/generated.js';
import { optionsFor } from '../support/service.ts';
import { root } from '../support/sources.ts';
import { guide, textOf } from './documents.ts';

/** The instructions in order, each on one line. */
const instructions = textOf('Dockerfile')
  .replace(/^#.*\n/gm, '')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => line.split(/ (.*)/s).slice(0, 2) as [name: string, rest: string]);

const all = (name: string) =>
  instructions.filter(([each]) => each === name).map(([, rest]) => rest);
const last = (name: string) => all(name).at(-1) ?? assert.fail(`there is no ${name}`);

/** The variables that the image sets. */
const variables = Object.fromEntries(
  last('ENV')
    .split(' ')
    .map((each) => each.split('=') as [string, string]),
);

test('container: the build context is exactly what is copied', () => {
  const copied = all('COPY')
    .filter((rest) => !rest.startsWith('--from'))
    .flatMap((rest) => rest.split(' ').slice(0, -1));
  for (const path of copied) assert.ok(existsSync(new URL(path, root)), path);
  const [everything, ...sent] = textOf('.dockerignore').trim().split('\n');
  assert.equal(everything, '*');
  assert.deepEqual(sent.sort(), copied.map((path) => `!${path}`).sort());
});

test('container: both stages use one tested version of Node', () => {
  const version = /^NODE_VERSION=(\d+)\.\d+\.\d+$/.exec(last('ARG'));
  assert.ok(version);
  assert.match(textOf('.ci/run'), new RegExp(`^for version in .*\\b${version[1]}\\b.*; do$`, 'm'));
  assert.deepEqual(
    all('FROM').map((image) => image.replace(/\$\{NODE_VERSION\}/, 'N')),
    ['node:N-bookworm AS build', 'node:N-bookworm-slim'],
  );
});

test('container: the variables are options, the port is right', () => {
  const documented = [...guide('deployment').matchAll(/--env (\w+)=/g)].map(
    ([, name = '']) => name,
  );
  assert.ok(documented.length > 0);
  const set = documented.map((name) => [name, '1']);
  assert.deepEqual(unknownVariables({ ...Object.fromEntries(set), ...variables }), []);
  assert.equal(OPTIONS.port.default, last('EXPOSE'));
  assert.equal(variables.NOTES_PORT, last('EXPOSE'));
  const { db } = optionsFor('--db', variables.NOTES_DB ?? '');
  assert.deepEqual(db, { kind: 'file', name: `${last('VOLUME')}/notes.db` });
});

test('container: runs without root and receives signals itself', () => {
  assert.match(last('USER'), /^[1-9]\d*:[1-9]\d*$/);
  assert.deepEqual(JSON.parse(last('ENTRYPOINT')), ['node', '/app/bin/notes-server']);
  assert.ok(existsSync(new URL('bin/notes-server', root)));
});

test('container: the health check requests an existing path', () => {
  const [, command = ''] = /CMD (\[.*\])$/.exec(last('HEALTHCHECK')) ?? [];
  const [program, , code] = JSON.parse(command) as string[];
  assert.equal(program, 'node');
  const path = /\$\{process\.env\.NOTES_PORT\}(\/\w+)`/.exec(code ?? '')?.[1];
  assert.ok(operations.some(({ method, template }) => method === 'GET' && template === path));
});
