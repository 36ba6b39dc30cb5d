// A scenario of requests during which one call of the driver fails, and what must hold then.
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { DatabaseUnusable } from '../../../src/storage/database.ts';
import { change, newFile, openDatabase, openPath } from '../../support/databases.ts';
import {
  CODES,
  controlDriver,
  type FailingDriver,
  type Fault,
} from '../../support/failing-driver.ts';
import type { Answer } from '../../support/http.ts';
import { startService } from '../../support/service.ts';
import { assertUnavailable, DISK_FULL } from '../../support/storage-faults.ts';
import { assertSound, beside } from '../../support/stored-data.ts';

/** A request, the status of its success and, for a write, whether the stored texts show it. */
type Step = readonly [
  request: string,
  status: number,
  json?: object | undefined,
  isDone?: (stored: string) => boolean,
];

const holds = (text: string) => (stored: string) => stored.includes(`"${text}"`);
const lacks = (text: string) => (stored: string) => !stored.includes(`"${text}"`);
const note = (title: string) => ({ title, body: 'b' });

const SCENARIO: readonly (readonly Step[])[] = [
  [['POST /notes', 201, note('one'), holds('one')]],
  [['PUT /notes/1', 200, note('changed'), holds('changed')]],
  [['GET /notes/1', 200]],
  [['POST /notes/1/comments', 201, { body: 'said' }, holds('said')]],
  [['GET /notes', 200]],
  [['GET /notes/1/comments?offset=5000', 200]],
  [
    ['POST /tags', 201, { name: 'red' }, holds('red')],
    ['POST /notes', 201, note('two'), holds('two')],
    ['PUT /notes/1', 200, note('again'), holds('again')],
    ['POST /notes/1/comments', 201, { body: 'heard' }, holds('heard')],
    ['DELETE /notes/1/comments/1', 204, undefined, lacks('said')],
    ['GET /notes/1', 200],
    ['GET /notes/1/comments', 200],
  ],
  [['DELETE /notes/1', 204, undefined, lacks('again')]],
  [['GET /health', 200]],
];

function assertDefined(request: string, answer: Answer, { code }: Fault): void {
  if (request === 'GET /health')
    assert.deepEqual([answer.status, answer.json], [503, { status: 'ok', db: 'error' }]);
  else assertUnavailable(answer, code === 'FULL' ? DISK_FULL : undefined);
}

function storedTexts(file: string): Promise<string> {
  return beside(file, async (connection) => {
    const tables = ['notes', 'tags', 'comments'].map((table) =>
      connection.run({ sql: `SELECT * FROM ${table}` }),
    );
    return JSON.stringify(await Promise.all(tables));
  });
}

async function assertNothingOpen(file: string): Promise<void> {
  await beside(file, async (connection) => {
    await connection.execute('PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK');
    const [checkpoint] = await connection.run({ sql: 'PRAGMA wal_checkpoint(TRUNCATE)' });
    assert.equal(checkpoint?.busy, 0);
  });
}

/** Plays the scenario while `fault` is armed; resolves with whether the fault occurred. */
async function playWithFault(
  test: TestContext,
  empty: string,
  driver: FailingDriver,
  fault: Fault,
): Promise<boolean> {
  const db = newFile(test);
  copyFileSync(empty, db);
  const service = await startService(test, { db });
  driver.arm(fault);
  let failedIn: number | undefined;
  for (const [place, steps] of SCENARIO.entries()) {
    // One group after the fault is enough to show that requests work again.
    if (failedIn !== undefined && place > failedIn + 1) break;
    const sendStep = ([request, , json]: Step) => {
      const [method = '', path = ''] = request.split(' ');
      return service.request(method, path, json ? { json } : {});
    };
    const answers = await Promise.all(steps.map(sendStep));
    if (driver.hasFailed()) failedIn ??= place;
    if (!driver.hasFailed()) {
      assert.deepEqual(
        answers.map(({ status }) => status),
        steps.map(([, status]) => status),
      );
      continue;
    }
    driver.arm(undefined);
    const stored = await storedTexts(service.file);
    for (const [index, step] of steps.entries()) {
      const [request, status, , isStored] = step;
      const answer = answers[index] ?? assert.fail();
      const isDone = answer.status === status;
      if (!isDone) assertDefined(request, answer, fault);
      if (isStored) assert.equal(isStored(stored), isDone, `${request} was ${answer.status}`);
      if (!isDone) assert.equal((await sendStep(step)).status, status, `${request}, again`);
    }
    await assertNothingOpen(service.file);
  }
  driver.arm(undefined);
  await assertSound(service.file);
  await service.close();
  return failedIn !== undefined;
}

const codes = Object.keys(CODES) as Fault['code'][];

/** Every kind of fault. */
export const CASES: readonly Omit<Fault, 'call'>[] = [
  ...codes.map((code) => ({ code, manner: 'once' }) as const),
  // SQLite may roll back by itself.
  { code: 'FULL', manner: 'once, rolled back' },
  // One concerns the whole database, the other a place in it.
  ...(['IOERR', 'CORRUPT'] as const).map((code) => ({ code, manner: 'lasting' }) as const),
];

/** Makes every `step`th call fail, one in each run; `kindOf` gives each its fault. */
export async function failCalls(
  t: TestContext,
  kindOf: (call: number) => Omit<Fault, 'call'>,
  step: number,
): Promise<void> {
  const empty = newFile(t);
  await (await openDatabase(t, empty)).close();
  const driver = controlDriver(t);
  let call = 1;
  let failed = 0;
  while (await playWithFault(t, empty, driver, { ...kindOf(call), call })) {
    call += step;
    failed += 1;
  }
  t.diagnostic(`${failed} calls failed, one in each run`);
  assert.ok(call > 25);
}

/** Makes every `step`th call of a start fail, one in each start; the next start must work. */
export async function failStarts(t: TestContext, step: number): Promise<void> {
  const driver = controlDriver(t);
  let call = 1;
  let failed = 0;
  for (; await failStart(t, driver, call); call += step) failed += 1;
  t.diagnostic(`${failed} calls failed, one in each start`);
  assert.ok(call > 50);
}

async function failStart(t: TestContext, driver: FailingDriver, call: number): Promise<boolean> {
  const db = newFile(t);
  driver.arm({ call, code: 'IOERR', manner: 'once' });
  const outcome = await openPath(db).catch((error) => error);
  const hasFailed = driver.hasFailed();
  driver.arm(undefined);
  if (outcome instanceof Error) {
    assert.ok(outcome instanceof DatabaseUnusable, `call ${call}: ${outcome.stack}`);
    assert.match(outcome.message, /^cannot open the database \S+notes\.db: [^\n]+$/);
  }
  const database = outcome instanceof Error ? await openPath(db) : outcome;
  assert.deepEqual(await change(database, `INSERT INTO tags (name) VALUES ('kept') RETURNING id`), [
    { id: 1 },
  ]);
  await assertSound(db);
  await database.close();
  return hasFailed;
}
