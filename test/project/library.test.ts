// The service as a library. The endurance ring repeats these tests with the package that npm
// installs.
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { testLibrary } from '../support/library-user.ts';
import { root } from '../support/sources.ts';

testLibrary('library', (folder) => {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(fileURLToPath(root), join(folder, 'node_modules/notes-server'));
});
