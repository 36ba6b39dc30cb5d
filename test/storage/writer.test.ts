// The writer on a real database with a recorder at the seam: which writes share a statement and a
// transaction, and the outcome of each write when a transaction fails.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
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

const ROWS = `json_each(?1, '$[1]')`;

/** Stores a text under an id; the text 'bad' breaks a rule of the table. */
const put: Kind = {
  statements: {
    write: {
      sql: `
        INSERT INTO entries (id, text) SELECT value ->> 0, value ->> 1 FROM ${ROWS} WHERE TRUE
        ON CONFLICT (id) DO UPDATE SET text = excluded.text RETURNING id`,
      rows: `(SELECT json_group_array(json_object('id', value ->> 0)) FROM ${ROWS})`,
    },
  },
  outcomes: isThere,
  changes: () => [],
};

const drop: Kind = {
  statements: {
    write: {
      sql: `DELETE FROM entries WHERE id IN (SELECT value ->> 0 FROM ${ROWS}) RETURNING id`,
      rows: `
        (SELECT json_group_array(json_object('id', entries.id))
         FROM ${ROWS} JOIN entries ON entries.id = value ->> 0)`,
    },
  },
  outcomes: isThere,
  changes: () => [],
};

async function startWriter(test: TestContext) {
  const database = await openEmpty(test);
  await change(
    database,
    `CREATE TABLE entries (id INTEGER PRIMARY KEY, text TEXT CHECK (text <> 'bad')) STRICT`,
  );
  const heard = overhear(database);
  const write = createWriter(heard.database);
  const submit = (kind: Kind, key: number | undefined, row: Values) =>
    write(kind, key, { rows: [row] });
  return {
    heard,
    put: (id: number, text: string) => submit(put, id, [id, text]),
    drop: (id: number) => submit(drop, id, [id]),
    putTagged: (id: number, text: string, tags: number) =>
      write(put, id, { rows: [[id, text]], extra: [Array(tags).fill([0, 'name'])] }),
    /** Puts without a key: such writes never conflict. */
    putWithoutKey: (id: number, text: string) => submit(put, undefined, [id, text]),
    /** Returns the stored ids and texts. */
    async stored() {
      const all = await rows(database, 'SELECT id, text FROM entries ORDER BY id');
      return all.map(({ id, text }) => `${id} ${text}`);
    },
    /** Returns the ids in each statement of each transaction. */
    carried: () =>
      heard.transactions.map(({ statements }) =>
        statements.map(({ sql, parameter }) => {
          const [, written] = JSON.parse(parameter ?? '');
          const ids = written.map(([id]: [number]) => id);
          return `${sql === put.statements.write?.sql ? 'put' : 'drop'} ${ids.join(' ')}`;
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

/** Rows and tags that take as long as the largest request. */
const LARGE: Record<string, (writer: Writer, id: number) => Promise<boolean>> = {
  'many tags': ({ putTagged }, id) => putTagged(id, 'a', 5_000),
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

test('writes: those with tags end a batch earlier, because they share no statements', async (t) => {
  const writer = await startWriter(t);
  await Promise.all(Array.from({ length: 400 }, (_, id) => writer.putTagged(id, 'a', 1)));
  assert.equal(writer.heard.transactions.length, 2);
});
