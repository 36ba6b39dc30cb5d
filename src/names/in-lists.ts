// What names add to lists of notes: a member, and a filter.
import type { ListExtension } from '../list-extension.ts';
import { noteNames } from '../resources/note-names.ts';
import { notes } from '../resources/notes.ts';

/** The filter `named` and the member `name`. */
export const namesInLists: ListExtension = (resource) => {
  if (resource !== notes) return {};
  const { table } = noteNames;
  return {
    included: { name: `(SELECT name FROM ${table} WHERE note_id = notes.id)` },
    filters: {
      named: {
        value: ({ named }) => named && named === 'true',
        condition: (note, value) =>
          `EXISTS (SELECT 1 FROM ${table} WHERE note_id = ${note}) = ${value()}`,
        isSlow: () => true,
      },
    },
  };
};
