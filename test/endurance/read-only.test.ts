// Databases that their user may only read, with all modes of the file and of its folder.
import { test } from 'node:test';
import { assertReadable } from '../support/read-only.ts';

for (const [fileMode, folderMode] of [
  [0o444, 0o555],
  [0o444, 0o777],
  [0o666, 0o555],
] as const) {
  const modes = [fileMode, folderMode].map((mode) => mode.toString(8)).join(' in ');
  test(`backup: of a database with mode ${modes}, and export`, (t) =>
    assertReadable(t, fileMode, folderMode));
}
