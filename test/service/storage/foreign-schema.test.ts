// A trigger that is not of the schema would change what clients write: the service warns of it, and
// commands that write refuse it.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { assertRefused, runCommand } from '../../support/command.ts';
import {
  change,
  newFile,
  openDatabase,
  openOther,
  PWN,
  writeForeignFile,
} from '../../support/databases.ts';
import { clusterAddress } from '../../support/engine.ts';
import { openCluster } from '../../support/engines.ts';
import { exported, runInProcess } from '../../support/in-process-command.ts';
import { startProcesses } from '../../support/processes.ts';
import { startStandIn } from '../../support/rqlite-stand-in.ts';
import { type LogLine, startService } from '../../support/service.ts';

const LINE = 'the trigger pwned is not of the schema';
const WARNING = 'the schema was changed';

/** Returns an empty database with the trigger. */
async function pwnedFile(t: TestContext): Promise<string> {
  const path = newFile(t);
  await (await openDatabase(t, path)).close();
  await writeForeignFile(path, PWN);
  return path;
}

/** Returns the differences in each warning of a log. */
const warningsIn = (log: readonly LogLine[]) =>
  log.filter(({ message }) => message === WARNING).map(({ fields }) => fields.differences);

test('foreign schema: a start warns, naming each part, and serves', async (t) => {
  const path = await pwnedFile(t);
  await writeForeignFile(path, 'CREATE INDEX titles ON notes (title)');
  const { request, log } = await startService(t, { db: path });
  assert.deepEqual(warningsIn(log), [[LINE, 'the index titles is not of the schema']]);
  const { status } = await request('POST', '/notes', { json: { title: 'a', body: 'b' } });
  assert.equal(status, 201);
});

test('foreign schema: no warning of a usual database', async (t) => {
  const { log, file, close } = await startService(t, { db: newFile(t) });
  await close();
  assert.deepEqual(warningsIn([...log, ...(await startService(t, { db: file })).log]), []);
});

test('foreign schema: several processes warn once', async (t) => {
  const { lines, process, ended } = await startProcesses(t, 3, ['--db', await pwnedFile(t)]);
  process.kill('SIGTERM');
  await ended;
  const warnings = lines.filter(({ message }) => message === WARNING);
  assert.deepEqual(
    warnings.map(({ level, differences }) => [level, differences]),
    [['warn', [LINE]]],
  );
});

test('foreign schema: on a cluster, a start and a check name it', async (t) => {
  const { nodes } = await startStandIn(t, 3);
  await change(await openCluster(t, nodes), PWN);
  const db = clusterAddress(nodes);
  assert.deepEqual(warningsIn((await startService(t, { db })).log), [[LINE]]);
  const { status, stdout } = await runCommand(t, ['check', db]);
  assert.equal(status, 1);
  assert.equal(stdout, nodes.map((url) => `${db}: ${url}: ${LINE}\n`).join(''));
});

test('foreign schema: backup names it, restore, import and repair refuse it', async (t) => {
  const [path, backup, restored] = [await pwnedFile(t), newFile(t), newFile(t)];
  const { line } = await runInProcess(['backup', backup, '--db', path]);
  assert.equal(line, `backed up ${path} to ${backup}; restore will refuse it: ${LINE}`);
  const reason = (start: string) => new RegExp(`^\\S+: ${start} .*${LINE}[^\\n]*\\n$`);
  const restoring = await runCommand(t, ['restore', backup, '--db', restored]);
  assertRefused(restoring, 1, reason('cannot restore'));
  const input = await exported(path);
  const importing = await runCommand(t, ['import', '--db', path], { input });
  assertRefused(importing, 1, reason('cannot import'));
  const repairing = await runCommand(t, ['check', '--repair', path]);
  assertRefused(repairing, 1, reason('cannot repair'));
  // Without it, an export brings the records elsewhere.
  await runInProcess(['import', '--db', restored], { input });
  assert.equal((await runInProcess(['check', restored])).line, `${restored}: ok`);
});

const DELETE_ALL = `CREATE TRIGGER theirs AFTER DELETE ON erased_records BEGIN
  DELETE FROM note_names; DELETE FROM notes; END`;

for (const sql of [DELETE_ALL, 'DROP TABLE erased_versions'])
  test(`foreign schema: a backup has all records in spite of ${sql.slice(0, 24)}`, async (t) => {
    const [path, backup] = [newFile(t), newFile(t)];
    const database = await openDatabase(t, path);
    await change(database, "INSERT INTO notes (title, body) VALUES ('a', 'b')");
    await change(database, "INSERT INTO erased_records (type, id) VALUES ('note', 9)");
    await database.close();
    await writeForeignFile(path, sql);
    const { line } = await runInProcess(['backup', backup, '--db', path]);
    assert.match(String(line), /; restore will refuse it: /);
    assert.deepEqual(await (await openOther(t, backup)).run({ sql: 'SELECT id FROM notes' }), [
      { id: 1 },
    ]);
  });

test('foreign schema: a table or an index of an operator is named, and nothing else', async (t) => {
  const [path, backup, restored] = [newFile(t), newFile(t), newFile(t)];
  await (await openDatabase(t, path)).close();
  await writeForeignFile(path, 'CREATE TABLE "own\u001b" (a)');
  const { line } = await runInProcess(['backup', backup, '--db', path]);
  assert.equal(line, `backed up ${path} to ${backup}`);
  await runInProcess(['restore', backup, '--db', restored]);
  const { status, stdout } = await runCommand(t, ['check', restored]);
  assert.equal(status, 0);
  const named = 'the table own\\x1b is not of the schema, and has no effect';
  assert.equal(stdout, `${restored}: ${named}\n${restored}: ok\n`);
});
