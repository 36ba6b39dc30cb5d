// The driver fails at its first call, at its second, and so on, until a whole scenario passes without a fault: each time
// every answer is a defined one and tells the truth, the next request works, and no transaction stays open.
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { DatabaseUnusable } from '../../../src/storage/database.ts';
import { newFile, openDatabase } from '../../support/databases.ts';
import { CODES, controlDriver, type FailingDriver, type Fault } from '../../support/failing-driver.ts';
import type { Answer } from '../../support/http.ts';
import { startService } from '../../support/service.ts';
import { assertUnavailable } from '../../support/storage-faults.ts';
import { assertSound, beside } from '../../support/stored-data.ts';

/** A request, the status of its success, and, for a write, how the stored texts show that it was done. */
interface Step {
  readonly method: string;
  readonly path: string;
  readonly json?: object;
  readonly status: number;
  readonly isDone?: (stored: string) => boolean;
}

const holds = (text: string) => (stored: string) => stored.includes(`"${text}"`);
const lacks = (text: string) => (stored: string) => !stored.includes(`"${text}"`);
const note = (title: string) => ({ title, body: 'b' });

/** What is asked one after the other; what stands together is asked at once. */
const SCENARIO: readonly (readonly Step[])[] = [
  [{ method: 'POST', path: '/notes', json: note('one'), status: 201, isDone: holds('one') }],
  [{ method: 'PUT', path: '/notes/1', json: note('changed'), status: 200, isDone: holds('changed') }],
  [{ method: 'GET', path: '/notes/1', status: 200 }],
  [{ method: 'POST', path: '/notes/1/comments', json: { body: 'said' }, status: 201, isDone: holds('said') }],
  [{ method: 'GET', path: '/notes', status: 200 }],
  [{ method: 'GET', path: '/notes/1/comments?offset=5000', status: 200 }],
  [
    { method: 'POST', path: '/tags', json: { name: 'red' }, status: 201, isDone: holds('red') },
    { method: 'POST', path: '/notes', json: note('two'), status: 201, isDone: holds('two') },
    { method: 'PUT', path: '/notes/1', json: note('again'), status: 200, isDone: holds('again') },
    { method: 'POST', path: '/notes/1/comments', json: { body: 'heard' }, status: 201, isDone: holds('heard') },
    { method: 'DELETE', path: '/notes/1/comments/1', status: 204, isDone: lacks('said') },
    { method: 'GET', path: '/notes/1', status: 200 },
    { method: 'GET', path: '/notes/1/comments', status: 200 },
  ],
  [{ method: 'DELETE', path: '/notes/1', status: 204, isDone: lacks('heard') }],
  [{ method: 'GET', path: '/health', status: 200 }],
];

function assertDefined(step: Step, answer: Answer): void {
  if (step.path === '/health') assert.deepEqual([answer.status, answer.json], [503, { status: 'ok', db: 'error' }]);
  else assertUnavailable(answer);
}

/** All texts that are stored, as another program sees them. */
function storedTexts(file: string): Promise<string> {
  return beside(file, async (connection) => {
    const tables = ['notes', 'tags', 'comments'].map((table) => connection.run({ sql: `SELECT * FROM ${table}` }));
    return JSON.stringify(await Promise.all(tables));
  });
}

/** Asserts that no connection of the service is in a transaction: neither the right to write is taken nor a snapshot held. */
async function assertNothingOpen(file: string): Promise<void> {
  await beside(file, async (connection) => {
    await connection.execute('PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK');
    const [checkpoint] = await connection.run({ sql: 'PRAGMA wal_checkpoint(TRUNCATE)' });
    assert.equal(checkpoint?.busy, 0);
  });
}

/** Plays the scenario on a copy of `empty` with a fault to come; resolves with whether the fault came. */
async function play(test: TestContext, empty: string, driver: FailingDriver, fault: Fault): Promise<boolean> {
  const db = newFile(test);
  copyFileSync(empty, db);
  const service = await startService(test, { db });
  driver.arm(fault);
  let hasFailed = false;
  for (const steps of SCENARIO) {
    const ask = ({ method, path, json }: Step) => service.request(method, path, json ? { json } : {});
    const answers = await Promise.all(steps.map(ask));
    hasFailed ||= driver.hasFailed();
    if (!driver.hasFailed()) {
      assert.deepEqual(
        answers.map(({ status }) => status),
        steps.map(({ status }) => status),
      );
      continue;
    }
    driver.arm(undefined);
    const stored = await storedTexts(service.file);
    for (const [index, step] of steps.entries()) {
      const answer = answers[index] ?? assert.fail();
      const isDone = answer.status === step.status;
      if (!isDone) assertDefined(step, answer);
      if (step.isDone) assert.equal(step.isDone(stored), isDone, `${step.method} ${step.path} was ${answer.status}`);
      if (!isDone) assert.equal((await ask(step)).status, step.status, `${step.method} ${step.path}, again`);
    }
    await assertNothingOpen(service.file);
  }
  driver.arm(undefined);
  await assertSound(service.file);
  await service.close();
  return hasFailed;
}

const codes = Object.keys(CODES) as Fault['code'][];
const CASES: readonly Omit<Fault, 'call'>[] = [
  ...codes.map((code) => ({ code, manner: 'once' }) as const),
  // As SQLite may do by itself after some of them.
  { code: 'FULL', manner: 'once, rolled back' },
  // One that is of the whole database, and one that is of a place in it.
  ...(['IOERR', 'CORRUPT'] as const).map((code) => ({ code, manner: 'lasting' }) as const),
];

for (const { code, manner } of CASES) {
  test(`wherever the driver fails with ${code} (${manner}), the answers are defined and true`, async (t) => {
    const empty = newFile(t);
    await (await openDatabase(t, empty)).close();
    const driver = controlDriver(t);
    let call = 1;
    while (await play(t, empty, driver, { call, code, manner })) call += 1;
    t.diagnostic(`${call - 1} calls failed, one in each run`);
    assert.ok(call > 25);
  });
}

test('wherever the driver fails during the start, that is told in one line, and the next start works', async (t) => {
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
    assert.equal((await service.request('POST', '/notes', { json: note('kept') })).json.id, 1);
    await assertSound(db);
    await service.close();
  }
  t.diagnostic(`${call - 1} calls failed, one in each start`);
  assert.ok(call > 25);
});
