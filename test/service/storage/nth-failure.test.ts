// The driver fails at its first call, at its second, and so on: every answer is a defined one and true, the next request
// works, and no transaction stays open. The kinds of faults take turns; the endurance tests go through all of each kind.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseUnusable } from '../../../src/storage/database.ts';
import { newFile } from '../../support/databases.ts';
import { controlDriver } from '../../support/failing-driver.ts';
import { startService } from '../../support/service.ts';
import { assertSound } from '../../support/stored-data.ts';
import { CASES, failEachCall } from './failing-calls.ts';

test('driver faults: at any call of a service, true answers', (t) =>
  failEachCall(t, (call) => CASES[call % CASES.length] ?? assert.fail()));

test('driver faults: at any call of a start, one line, and the next works', async (t) => {
  const driver = controlDriver(t);
  let call = 0;
  let hasFailed = true;
  while (hasFailed) {
    call += 1;
    const db = newFile(t);
    driver.arm({ call, code: 'IOERR', manner: 'once' });
    const outcome = await startService(t, { db }).catch((error) => error);
    hasFailed = driver.hasFailed();
    driver.arm(undefined);
    if (outcome instanceof Error) {
      assert.ok(outcome instanceof DatabaseUnusable, `call ${call}: ${outcome.stack}`);
      assert.match(outcome.message, /^cannot open the database \S+notes\.db: [^\n]+$/);
    }
    const service = outcome instanceof Error ? await startService(t, { db }) : outcome;
    assert.equal((await service.request('POST', '/notes', { json: { title: 'kept', body: 'b' } })).json.id, 1);
    await assertSound(db);
    await service.close();
  }
  t.diagnostic(`${call - 1} calls failed, one in each start`);
  assert.ok(call > 25);
});
