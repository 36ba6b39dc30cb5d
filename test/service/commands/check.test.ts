// `notes-server check FILE` as its users meet it: on files of every kind, and beside a service that writes.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { assertRefused, runCommand } from '../../support/command.ts';
import { newFile, openDatabase, writeForeignFile } from '../../support/databases.ts';
import { needsFile, temporaryFolder } from '../../support/engine.ts';
import { startService } from '../../support/service.ts';

async function writeGoodFile(test: TestContext): Promise<string> {
  const path = newFile(test);
  await (await openDatabase(test, path)).close();
  return path;
}

test('a sound file is ok, with exit status 0', async (t) => {
  const path = await writeGoodFile(t);
  const ending = { status: 0, signal: null, stdout: `${path}: ok\n`, stderr: '' };
  assert.deepEqual(await runCommand(t, ['check', path]), ending);
});

test('a service that writes all the time does not mind, and its file is ok at every moment', {
  skip: needsFile,
}, async (t) => {
  const service = await startService(t);
  let checking = true;
  const written = Promise.all(
    Array.from({ length: 8 }, async () => {
      let statuses = '';
      while (checking) {
        const { status, json } = await service.request('POST', '/notes', { json: { title: 'a', body: 'b' } });
        const deleted = json.id % 3 === 0 ? await service.request('DELETE', `/notes/${json.id}`) : { status: 204 };
        if (status !== 201 || deleted.status !== 204) statuses += ` ${status} ${deleted.status}`;
      }
      return statuses;
    }),
  );
  for (let round = 0; round < 3; round += 1) {
    const { status, stdout } = await runCommand(t, ['check', service.file]);
    assert.deepEqual({ status, stdout }, { status: 0, stdout: `${service.file}: ok\n` });
  }
  checking = false;
  assert.deepEqual(await written, Array(8).fill(''));
  assert.equal((await service.request('GET', '/health')).status, 200);
});

test('each fault is a line on standard output, with exit status 1', async (t) => {
  const path = await writeGoodFile(t);
  await writeForeignFile(path, 'INSERT INTO tag_blocks VALUES (0, 3); INSERT INTO comment_blocks VALUES (4, 1, 2)');
  const stdout =
    `${path}: tag_blocks: block 0 says 3 records, there are 0\n` +
    `${path}: comment_blocks: block 1 of note 4 says 2 records, there are 0\n`;
  assert.deepEqual(await runCommand(t, ['check', path]), { status: 1, signal: null, stdout, stderr: '' });
});

/** Files that cannot be checked, by what is done to a path where nothing is. */
const UNREADABLE: Record<string, [make: (path: string, t: TestContext) => unknown, RegExp]> = {
  'that is missing': [() => {}, /cannot open the database .*notes\.db: there is no such file$/m],
  'in a folder that is missing': [(path) => join(path, 'notes.db'), /there is no such file$/m],
  'that is a folder': [(path) => join(path, '..'), /there is no such file$/m],
  'that holds text': [(path) => writeFileSync(path, 'a shopping list\n'.repeat(100)), /it is no SQLite file$/m],
  'that is empty': [(path) => writeFileSync(path, ''), /it is empty$/m],
  'of another program': [(path) => writeForeignFile(path, 'CREATE TABLE theirs (a)'), /belongs to another program$/m],
  'of a newer version': [
    async (path, t) => {
      await (await openDatabase(t, path)).close();
      await writeForeignFile(path, 'INSERT INTO notes_server_versions VALUES (2)');
    },
    /it has version 2, made by a newer notes-server; this one knows 1$/m,
  ],
  'whose tables are overwritten': [
    (path) => writeFileSync(path, Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(8_000, 0xff)])),
    /it is (?:damaged|no SQLite file)$/m,
  ],
};

for (const [what, [make, reason]] of Object.entries(UNREADABLE)) {
  test(`a file ${what} is told in one line on standard error, with exit status 1`, async (t) => {
    const path = newFile(t);
    const made = await make(path, t);
    assertRefused(await runCommand(t, ['check', typeof made === 'string' ? made : path]), 1, reason);
  });
}

test('a check of no file, of several or with options is told in one line, with exit status 2', async (t) => {
  const folder = temporaryFolder(t);
  for (const words of [[], ['a.db', 'b.db'], ['a.db', '--port', '0']]) {
    assertRefused(await runCommand(t, ['check', ...words], { folder }), 2, /check takes one FILE/);
  }
});
