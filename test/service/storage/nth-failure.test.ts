// The driver fails at its first call, at its second, and so on: every answer is a defined one and
// true, the next request works, and no transaction stays open. The kinds of faults take turns; the
// endurance tests go through all of each kind.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseUnusable } from '../../../src/storage/database.ts';
import { change, newFile, openPath } from '../../support/databases.ts';
import { controlDriver } from '../../support/failing-driver.ts';
import { assertSound } from '../../support/stored-data.ts';
import { CASES, failEachCall } from './failing-calls.ts';

test('driver faults: at any call of a service, its answers are true', (t) =>
  failEachCall(t, (call) => CASES[call % CASES.length] ?? assert.fail()));

test('driver faults: at calls of a start, and the next start works', async (t) => {
  const driver = controlDriver(t);
  let call = 0;
  let failed = 0;
  let hasFailed = true;
  while (hasFailed) {
    // Later calls are those of migrations, all of the same kind.
    call += call < 20 ? 1 : 4;
    const db = newFile(t);
    driver.arm({ call, code: 'IOERR', manner: 'once' });
    const outcome = await openPath(db).catch((error) => error);
    hasFailed = driver.hasFailed();
    if (hasFailed) failed += 1;
    driver.arm(undefined);
    if (outcome instanceof Error) {
      assert.ok(outcome instanceof DatabaseUnusable, `call ${call}: ${outcome.stack}`);
      assert.match(outcome.message, /^cannot open the database \S+notes\.db: [^\n]+$/);
    }
    const database = outcome instanceof Error ? await openPath(db) : outcome;
    assert.deepEqual(
      await change(database, `INSERT INTO tags (name) VALUES ('kept') RETURNING id`),
      [{ id: 1 }],
    );
    await assertSound(db);
    await database.close();
  }
  t.diagnostic(`${failed} calls failed, one in each start`);
  assert.ok(failed > 25);
});
