// The names of notes: which note has one, and writes that give a note one or take it away.
import { randomUUID } from 'node:crypto';
import { validationFailed } from '../contract/endpoint.ts';
import { rowPointer, violationAt } from '../contract/violations.ts';
import type { Core } from '../feature.ts';
import { isText } from '../http/body/formats.ts';
import type { Problem, Violation } from '../http/problem.ts';
import type { Call } from '../http/route.ts';
import { jointChange } from '../joint-changes.ts';
import type { Asked, WritePart } from '../records/parts.ts';
import { notes } from '../resources/notes.ts';
import type { Resource } from '../resources/resource.ts';
import { Batcher } from '../storage/batcher.ts';
import { noteNames } from './schema.ts';

const { table } = noteNames;

/** The names, but for those whose notes another program has deleted without them. */
const NAMED = `${table} CROSS JOIN notes ON notes.id = note_id`;

/**
 * Returns a function that finds the id of the note with a name, at once if memory has it. There,
 * the note may have been deleted, and the name be that of another one.
 */
export function createFinder({ database, memory, meters }: Core) {
  const sql = `
    SELECT json_group_array(notes.id ORDER BY sent.key) AS ids
    FROM json_each(?1) AS sent LEFT JOIN ${table} ON name = sent.value
    LEFT JOIN notes ON notes.id = note_id`;
  const reads = new Batcher<string, number | undefined>({
    async run(names) {
      const revision = memory.check();
      const [row] = await database.read({ sql, parameter: JSON.stringify(names) });
      const ids: readonly (number | null)[] = JSON.parse(String(row?.ids));
      const found = names.flatMap((name, index) =>
        ids[index] ? [[name, { text: String(ids[index]) }] as const] : [],
      );
      memory.keep(revision, table, found);
      return ids.map((id) => id ?? undefined);
    },
    meter: meters?.read,
  });
  return (name: string, inMemory = true) => {
    const known = inMemory ? memory.find(table, name) : undefined;
    return known ? Number(known.text) : reads.submit(name);
  };
}

/** The name of a row, by the place of the row; null takes away the one that the note has. */
type RowName = readonly [row: number, name: string | null];

/** Returns the names in bodies. Throws 422 if two are the same. */
const readNames: NonNullable<WritePart['read']> = ({ call, parameters }, bodies, newAt) => {
  const rows = Array.from(bodies, ({ name }, row) => {
    return [row, typeof name === 'string' ? name.normalize() : name] as RowName;
  });
  // A new note has no name to take away.
  const names = rows.filter(([, name]) => typeof name === 'string' || (name === null && !newAt));
  if (names.length === 0) return undefined;
  const firsts = new Map(names.map(([row, name]) => [name, row] as const).reverse());
  const repeated = names.flatMap(([row, name]) => (firsts.get(name) === row ? [] : row));
  if (repeated.length > 0) throw takenNames(repeated, call, 'must not be that of another line');
  return { name: askedFor(names, newAt === undefined ? parameters.note_id : undefined, call) };
};

/** Returns what a request for these names asks; `note` is the one that it changes. */
export function askedFor(
  names: readonly RowName[],
  note: number | null = null,
  call: Pick<Call, 'format'> = { format: 'json' },
): Asked {
  const claim = randomUUID();
  return {
    // A change frees a name, which the next one may take: no two share their steps.
    claims: note === null ? names.map(([, name]) => [`name ${name}`]) : [['names']],
    lists: { names: names.map(([row, name]) => [row, note, name, claim]) },
    settle: (taken) => {
      if (!taken) return {};
      return { refusal: takenNames(JSON.parse(String(taken.rows)), call) };
    },
  };
}

/** Returns the 422 for the names of these rows. */
function takenNames(
  rows: readonly number[],
  { format }: Pick<Call, 'format'>,
  detail = 'must be that of no other note',
): Problem {
  const violations = rows.map((row): Violation => {
    if (isText(format)) return { field: 'name', in: 'query', code: 'taken', detail };
    return violationAt(`${rowPointer(row, format)}/name`, 'taken', detail);
  });
  return validationFailed(violations);
}

/** Whether this refuses a name that another note has. */
export function isTaken(error: Problem): boolean {
  return error.extras.errors?.[0]?.code === 'taken';
}

/** The names in creations and changes. */
const NAME: WritePart = {
  name: 'name',
  askedBy: ['name'],
  read: readNames,
  lists: { names: ['_note', '_name', '_claim'] },
  queries: `
    taken AS (
      SELECT _request, json_group_array(_record) AS rows
      FROM names CROSS JOIN ${NAMED} WHERE name = _name AND claim <> _claim AND note_id IS NOT _note
      GROUP BY _request)`,
  admits: '_position NOT IN (SELECT _request FROM taken)',
  report: { columns: { request: '_request', rows: 'rows' }, from: 'FROM taken' },
  after: {
    nameNote: `
      INSERT OR REPLACE INTO ${table} (note_id, name, claim)
      SELECT _id, _name, _claim FROM created_names`,
  },
  change: jointChange,
  inChanges: {
    // The claim marks that the name changes. The name itself is needed until the note is changed.
    queries: `
    renamed AS (
      SELECT _note, _name, _claim, name FROM names
      CROSS JOIN admitted ON admitted._position = _request
      LEFT JOIN ${table} ON note_id = _note WHERE name IS NOT _name)`,
    steps: {
      mark: `
      INSERT OR REPLACE INTO ${table} (note_id, name, claim)
      SELECT _note, coalesce(name, _name), _claim FROM renamed`,
    },
    differs: `EXISTS (
      SELECT 1 FROM ${table} WHERE note_id = notes.id AND claim IN (SELECT _claim FROM names))`,
    last: {
      rename: `
      UPDATE OR REPLACE ${table} SET name = _name FROM names
      WHERE note_id = _note AND claim = _claim AND _name IS NOT NULL`,
      unname: `
      DELETE FROM ${table} WHERE note_id IN (SELECT _note FROM names WHERE _name IS NULL)
        AND claim IN (SELECT _claim FROM names)`,
    },
    area: table,
  },
};

/** Returns the part of names in writes. */
export function namesOfNotes(resource: Resource): readonly WritePart[] {
  return resource === notes ? [NAME] : [];
}
