// What derives from the declaration of a resource, on the engines of every test run: for the
// resources of the service and for those of tasks.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { soundnessQueries } from '../../src/commands/check.ts';
import { recordLines } from '../../src/commands/export.ts';
import { readerOf, readLine, readRecord } from '../../src/commands/export-format.ts';
import { insertion, lastIdsOf } from '../../src/pages.ts';
import { recordText } from '../../src/records/text.ts';
import { type FieldValue, type Resource, valuesOf } from '../../src/resources/resource.ts';
import { RESOURCES } from '../../src/resources/resources.ts';
import type { Database } from '../../src/storage/database.ts';
import { createWriter } from '../../src/storage/writer.ts';
import { rows } from '../support/databases.ts';
import { ENGINES } from '../support/engines.ts';
import { plainTable } from '../support/tables.ts';
import { openWithTasks, STEPS, TASK_RESOURCES, TASKS } from '../support/tasks.ts';

/** Returns a record with values that depend on its id; it belongs to the owner with the id 1. */
function sampleOf({ fields, owner }: Resource, id: number): readonly FieldValue[] {
  const byType: Record<string, FieldValue> = {
    text: `text ${id}`,
    integer: id,
    boolean: id % 2 === 1,
  };
  const values = Object.values(fields).map(({ type }) => byType[type] ?? assert.fail(type));
  return [id, ...(owner ? [1] : []), ...values];
}

/** Returns a record as {@link sampleOf} does, with a number of its own, and times. */
function rowOf(resource: Resource, id: number): readonly (FieldValue | null)[] {
  const position = [...RESOURCES, ...TASK_RESOURCES].indexOf(resource);
  return [...sampleOf(resource, id), 10 * id + position, 1_000 + id, null];
}

/** Returns all records as the lines of an export. */
async function linesIn(database: Database, resource: Resource): Promise<string[]> {
  let all = '';
  for await (const { lines } of recordLines(database, resource)) all += lines;
  return all.split('\n').slice(0, -1);
}

async function faultsIn(database: Database, resources: readonly Resource[]): Promise<unknown[]> {
  const found = await Promise.all(soundnessQueries(resources).map((sql) => rows(database, sql)));
  return found.flat().flatMap((row) => Object.values(row));
}

/** Asserts that two databases hold the same records and last ids, and that both are sound. */
async function assertSame(one: Database, other: Database, resources: readonly Resource[]) {
  for (const resource of resources)
    assert.deepEqual(await linesIn(other, resource), await linesIn(one, resource));
  assert.deepEqual(await lastIdsOf(other), await lastIdsOf(one));
  for (const database of [one, other]) assert.deepEqual(await faultsIn(database, resources), []);
}

for (const engine of ENGINES) {
  test(`resources: all types survive export and import (${engine.name})`, async (t) => {
    const [source, imported] = [await openWithTasks(t, engine), await openWithTasks(t, engine)];
    const ids = [1, 2, 1_500];
    for (const resource of TASK_RESOURCES) {
      const complete = ids.map((id) => rowOf(resource, id));
      await source.transact([insertion(resource, complete)]);
      const read = readerOf(resource, () => undefined);
      const values = (await linesIn(source, resource)).map(
        (line) => read(readLine(Buffer.from(line))).values,
      );
      assert.deepEqual(
        values,
        ids.map((id) => sampleOf(resource, id)),
      );
      const rows = values.map((each, index) => [...each, ...(complete[index] ?? []).slice(-3)]);
      await imported.transact([insertion(resource, rows)]);
    }
    await assertSame(source, imported, TASK_RESOURCES);
  });

  test(`resources: an owner beside a boolean and an integer (${engine.name})`, async (t) => {
    const database = await openWithTasks(t, engine);
    const write = createWriter(database);
    const [tasks, steps] = TASK_RESOURCES.map((each) => plainTable(each, database, write));
    assert.ok(tasks && steps);
    await tasks.create(valuesOf(TASKS, { title: 'a' }));
    const values = [
      valuesOf(STEPS, { done: true }),
      valuesOf(STEPS, { done: false, key: 0 }),
    ] as const;
    assert.deepEqual(await Promise.all(values.map((each) => steps.create(each, 1))), [1, 2]);
    assert.equal(await steps.create(values[0], 9), undefined);
    const texts = [
      '{"id":1,"task_id":1,"done":true,"key":5}',
      '{"id":2,"task_id":1,"done":false,"key":0}',
    ];
    assert.deepEqual(await Promise.all([steps.read(1, 1), steps.read(2, 1), steps.read(1, 2)]), [
      ...texts,
      undefined,
    ]);
    assert.equal(recordText(STEPS, 1, 1, values[0]), texts[0]);
    assert.deepEqual(await steps.page(10, 0, 1), { items: `[${texts}]`, total: 2 });
    assert.equal(await steps.replace(1, values[1], 1), true);
    assert.equal(await steps.read(1, 1), texts[1]?.replace('2', '1'));
    assert.equal(await tasks.remove(1), true);
    // They stay where they are, but nobody finds them.
    assert.deepEqual([await steps.read(1, 1), await steps.page(10, 0, 1)], [undefined, undefined]);
    assert.equal(await steps.replace(1, values[1], 1), false);
    assert.equal(await steps.remove(1, 1), false);
    assert.equal(await steps.create(values[0], 1), undefined);
    assert.deepEqual(await faultsIn(database, TASK_RESOURCES), []);
  });
}

test('resources: an import fills in what is missing', () => {
  const line = Buffer.from('{"type":"task","id":7,"title":"an older export"}');
  const { values } = readerOf(TASKS, () => undefined)(readLine(line));
  assert.deepEqual(values, [7, 'an older export', false, 'none']);
});

test('resources: owners come before what they own', () => {
  for (const [index, { owner }] of RESOURCES.entries()) {
    assert.ok(!owner || RESOURCES.slice(0, index).includes(owner.resource));
  }
});

test('resources: a line without a required member is refused', () => {
  assert.throws(() => readRecord({ type: 'note', id: 1, title: 'a' }), /^Error: body is required/);
});
