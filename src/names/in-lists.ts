// What names add to lists of notes: a member, filters, and an order.
import type { FilterValue, ListExtension, Order, Parameters } from '../list-extension.ts';
import { notes } from '../resources/notes.ts';
import { noteNames } from './schema.ts';

const { table } = noteNames;
const nameOf = (note: string) => `(SELECT name FROM ${table} AS each WHERE each.note_id = ${note})`;

const source = { table, id: `${table}.note_id`, isCounted: true };
const byName: Order = {
  key: 'text',
  text: { table, column: 'name', of: nameOf, suffix: '_name' },
};
const isByName = ({ order }: Parameters) => order === 'name' || order === '-name';

/** Returns the condition that a name begins with that of a folder and a slash. */
const isInFolder = (value: FilterValue) => `name > ${value('.from')} AND name < ${value('.to')}`;

/** The filters `folder` and `named`, the member `name`, and the order by it. */
export const namesInLists: ListExtension = (resource) => {
  if (resource !== notes) return {};
  return {
    included: { name: nameOf('notes.id') },
    orders: { name: byName, '-name': { ...byName, isDescending: true } },
    filters: {
      folder: {
        value({ folder }) {
          if (folder === undefined) return undefined;
          const path = String(folder).normalize().replace(/\/$/, '');
          // In the order of code points, 0 follows the slash.
          return { from: `${path}/`, to: `${path}0` };
        },
        condition: (note, value) => `EXISTS (
          SELECT 1 FROM ${table} AS each WHERE each.note_id = ${note} AND ${isInFolder(value)})`,
        source: {
          ...source,
          where: isInFolder,
          keys: ['text'],
          counts: {
            table: `(SELECT name, 1 AS count FROM ${table})`,
            where: isInFolder,
            isSum: true,
          },
        },
      },
      named: {
        value: (parameters) =>
          parameters.named === 'true' || (isByName(parameters) && parameters.folder === undefined)
            ? true
            : undefined,
        condition: (note) => `EXISTS ${nameOf(note)}`,
        source: {
          ...source,
          where: () => 'TRUE',
          keys: ['id', 'text'],
          byId: 'NOT INDEXED',
          counts: {
            table: `(SELECT count(*) AS count FROM ${table})`,
            where: () => 'TRUE',
            isSum: true,
          },
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
