// `notes-server copy` as its users meet it: from a file to a cluster and back, after a break, and where it must not.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { assertRefused, runCommand, startCommand } from '../../support/command.ts';
import { newFile, openDatabase, writeForeignFile } from '../../support/databases.ts';
import { clusterAddress, temporaryFolder } from '../../support/engine.ts';
import { startStandIn } from '../../support/rqlite-stand-in.ts';
import { startService } from '../../support/service.ts';
import { assertSound } from '../../support/stored-data.ts';
import { until } from '../../support/until.ts';

/** Returns the path of a file with so many notes. */
async function fileWith(t: TestContext, count: number): Promise<string> {
  const path = newFile(t);
  const database = await openDatabase(t, path);
  await database.transact('fill', [
    {
      sql: `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
            INSERT INTO notes (title, body) SELECT 'title ' || i, printf('%.*c', 1000, 'x') FROM n`,
    },
    { sql: `INSERT INTO comments (note_id, body) VALUES (1, 'on one')` },
  ]);
  await database.close();
  return path;
}

test('a file goes to a cluster, which a service serves then, and back to another file', async (t) => {
  const file = await fileWith(t, 3_000);
  const db = clusterAddress((await startStandIn(t, 2)).nodes);
  const there = await runCommand(t, ['copy', '--from', file, '--to', db]);
  assert.deepEqual(
    [there.status, there.stdout],
    [0, `${file} and ${db} hold the same: 3,000 notes, 0 tags, 1 comments\n`],
  );
  assert.match(there.stderr, /^copied .* % of 3,001[\s\S]*\ncompared 100 % of 3,001, [\d,]+\/s\n$/);
  assert.ok(!existsSync(`${file}-wal`));

  const { request, close } = await startService(t, { db });
  assert.equal((await request('GET', '/notes/3000')).json.title, 'title 3000');
  assert.equal((await request('GET', '/notes/1/comments')).json.total, 1);
  assert.equal((await request('POST', '/notes', { json: { title: 'a', body: 'b' } })).json.id, 3_001);
  await assertSound(db);
  await close();

  const other = join(temporaryFolder(t), 'other.db');
  assert.equal((await runCommand(t, ['copy', '--from', db, '--to', other])).status, 0);
  const served = await startService(t, { db: other });
  assert.equal((await served.request('GET', '/notes')).json.total, 3_001);
  await assertSound(other);
});

test('after a break no service starts on what is there, and another run finishes it', async (t) => {
  const file = await fileWith(t, 20_000);
  const standIn = await startStandIn(t);
  const db = clusterAddress(standIn.nodes);
  const args = ['copy', '--from', file, '--to', db];
  const { execute } = standIn.requests;
  const first = startCommand(t, args);
  await until(() => standIn.requests.execute > execute + 5);
  first.process.kill('SIGKILL');
  assert.equal((await first.ended).signal, 'SIGKILL');

  const half = /^notes-server: cannot open the database rqlite:\S+: a copy into it was not finished: run it again\n$/;
  assertRefused(await runCommand(t, ['--port', '0', '--db', db]), 1, half);
  assertRefused(await runCommand(t, ['copy', '--from', db, '--to', newFile(t)]), 1, half);
  const { status, stdout } = await runCommand(t, args);
  assert.deepEqual([status, /20,000 notes/.test(stdout)], [0, true]);
  assert.equal((await runCommand(t, args)).status, 0);
  const { request } = await startService(t, { db });
  assert.equal((await request('GET', '/notes')).json.total, 20_000);
  await assertSound(db);
});

test('a file that a service uses is not copied, and the service does not mind', async (t) => {
  const db = newFile(t);
  const service = await startService(t, { db });
  await service.request('POST', '/notes', { json: { title: 'a', body: 'b' } });
  const to = newFile(t);
  assertRefused(
    await runCommand(t, ['copy', '--from', db, '--to', to]),
    1,
    /cannot open the database \S+: another process holds a lock on it/,
  );
  assert.ok(!existsSync(to));
  assert.equal((await service.request('POST', '/notes', { json: { title: 'a', body: 'b' } })).status, 201);
  await service.close();
  assert.equal((await runCommand(t, ['copy', '--from', db, '--to', to])).status, 0);
});

test('a file that a service uses is not copied into either, and a half copied one is no source', async (t) => {
  const [from, to] = [await fileWith(t, 20_000), newFile(t)];
  const service = await startService(t, { db: to });
  const args = ['copy', '--from', from, '--to', to];
  assertRefused(await runCommand(t, args), 1, /another process holds a lock on it/);
  assert.equal((await service.request('GET', '/health')).status, 200);
  await service.close();
  const { ended, says, process } = startCommand(t, args);
  await says('copied 10 %');
  process.kill('SIGINT');
  await ended;
  const half = /a copy into it was not finished/;
  assertRefused(await runCommand(t, ['--port', '0', '--db', to]), 1, half);
  assertRefused(await runCommand(t, ['copy', '--from', to, '--to', newFile(t)]), 1, half);
  assert.equal((await runCommand(t, args)).status, 0);
});

test('a cluster that is empty is no source, and stays as it is', async (t) => {
  const standIn = await startStandIn(t);
  assertRefused(
    await runCommand(t, ['copy', '--from', clusterAddress(standIn.nodes), '--to', newFile(t)]),
    1,
    /it is empty/,
  );
  assert.equal(standIn.requests.execute, 0);
});

test('the password may stand in a file that the environment names, and goes to one cluster alone', async (t) => {
  const { nodes } = await startStandIn(t, 1, { user: 'me', password: 'secret' });
  const [from, password] = [await fileWith(t, 1), join(temporaryFolder(t), 'password')];
  writeFileSync(password, 'secret\n');
  const db = `${clusterAddress(nodes)}?user=me`;
  const env = { NOTES_DB_PASSWORD_FILE: password };
  assert.equal((await runCommand(t, ['copy', '--from', from, '--to', db], { env })).status, 0);
  const both = ['copy', '--from', db, '--to', 'rqlite://127.0.0.1:1?user=other'];
  assertRefused(await runCommand(t, both, { env }), 2, /one password/);
});

test('what cannot be copied, or not there, is told in one line', async (t) => {
  const [file, to, foreign] = [await fileWith(t, 1), newFile(t), newFile(t)];
  await writeForeignFile(foreign, 'CREATE TABLE theirs (id INTEGER)');
  const other = await fileWith(t, 2);
  const copy = (from: string, to: string) => runCommand(t, ['copy', '--from', from, '--to', to]);
  assertRefused(await copy(newFile(t), to), 1, /there is no such file/);
  assertRefused(await copy(foreign, to), 1, /it belongs to another program/);
  assert.ok(!existsSync(to));
  assertRefused(await copy(file, foreign), 1, /it belongs to another program/);
  const { status, stderr } = await copy(file, other);
  assert.deepEqual(
    [status, /\nnotes-server: cannot copy to \S+: it holds other records already\n$/.test(`\n${stderr}`)],
    [1, true],
  );
});

test('a copy without both ends, onto itself or with anything else is told in one line, with exit status 2', async (t) => {
  for (const args of [
    [],
    ['--from', 'a'],
    ['--to', 'a'],
    ['--from', 'a', '--to', 'a'],
    ['--from', 'a', '--to', ':memory:'],
    ['a', 'b'],
    ['--from', 'a', '--to', 'http://b'],
    ['--from', 'a', '--to', 'b', '--db', 'c'],
  ]) {
    assertRefused(await runCommand(t, ['copy', ...args]), 2, /see --help/);
  }
  assert.match((await runCommand(t, ['copy', '--help'])).stdout, /notes-server copy --from DB --to DB/);
});
