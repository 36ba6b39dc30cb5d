// The service as a library. The endurance ring repeats these tests with the package that npm
// installs.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { libraryFlags } from '../../src/cli/options.ts';
import { testLibrary } from '../support/library-user.ts';
import { root } from '../support/sources.ts';
import { textOf } from './documents.ts';

testLibrary('library', (folder) => {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(fileURLToPath(root), join(folder, 'node_modules/notes-server'));
});

test('library: ServiceOptions has each option of the service', () => {
  const text = textOf('src/library.ts');
  const [, members = ''] = /interface ServiceOptions \{\n([\s\S]*?)\n\}/.exec(text) ?? [];
  const declared = [...members.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, name]) => name);
  const flags = [...libraryFlags().keys(), 'apiKeys'];
  const missing = flags.filter((name) => !declared.includes(name));
  assert.deepEqual(missing, [], `ServiceOptions in src/library.ts lacks ${missing}`);
  assert.equal(declared.length, flags.length);
});
