// The commands work on databases and backups of each version of the schema, and on the exports of
// each version.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { migrate, statementsOf } from '../../src/storage/schema/migrations.ts';
import { STEPS } from '../../src/storage/schema/steps.ts';
import { change, newFile, openDatabase, openEmpty } from '../support/databases.ts';
import { exported, runInProcess } from '../support/in-process-command.ts';

/** The digests of the first steps, by their statements in any order: databases have them. */
const DIGESTS = ['uu7-cihnvwBqX-z0Sb1LEchT7FKXtWSo_Kg0qXuDybs'];

test('older schemas: the steps are those by which databases were made', () => {
  const digests = STEPS.slice(0, DIGESTS.length).map((step) => {
    const statements = statementsOf(step).map((each) => each.trim().replace(/;$/, ''));
    return createHash('sha256').update(statements.sort().join('\n\n')).digest('base64url');
  });
  assert.deepEqual(digests, DIGESTS);
});

for (let version = 1; version <= STEPS.length; version += 1) {
  test(`older schemas: every command works on version ${version}`, async (t) => {
    const path = newFile(t);
    const database = await openEmpty(t, path);
    await migrate(database, STEPS.slice(0, version));
    await change(database, `INSERT INTO notes (title, body) VALUES ('a', 'b')`);
    await change(database, `INSERT INTO tags (name) VALUES ('c')`);
    await change(database, 'INSERT INTO note_tags (note_id, tag_id) VALUES (1, 1)');
    await database.close();
    const [backup, restored] = [newFile(t), newFile(t)];
    const run = async (...args: string[]) => (await runInProcess(args)).line;
    assert.equal(await run('check', '--db', path), `${path}: ok`);
    const lines = await exported(path);
    await run('backup', backup, '--db', path);
    assert.equal(await run('check', '--db', backup), `${backup}: ok`);
    await run('restore', backup, '--db', restored);
    assert.equal(await exported(restored), lines);
    await run('check', '--repair', '--db', restored);
    await (await openDatabase(t, restored)).close();
    assert.equal(await run('check', '--db', restored), `${restored}: ok`);
    const recordsOf = (text: string) => text.split('\n').slice(1);
    const migrated = recordsOf(await exported(restored));
    for (const exportVersion of [2, 3, 4, 5]) {
      const imported = newFile(t);
      const asThen = lines.replace('"version":5', `"version":${exportVersion}`);
      writeFileSync(`${imported}.jsonl`, asThen);
      await run('import', `${imported}.jsonl`, '--db', imported);
      assert.deepEqual(recordsOf(await exported(imported)), migrated);
      assert.equal(await run('check', '--db', imported), `${imported}: ok`);
    }
  });
}
