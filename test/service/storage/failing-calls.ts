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

const SCENARIO: readonly (readonly Step[])[] = [
  [{ method: 'POST', path: '/notes', json: note('one'), status: 201, isDone: holds('one') }],
  [
    {
      method: 'PUT',
      path: '/notes/1',
      json: note('changed'),
      status: 200,
      isDone: holds('changed'),
    },
  ],
  [{ method: 'GET', path: '/notes/1', status: 200 }],
  [
    {
      method: 'POST',
      path: '/notes/1/comments',
      json: { body: 'said' },
      status: 201,
      isDone: holds('said'),
    },
  ],
  [{ method: 'GET', path: '/notes', status: 200 }],
  [{ method: 'GET', path: '/notes/1/comments?offset=5000', status: 200 }],
  [
    { method: 'POST', path: '/tags', json: { name: 'red' }, status: 201, isDone: holds('red') },
    { method: 'POST', path: '/notes', json: note('two'), status: 201, isDone: holds('two') },
    { method: 'PUT', path: '/notes/1', json: note('again'), status: 200, isDone: holds('again') },
    {
      method: 'POST',
      path: '/notes/1/comments',
      json: { body: 'heard' },
      status: 201,
      isDone: holds('heard'),
    },
    { method: 'DELETE', path: '/notes/1/comments/1', status: 204, isDone: lacks('said') },
    { method: 'GET', path: '/notes/1', status: 200 },
    { method: 'GET', path: '/notes/1/comments', status: 200 },
  ],
  [{ method: 'DELETE', path: '/notes/1', status: 204, isDone: lacks('heard') }],
  [{ method: 'GET', path: '/health', status: 200 }],
];

function assertDefined(step: Step, answer: Answer, { code }: Fault): void {
  if (step.path === '/health')
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
    const sendStep = ({ method, path, json }: Step) =>
      service.request(method, path, json ? { json } : {});
    const answers = await Promise.all(steps.map(sendStep));
    if (driver.hasFailed()) failedIn ??= place;
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
      if (!isDone) assertDefined(step, answer, fault);
      if (step.isDone)
        assert.equal(
          step.isDone(stored),
          isDone,
          `${step.method} ${step.path} was ${answer.status}`,
        );
      if (!isDone)
        assert.equal(
          (await sendStep(step)).status,
          step.status,
          `${step.method} ${step.path}, again`,
        );
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
