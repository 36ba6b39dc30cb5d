// `notes-server copy`: between files and clusters, after an interruption, and when it is refused.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { formatCounts } from '../../../src/commands/walk.ts';
import { runCommand } from '../../support/command.ts';
import { NO_RECORDS, newFile, openDatabase, writeForeignFile } from '../../support/databases.ts';
import { clusterAddress, temporaryFolder } from '../../support/engine.ts';
import { filledFile } from '../../support/filled.ts';
import {
  breakAt,
  exported,
  type InProcessParts,
  runInProcess,
} from '../../support/in-process-command.ts';
import { startStandIn } from '../../support/rqlite-stand-in.ts';
import { startService } from '../../support/service.ts';
import { assertSound } from '../../support/stored-data.ts';

/** The counts of 1,100 notes with what {@link filledFile} adds. */
const FILLED = formatCounts({ ...NO_RECORDS, notes: 1_106, tags: 2, comments: 1, note_tags: 3 });

const NOTE = { title: 'a', body: 'b' };

const copy = (from: string, to: string, parts?: InProcessParts) =>
  runInProcess(['copy', '--from', from, '--to', to], parts);

test('copy: from a file to a cluster and back to a file', async (t) => {
  const file = await filledFile(t, 1_100);
  const db = clusterAddress((await startStandIn(t, 2)).nodes);
  const there = await runCommand(t, ['copy', '--from', file, '--to', db]);
  assert.deepEqual(
    [there.status, there.stdout],
    [0, `${file} and ${db} have the same content: ${FILLED}\n`],
    there.stderr,
  );
  assert.match(there.stderr, /^copied .* % of 1,112[\s\S]*\ncompared 100 % of 1,112, [\d,]+\/s\n$/);
  assert.ok(!existsSync(`${file}-wal`));

  const { request, close } = await startService(t, { db });
  assert.equal((await request('GET', '/notes/1100')).json.title, 'title 1100');
  assert.equal((await request('GET', '/notes/1/comments')).json.total, 1);
  assert.equal((await request('POST', '/notes', { json: NOTE })).json.id, 1_109);
  await assertSound(db);
  await close();

  const other = join(temporaryFolder(t), 'other.db');
  await copy(db, other);
  const served = await startService(t, { db: other });
  assert.equal((await served.request('GET', '/notes')).json.total, 1_107);
  await assertSound(other);
});

for (const engine of ['file', 'cluster']) {
  test(`copy: to a ${engine}, finished after an interruption`, async (t) => {
    const from = await filledFile(t, 1_100);
    const to = engine === 'file' ? newFile(t) : clusterAddress((await startStandIn(t)).nodes);
    await assert.rejects(
      copy(from, to, { onProgress: breakAt('copied') }),
      /cannot copy to \S+: broken off$/,
    );
    const half = /cannot open the database \S+: it holds an unfinished copy: run the copy again$/;
    await assert.rejects(startService(t, { db: to }), half);
    await assert.rejects(copy(to, newFile(t)), half);
    await assert.rejects(exported(to), half);
    await assert.rejects(runInProcess(['import', '--db', to], { input: EXPORT }), half);
    assert.match(String((await copy(from, to)).line), /have the same content: 1,106 notes, /);
    assert.match(String((await copy(from, to)).line), /have the same content: 1,106 notes, /);
    const { request } = await startService(t, { db: to });
    assert.equal((await request('GET', '/notes')).json.total, 1_106);
    await assertSound(to);
  });
}

const EXPORT =
  '{"type":"notes-server","version":1,"counts":{},"last_ids":{"notes":1}}\n' +
  '{"type":"end","records":0}\n';

test('copy: a file that a service uses is refused', async (t) => {
  const [other, used, to] = [await filledFile(t, 1), newFile(t), newFile(t)];
  const { request, close } = await startService(t, { db: used });
  assert.equal((await request('POST', '/notes', { json: NOTE })).status, 201);
  const reason =
    /cannot open the database \S+: another process is using it; stop that process first$/;
  await assert.rejects(copy(used, to), reason);
  assert.ok(!existsSync(to));
  await assert.rejects(copy(other, used), reason);
  assert.equal((await request('POST', '/notes', { json: NOTE })).status, 201);
  await close();
  assert.match(String((await copy(used, to)).line), /have the same content: 2 notes, /);
});

test('copy: an empty cluster is refused and stays empty', async (t) => {
  const standIn = await startStandIn(t);
  await assert.rejects(copy(clusterAddress(standIn.nodes), newFile(t)), /it is empty$/);
  assert.equal(standIn.requests.execute, 0);
});

test('copy: the password of the cluster comes from a file', async (t) => {
  const { nodes } = await startStandIn(t, 1, { user: 'me', password: 'secret' });
  const [from, password] = [await filledFile(t, 1), join(temporaryFolder(t), 'password')];
  writeFileSync(password, 'secret\n');
  const db = `${clusterAddress(nodes)}?user=me`;
  const env = { NOTES_DB_PASSWORD_FILE: password };
  await copy(from, db, { env });
  await assert.rejects(
    copy(db, 'rqlite://127.0.0.1:1?user=other', { env }),
    /^UsageError: copy takes one password only: between two clusters .*, copy to a file first$/,
  );
});

test('copy: an unusable source or target is refused', async (t) => {
  const [file, to, foreign, other] = [await filledFile(t, 1), newFile(t), newFile(t), newFile(t)];
  await writeForeignFile(foreign, 'CREATE TABLE theirs (id INTEGER)');
  const database = await openDatabase(t, other);
  await database.transact('other', [{ sql: `INSERT INTO notes (title, body) VALUES ('a', 'b')` }]);
  await database.close();
  await assert.rejects(copy(newFile(t), to), /there is no such file$/);
  await assert.rejects(copy(foreign, to), /it belongs to another program$/);
  assert.ok(!existsSync(to));
  await assert.rejects(copy(file, foreign), /it belongs to another program$/);
  await assert.rejects(copy(file, other), /cannot copy to \S+: it already holds other records$/);
});
