// The names of notes: which note has one, and notes that are created with one.
import { randomBytes } from 'node:crypto';
import type { Core } from '../feature.ts';
import { Problem } from '../http/problem.ts';
import type { Asked, WritePart } from '../records/parts.ts';
import { notes } from '../resources/notes.ts';
import type { Resource } from '../resources/resource.ts';
import { Batcher } from '../storage/batcher.ts';
import { noteNames } from './schema.ts';

const { table } = noteNames;

/** Refuses to create a note whose name another one has; a shared instance, to be recognized. */
export const NAME_TAKEN = new Problem('precondition-failed', 'Another note has this name.');

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

/** The part of names in creations of notes: the body has the name as a member. */
const NAME: WritePart = {
  name: 'name',
  askedBy: ['name'],
  read: (_, [body]) => ({ name: askedFor(String(body?.name)) }),
  ofRequest: ['_name', '_claim'],
  admits: `NOT EXISTS (SELECT 1 FROM ${NAMED} WHERE name = _name AND claim <> _claim)`,
  report: {
    columns: { request: 'requests._position' },
    from: `FROM requests CROSS JOIN ${NAMED} WHERE name = _name`,
  },
  after: {
    nameNote: `
      INSERT OR REPLACE INTO ${table} (note_id, name, claim)
      SELECT (SELECT _last_id FROM created) + _first + 1, _name, _claim FROM admitted
      WHERE _name IS NOT NULL`,
  },
};

/** Returns what a request for a note with this name asks. */
export function askedFor(name: string): Asked {
  return {
    claims: [[`name ${name}`]],
    ofRequest: [name, randomBytes(8).toString('hex')],
    settle: (taken) => (taken ? { refusal: NAME_TAKEN } : {}),
  };
}

/** Returns the part of names in creations. */
export function namesOfNotes(resource: Resource): readonly WritePart[] {
  return resource === notes ? [NAME] : [];
}
