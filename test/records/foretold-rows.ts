// The expressions `rows`, from which the cluster reports what a statement did, foretell exactly
// what its RETURNING returns. Random batches, on SQLite, which evaluates both.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import type { Condition } from '../../src/records/condition.ts';
import { isNoneOf, isOneOf, NEVER } from '../../src/records/condition.ts';
import { Table } from '../../src/records/table.ts';
import { askedBy, requestKeys } from '../../src/retries/feature.ts';
import type { Database, PreparedStep, Row, Statement } from '../../src/storage/database.ts';
import { createWriter, NO_MEMORY, type Values } from '../../src/storage/writer.ts';
import { anyCharacter } from '../support/any-character.ts';
import { heardStatement, rows } from '../support/databases.ts';
import { MEMORY } from '../support/engines.ts';
import { playTaggingGame, taggingGames } from '../support/tagging-games.ts';
import { openWithTasks, STEPS, TASKS } from '../support/tasks.ts';

const sorted = (found: readonly unknown[]) => found.map((row) => JSON.stringify(row)).sort();

/** Compares the rows of each statement with those that were foretold; counts them in `seen`. */
function comparing(database: Database, seen: { rows: number }): Database {
  const foretell = (given: Statement | PreparedStep): Statement => {
    const { rows = `'[]'`, parameter } = heardStatement(given);
    const sql = `SELECT ${rows} AS rows`;
    return rows.includes('?1') && parameter !== undefined ? { sql, parameter } : { sql };
  };
  return {
    ...database,
    async transact(statements) {
      const both = statements.flatMap((statement) => [foretell(statement), statement]);
      const results = await database.transact(both);
      const returned: (readonly Row[])[] = [];
      for (let index = 0; index < results.length; index += 2) {
        const [foretold, actual = []] = results.slice(index, index + 2);
        const parsed = JSON.parse(String(foretold?.[0]?.rows));
        const { sql } = heardStatement(both[index + 1] ?? assert.fail());
        assert.deepEqual(sorted(parsed), sorted(actual), sql);
        seen.rows += actual.length;
        returned.push(actual);
      }
      return returned;
    },
  };
}

/** Picks a condition; `tag` is that of the record, if it exists. */
const CONDITIONS: readonly ((tag: string) => Condition)[] = [
  () => null,
  () => NEVER,
  (tag) => isOneOf(['00000000-1', tag]),
  () => isOneOf(['00000000-1', '00000000-2']),
  (tag) => isNoneOf([tag]),
  () => isNoneOf(['00000000-1']),
];

const small = (max: number) => fc.integer({ min: 1, max });
const integer = fc.oneof(small(3), fc.maxSafeInteger());
const taskValues = fc.tuple(fc.string({ unit: anyCharacter }), fc.boolean(), fc.string());
const stepValues = fc.tuple(fc.boolean(), integer);
const partly = <T>(values: fc.Arbitrary<readonly T[]>) =>
  fc
    .tuple(values, fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }))
    .map(([all, kept]) => all.map((value, index) => (kept[index] ? null : value)));

/** The writes of one table. */
function writesOf(name: 'tasks' | 'steps', values: fc.Arbitrary<Values>) {
  const records = fc.array(values, { minLength: 1, maxLength: 3 });
  const common = { name: fc.constant(name), owner: small(4) };
  const changed = { ...common, id: small(8), condition: fc.nat(CONDITIONS.length - 1) };
  return fc.oneof(
    fc.record({ ...common, kind: fc.constant('create' as const), records }),
    fc.record({ ...common, kind: fc.constant('once' as const), records, key: fc.nat(5) }),
    fc.record({ ...changed, kind: fc.constant('change' as const), values }),
    fc.record({ ...changed, kind: fc.constant('change' as const), values: partly(values) }),
    fc.record({ ...changed, kind: fc.constant('remove' as const) }),
  );
}

const write = fc.oneof(writesOf('tasks', taskValues), writesOf('steps', stepValues));
type RandomWrite = typeof write extends fc.Arbitrary<infer T> ? T : never;

function perform(table: Table, each: RandomWrite, tag: string): Promise<unknown> {
  const owner = each.name === 'tasks' ? 0 : each.owner;
  if (each.kind === 'create') return table.create(each.records, owner);
  if (each.kind === 'once') {
    const key = `${each.name} ${owner} ${each.key}`;
    const once = askedBy({ key, fingerprint: `f${each.records}` });
    return table.create(each.records, owner, { key: once });
  }
  const condition = CONDITIONS[each.condition]?.(tag) ?? null;
  const target = { id: each.id, owner };
  if (each.kind === 'change') return table.change(target, each.values, condition);
  return table.remove(target, condition);
}

async function tagsIn(database: Database): Promise<Map<string, string>> {
  const found = await rows(
    database,
    `SELECT record, generation || '-' || number AS tag FROM notes_server_generation,
       (SELECT 'tasks ' || id AS record, number FROM tasks
        UNION ALL SELECT 'steps ' || id, number FROM steps)`,
  );
  return new Map(found.map(({ record, tag }) => [String(record), String(tag)]));
}

/** Asserts that every record has its own number, and that the sequence has reached it. */
async function assertNumbered(database: Database): Promise<void> {
  const [found] = await rows(
    database,
    `SELECT count(*) AS records, count(DISTINCT number) AS numbers,
       coalesce(max(number), 0) <=
         (SELECT seq FROM sqlite_sequence WHERE name = 'changes') AS reached
     FROM (SELECT number FROM tasks UNION ALL SELECT number FROM steps)`,
  );
  assert.equal(found?.numbers, found?.records);
  assert.equal(found?.reached, 1);
}

/** Plays random batches of all kinds of writes. */
export async function foretellWrites(t: TestContext, numRuns: number): Promise<void> {
  const seen = { rows: 0 };
  const batches = fc.array(fc.array(write, { minLength: 1, maxLength: 12 }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(batches, async (all) => {
      const database = await openWithTasks(t, MEMORY);
      const write = createWriter(comparing(database, seen));
      const core = { database, write, memory: NO_MEMORY, meters: undefined };
      const tables = {
        tasks: new Table(TASKS, core, requestKeys(TASKS)),
        steps: new Table(STEPS, core, requestKeys(STEPS)),
      };
      for (const batch of all) {
        const tags = await tagsIn(database);
        const done = batch.map((each) => {
          const tag = 'id' in each ? tags.get(`${each.name} ${each.id}`) : undefined;
          return perform(tables[each.name], each, tag ?? '00000000-0');
        });
        await Promise.all(done);
        await assertNumbered(database);
      }
      await database.close();
    }),
    { numRuns },
  );
  assert.ok(seen.rows > 3 * numRuns, String(seen.rows));
}

/** Plays random batches of writes with tags on notes. */
export async function foretellTaggings(t: TestContext, numRuns: number): Promise<void> {
  const seen = { rows: 0 };
  await fc.assert(
    fc.asyncProperty(taggingGames, async (game) => {
      const database = await MEMORY.open(t);
      await playTaggingGame(comparing(database, seen), game);
      await database.close();
    }),
    { numRuns },
  );
  assert.ok(seen.rows > 3 * numRuns, String(seen.rows));
}
