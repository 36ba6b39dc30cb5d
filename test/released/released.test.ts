// What released versions have left: their databases are opened and upgraded, and their exports are
// imported.
import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { migrate } from '../../src/storage/schema/migrations.ts';
import { STEPS } from '../../src/storage/schema/steps.ts';
import { readVersion } from '../../src/version.ts';
import { startCommand, stop } from '../support/command.ts';
import { newFile, openEmpty, openPath, rows } from '../support/databases.ts';
import { clusterAddress } from '../support/engine.ts';
import { exported, runInProcess } from '../support/in-process-command.ts';
import { promisesOf } from '../support/promises.ts';
import {
  assertHas,
  assertServes,
  NEXT_STEPS,
  nextVersion,
  RELEASES,
  recordsIn,
} from '../support/released.ts';
import { startStandIn } from '../support/rqlite-stand-in.ts';
import { assertIndexed, bringUpToDate } from '../support/search-index.ts';
import { startService } from '../support/service.ts';
import { root } from '../support/sources.ts';
import { assertSound } from '../support/stored-data.ts';

const LARGEST = 200_000;
const CENTURY = 36_500;
const ALL_STEPS = [...STEPS, ...NEXT_STEPS];

test('released: there is what this version leaves, and it is small', () => {
  assert.equal(RELEASES.at(-1)?.version, readVersion(), 'run npm run keep:release');
  for (const { version } of RELEASES) {
    const folder = new URL(`test/released/${version}/`, root);
    const sizes = readdirSync(folder).map((name) => statSync(new URL(name, folder)).size);
    assert.ok(sizes.reduce((sum, size) => sum + size) < LARGEST, version);
  }
});

for (const release of RELEASES) {
  const { version } = release;

  test(`released ${version}: a service has all of its database and its promises`, async (t) => {
    const db = await release.copyDatabase(t);
    await assertSound(db);
    const service = await startService(t, { db, historyDays: CENTURY });
    await assertServes(service.request, release);
    const promises = await promisesOf(service);
    const broken = release.promises.filter((line) => !promises.includes(line));
    assert.deepEqual(broken, []);
    await service.close();
    await assertHas(db, release);
    await assertSound(db);
  });

  test(`released ${version}: its export is imported`, async (t) => {
    for (const db of [newFile(t), clusterAddress((await startStandIn(t)).nodes)]) {
      await runInProcess(['import', '--db', db], { input: release.exported });
      await assertHas(db, release);
      await assertSound(db);
    }
  });

  test(`released ${version}: later steps upgrade its database`, async (t) => {
    const database = await openEmpty(t, await release.copyDatabase(t));
    for (let time = 1; time <= 2; time += 1) await migrate(database, ALL_STEPS);
    const counts = 'SELECT (SELECT count(*) FROM notes) = count(*) AS isFilled FROM note_lengths';
    assert.deepEqual(await rows(database, counts), [{ isFilled: 1 }]);
    await bringUpToDate(database);
    await assertIndexed(database);
  });

  test(`released ${version}: later steps upgrade a cluster with its data`, async (t) => {
    const { nodes } = await startStandIn(t, 3);
    const db = clusterAddress(nodes);
    await runInProcess(['import', '--db', db], { input: release.exported });
    const lines = recordsIn(await exported(db));
    const [one, other] = [await openPath(db), await openPath(db)];
    await Promise.all([one, other].map((database) => migrate(database, ALL_STEPS)));
    const versions = await rows(one, 'SELECT version FROM notes_server_schema');
    assert.equal(versions.length, ALL_STEPS.length);
    const counts = 'SELECT (SELECT count(*) FROM notes) = count(*) AS isFilled FROM note_lengths';
    assert.deepEqual(await rows(other, counts), [{ isFilled: 1 }]);
    assert.ok(lines.length > 100);
    for (const each of [one, other]) await each.close();
  });

  test(`released ${version}: a service says that it upgrades the database`, async (t) => {
    const db = await release.copyDatabase(t);
    const args = ['--port', '0', '--log-level', 'warn', '--db', db];
    for (const upgrades of [1, 0]) {
      const service = startCommand(t, args, { node: nextVersion(t) });
      await service.ready();
      const { status, stderr } = await stop(service);
      const lines = stderr.split('\n').slice(0, -1);
      assert.deepEqual([status, lines.length], [0, upgrades], stderr);
      if (upgrades === 0) continue;
      const { level, message, from, to, backupBefore } = JSON.parse(stderr);
      assert.equal(level, 'warn');
      assert.match(message, /^upgrading the database, without a copy: earlier versions/);
      assert.deepEqual([from, to], [STEPS.length, ALL_STEPS.length]);
      assert.equal(backupBefore, `notes-server backup TARGET --db ${db}`);
    }
  });
}
