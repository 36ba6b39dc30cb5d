// What names add to lists of notes: a member, and filters.
import type { ListExtension } from '../list-extension.ts';
import { notes } from '../resources/notes.ts';
import { noteNames } from './schema.ts';

const { table } = noteNames;
const nameOf = (note: string) => `(SELECT name FROM ${table} AS each WHERE each.note_id = ${note})`;

/** The filters for `named` and the member `name`. */
export const namesInLists: ListExtension = (resource) => {
  if (resource !== notes) return {};
  return {
    included: { name: nameOf('notes.id') },
    filters: {
      named: {
        value: ({ named }) => (named === 'true' ? true : undefined),
        condition: (note) => `EXISTS ${nameOf(note)}`,
        source: {
          table,
          id: `${table}.note_id`,
          where: () => 'TRUE',
          keys: ['id'],
          // Only their sum is needed.
          counts: { table: `(SELECT count(*) AS count FROM ${table})`, where: () => 'TRUE' },
        },
      },
      unnamed: {
        value: ({ named }) => (named === 'false' ? true : undefined),
        condition: (note) => `NOT EXISTS ${nameOf(note)}`,
        countOthers: () => `SELECT count(*) FROM ${table}`,
      },
    },
  };
};
