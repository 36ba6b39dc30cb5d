// The databases of released versions are upgraded by real processes that are killed between two
// steps and in the middle of one, by several processes at once, and from copies in between.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, statSync } from 'node:fs';
import { Agent } from 'node:http';
import { type TestContext, test } from 'node:test';
import { STEPS } from '../../src/storage/schema/steps.ts';
import { type Command, runCommand, startCommand, stop } from '../support/command.ts';
import { newFile } from '../support/databases.ts';
import { clusterAddress } from '../support/engine.ts';
import { request } from '../support/http.ts';
import { runInProcess } from '../support/in-process-command.ts';
import { assertServes, NEXT_STEPS, nextVersion, PAUSE, RELEASES } from '../support/released.ts';
import { startStandIn } from '../support/rqlite-stand-in.ts';
import { beside } from '../support/stored-data.ts';
import { until } from '../support/until.ts';

/** A step whose transaction is written in many parts. */
const LONG_STEP = `CREATE TABLE long (
  -- Takes a while.
  text TEXT NOT NULL
) STRICT;

INSERT INTO long
  WITH RECURSIVE numbers (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < 300000)
  SELECT printf('%.*c', 500, 'x') FROM numbers;`;

const CENTURY = ['--history-days', '36500'];

function start(t: TestContext, db: string, node: readonly string[], ...args: string[]) {
  return startCommand(t, ['--port', '0', '--db', db, ...CENTURY, ...args], { node });
}

/** Starts the next version on `db`, and kills it before a step. */
async function killBefore(t: TestContext, db: string, step: number): Promise<void> {
  const service = start(t, db, nextVersion(t, NEXT_STEPS, step));
  await service.says(PAUSE);
  assert.equal((await stop(service, 'SIGKILL')).signal, 'SIGKILL');
}

async function versionOf(db: string): Promise<unknown> {
  const sql = 'SELECT max(version) AS version FROM notes_server_schema';
  const [row] = await beside(db, (connection) => connection.run({ sql }));
  return row?.version;
}

function copyOf(t: TestContext, db: string): string {
  const copy = newFile(t);
  for (const end of ['', '-wal']) if (existsSync(db + end)) copyFileSync(db + end, copy + end);
  return copy;
}

for (const release of RELEASES) {
  /** Looks for all that the release has left. */
  const assertServesAll = async ({ ready }: Command, left = release) => {
    const url = await ready();
    const agent = new Agent({ keepAlive: true });
    await assertServes(
      (method, path, parts) => request(url, method, path, { ...parts, agent }),
      left,
    );
    agent.destroy();
  };

  /** Lets the next version serve `db`. */
  const assertUpgrades = async (t: TestContext, db: string, node = nextVersion(t)) => {
    const service = start(t, db, node);
    await assertServesAll(service);
    const { status, stderr } = await stop(service);
    assert.equal(status, 0, stderr);
    assert.equal(await versionOf(db), STEPS.length + NEXT_STEPS.length);
    const check = await runCommand(t, ['check', '--db', db], { node });
    assert.deepEqual([check.status, check.stdout], [0, `${db}: ok\n`], check.stderr);
  };

  test(`upgrades of ${release.version}: a kill between two steps loses nothing`, async (t) => {
    const db = await release.copyDatabase(t);
    for (const step of NEXT_STEPS.keys()) {
      await killBefore(t, db, step);
      const copy = copyOf(t, db);
      assert.equal(await versionOf(copy), STEPS.length + step);
      // Copies in between are as good: as they are, and as a backup.
      const [backup, restored] = [newFile(t), newFile(t)];
      const node = nextVersion(t);
      for (const args of [
        ['backup', backup, '--db', copy],
        ['restore', backup, '--db', restored],
      ]) {
        const { status, stderr } = await runCommand(t, args, { node });
        assert.equal(status, 0, stderr);
      }
      for (const each of [copy, restored]) await assertUpgrades(t, each);
    }
    await assertUpgrades(t, db);
  });

  test(`upgrades of ${release.version}: a kill within a step undoes it`, async (t) => {
    const db = await release.copyDatabase(t);
    const service = start(t, db, nextVersion(t, [...NEXT_STEPS, LONG_STEP]));
    await until(() => existsSync(`${db}-wal`) && statSync(`${db}-wal`).size > 8_000_000);
    assert.equal((await stop(service, 'SIGKILL')).signal, 'SIGKILL');
    assert.equal(await versionOf(db), STEPS.length + NEXT_STEPS.length);
    await assertUpgrades(t, db);
  });

  for (const processes of ['1', '2'])
    test(`upgrades of ${release.version}: two services at once, of ${processes}`, async (t) => {
      const node = nextVersion(t);
      let said = '';
      for (let round = 1; round <= 5; round += 1) {
        const db = await release.copyDatabase(t);
        const services = [1, 2].map(() => start(t, db, node, '--processes', processes));
        for (const service of services) await service.ready();
        if (round === 1) for (const service of services) await assertServesAll(service);
        for (const service of services) {
          const { status, stderr } = await stop(service);
          assert.equal(status, 0, stderr);
          said += stderr;
        }
        assert.equal(await versionOf(db), STEPS.length + NEXT_STEPS.length);
        assert.ok(said.split('upgrading the database').length > round, said);
        assert.doesNotMatch(said, /"level":"error"/);
        if (round === 1) await assertUpgrades(t, db, node);
      }
    });

  test(`upgrades of ${release.version}: a cluster, after a kill and by two at once`, async (t) => {
    const { nodes } = await startStandIn(t, 3);
    const db = clusterAddress(nodes);
    await runInProcess(['import', '--db', db], { input: release.exported });
    await killBefore(t, db, 1);
    const node = nextVersion(t);
    const services = [1, 2].map(() => start(t, db, node));
    // Keys are not exported.
    const left = { ...release, requests: [] };
    for (const service of services) {
      await assertServesAll(service, left);
      const { status, stderr } = await stop(service);
      assert.equal(status, 0, stderr);
    }
  });
}
