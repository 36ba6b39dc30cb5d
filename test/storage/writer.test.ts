// The writer on a real database with a recorder at the seam: which writes share a statement and a
// transaction, and the outcome of each write when a transaction fails.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { namedRows } from '../../src/storage/parameter.ts';
import { type Step, sqlOf } from '../../src/storage/step.ts';
import {
  type Claim,
  createWriter,
  type RowSet,
  type Values,
  type WriteKind,
} from '../../src/storage/writer.ts';
import { createGate } from '../support/bare-server.ts';
import { change, openEmpty, overhear, rows } from '../support/databases.ts';
import { until } from '../support/until.ts';

type Kind = WriteKind<RowSet, boolean>;

/** Reports for each write whether its row existed; the first value of a row is the id. */
const isThere: Kind['outcomes'] = (writes, { write = [] }) => {
  const ids = new Set<unknown>(write.map(({ id }) => id));
  return writes.map(({ rows: [row] }) => ids.has(row?.[0]));
};

const SENT = namedRows('sent', ['_id', '_text']);

/** Stores a text under an id; the text 'bad' breaks a rule of the table. */
const PUT = {
  named: SENT,
  write: `
    INSERT INTO entries (id, text) SELECT _id, _text FROM sent WHERE TRUE
    ON CONFLICT (id) DO UPDATE SET text = excluded.text`,
  ...{ records: 'SELECT _id AS id FROM sent', returns: { id: 'id' }, from: 'FROM new' },
};

const DROP = {
  named: SENT,
  write: 'DELETE FROM entries WHERE id IN (SELECT _id FROM sent)',
  ...{ returns: { id: 'id' }, from: 'FROM entries WHERE id IN (SELECT _id FROM sent)' },
};

const kindOf = (write: Step): Kind => ({
  steps: () => ({ write }),
  outcomes: isThere,
  changes: () => [],
});
const [put, drop] = [kindOf(PUT), kindOf(DROP)];

async function startWriter(test: TestContext) {
  const database = await openEmpty(test);
  await change(
    database,
    `CREATE TABLE entries (id INTEGER PRIMARY KEY, text TEXT CHECK (text <> 'bad')) STRICT`,
  );
  const heard = overhear(database);
  const write = createWriter(heard.database);
  const submit = (kind: Kind, claims: readonly Claim[], row: Values) =>
    write(kind, { rows: [row], claims });
  return {
    heard,
    put: (id: number, text: string) => submit(put, [[id]], [id, text]),
    drop: (id: number) => submit(drop, [[id]], [id]),
    putWithMore: (id: number, text: string, moreSize: number) =>
      write(put, { rows: [[id, text]], claims: [[id]], moreSize }),
    putClaiming: (id: number, ...claims: Claim[]) => submit(put, claims, [id, 'a']),
    /** Puts without a key: such writes never conflict. */
    putWithoutKey: (id: number, text: string) => submit(put, [], [id, text]),
    /** Returns the stored ids and texts. */
    async stored() {
      const all = await rows(database, 'SELECT id, text FROM entries ORDER BY id');
      return all.map(({ id, text }) => `${id} ${text}`);
    },
    /** Returns the ids in each statement of each transaction. */
    carried: () =>
      heard.transactions.map(({ statements }) =>
        statements.map(({ sql, parameter }) => {
          const { sent } = JSON.parse(parameter ?? '');
          const ids = sent.map(([id]: [number]) => id);
          return `${sql === sqlOf(PUT) ? 'put' : 'drop'} ${ids.join(' ')}`;
        }),
      ),
  };
}

type Writer = Awaited<ReturnType<typeof startWriter>>;

const ORDERS: readonly {
  name: string;
  writes: (writer: Writer) => Promise<boolean>[];
  statements: string[];
  outcomes: boolean[];
  stored: string[];
}[] = [
  {
    name: 'consecutive ones of one kind are one statement',
    writes: ({ put }) => [put(3, 'a'), put(1, 'b'), put(2, 'c')],
    statements: ['put 3 1 2'],
    outcomes: [true, true, true],
    stored: ['1 b', '2 c', '3 a'],
  },
  {
    name: 'another kind starts a new statement, in order',
    writes: ({ put, drop }) => [
      ...[put(1, 'a'), put(2, 'b'), drop(1)],
      ...[drop(3), put(3, 'c'), put(1, 'd')],
    ],
    statements: ['put 1 2', 'drop 1 3', 'put 3 1'],
    outcomes: [true, true, true, false, true, true],
    stored: ['1 d', '2 b', '3 c'],
  },
  {
    name: 'the same key starts a new statement, the last one wins',
    writes: ({ put }) => [put(1, 'a'), put(2, 'b'), put(1, 'c'), put(2, 'd'), put(1, 'e')],
    statements: ['put 1 2', 'put 1 2', 'put 1'],
    outcomes: [true, true, true, true, true],
    stored: ['1 e', '2 d'],
  },
  {
    name: 'the second removal of a record finds nothing',
    writes: ({ put, drop }) => [put(1, 'a'), drop(1), drop(1)],
    statements: ['put 1', 'drop 1', 'drop 1'],
    outcomes: [true, true, false],
    stored: [],
  },
  {
    name: 'one claim in one mode is shared, in another or in none it is not',
    writes: ({ putClaiming }) => [
      ...[putClaiming(1, ['a', 'x']), putClaiming(2, ['a', 'x'], ['b']), putClaiming(3, ['b'])],
      ...[putClaiming(4, ['a', 'y']), putClaiming(5, ['a', 'y']), putClaiming(6, ['a'])],
      ...[putClaiming(7, ['a', 'y']), putClaiming(8, ['c'], ['d', 'x']), putClaiming(9, ['d'])],
    ],
    statements: ['put 1 2', 'put 3 4 5', 'put 6', 'put 7 8', 'put 9'],
    outcomes: Array(9).fill(true),
    stored: ['1 a', '2 a', '3 a', '4 a', '5 a', '6 a', '7 a', '8 a', '9 a'],
  },
  {
    name: 'those without a key share a statement',
    writes: ({ putWithoutKey }) => [
      putWithoutKey(1, 'a'),
      putWithoutKey(2, 'b'),
      putWithoutKey(3, 'c'),
    ],
    statements: ['put 1 2 3'],
    outcomes: [true, true, true],
    stored: ['1 a', '2 b', '3 c'],
  },
];

for (const { name, writes, statements, outcomes, stored } of ORDERS) {
  test(`writes: ${name}`, async (t) => {
    const writer = await startWriter(t);
    assert.deepEqual(await Promise.all(writes(writer)), outcomes);
    assert.deepEqual(writer.carried(), [statements]);
    assert.deepEqual(await writer.stored(), stored);
  });
}

test('writes: no answer before the commit; later ones are one batch', async (t) => {
  const writer = await startWriter(t);
  const gate = createGate();
  writer.heard.beforeTransaction = () => gate.passed;
  let answered = false;
  const first = writer.put(1, 'a').finally(() => {
    answered = true;
  });
  await until(() => writer.heard.transactions.length === 1);
  const others = [writer.put(2, 'b'), writer.drop(1), writer.put(3, 'c')];
  await nextTurn();
  assert.equal(answered, false);
  assert.equal(writer.heard.transactions.length, 1);

  gate.open();
  await Promise.all([first, ...others]);
  assert.deepEqual(writer.carried(), [['put 1'], ['put 2', 'drop 1', 'put 3']]);
});

/** Writes that take as long as the largest request. */
const LARGE: Record<string, (writer: Writer, id: number) => Promise<boolean>> = {
  'much beside its row': ({ putWithMore }, id) => putWithMore(id, 'a', 2_200_000),
  'a long text': ({ put }, id) => put(id, 'a'.repeat(2_200_000)),
};

for (const [name, putLarge] of Object.entries(LARGE)) {
  test(`writes: a small one waits for one large one only, with ${name}`, async (t) => {
    const writer = await startWriter(t);
    const large = [1, 2].map((id) => putLarge(writer, id));
    await Promise.all([...large, writer.put(3, 'small')]);
    assert.deepEqual(writer.carried(), [['put 1 3'], ['put 2']]);
  });
}
