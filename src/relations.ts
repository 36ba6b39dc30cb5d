// All tables that commands export, import, check and compare: those of the resources, and what
// features keep beside them.
import { basename } from 'node:path';
import { notes } from './resources/notes.ts';
import { type Reference, type Resource, rowColumnsOf, text } from './resources/resource.ts';
import { RESOURCES } from './resources/resources.ts';
import { tags } from './resources/tags.ts';

/** A table that joins two resources, or adds to one. A row has no id and no number. */
export interface JoinTable extends Pick<Resource, 'label' | 'table' | 'fields'> {
  /** The table that counts the rows of each second record in each block of ids of the first. */
  readonly blocks?: string;
  /** They identify a row. */
  readonly references: readonly [Reference, ...Reference[]];
}

/** A table of what changes and deletions of records have replaced. */
export interface KeptTable extends Pick<Resource, 'label' | 'table' | 'fields'> {
  /** The table that counts the rows in each block of positions. */
  readonly blocks?: string;
  /** The resource whose records, there or in the trash, the rows belong to. */
  readonly owner?: Reference;
  /** The SQL condition of the rows that answers show and exports contain. */
  readonly isShown: string;
  /** The columns between the id and the fields. Times and names may be null. */
  readonly columns: Readonly<Record<string, 'id' | 'ids' | 'name' | 'position' | 'time'>>;
  /** The resource that has these fields. */
  readonly of: Resource;
}

/** What the rows of a table stand for. */
export type Relation = Resource | JoinTable | KeptTable;

/** The tags on notes. A row is deleted with the note or the tag. */
export const noteTags: JoinTable = {
  label: 'Note tag',
  table: 'note_tags',
  blocks: 'note_tag_blocks',
  fields: {},
  references: [
    { resource: notes, column: 'note_id' },
    { resource: tags, column: 'tag_id' },
  ],
};

/** The names of notes, which clients have chosen. A row is deleted with the note. */
export const noteNames: JoinTable = {
  label: 'Note name',
  table: 'note_names',
  fields: { name: text },
  references: [{ resource: notes, column: 'note_id' }],
};

/** How many versions a note has at most; earlier ones are not shown, and will be erased. */
export const MAX_VERSIONS = 100;

/** The SQL condition that a version is not erased. */
export const IS_VERSION_KEPT = `NOT EXISTS (
  SELECT 1 FROM erased_versions
  WHERE erased_versions.note_id = note_versions.note_id AND last_id >= note_versions.id)`;

/** The earlier texts of notes, also of those in the trash. */
export const noteVersions: KeptTable = {
  label: 'Note version',
  table: 'note_versions',
  owner: { resource: notes, column: 'note_id' },
  isShown: `${IS_VERSION_KEPT} AND ${MAX_VERSIONS} > (SELECT count(*) FROM (
      SELECT 1 FROM note_versions AS later
      WHERE later.note_id = note_versions.note_id AND later.id > note_versions.id
      LIMIT ${MAX_VERSIONS}))`,
  columns: { note_id: 'id', version: 'id', updated_at: 'time', replaced_at: 'time' },
  fields: { title: text, body: text },
  of: notes,
};

const CHANGE = { number: 'id', created_at: 'time', updated_at: 'time' } as const;

/** The SQL of the first position in the trash that is not erased. It begins a block. */
export const FIRST_POSITION = '(SELECT first_position FROM notes_server_history)';

/** The notes in the trash. */
export const deletedNotes: KeptTable = {
  label: 'Deleted note',
  table: 'deleted_notes',
  blocks: 'deleted_note_blocks',
  isShown: `position >= ${FIRST_POSITION}`,
  columns: { position: 'position', deleted_at: 'time', name: 'name', tag_ids: 'ids', ...CHANGE },
  fields: notes.fields,
  of: notes,
};

/** All of them, in the order in which they are exported. */
export const RELATIONS: readonly Relation[] = [
  ...[...RESOURCES, noteTags, noteNames],
  ...[noteVersions, deletedNotes],
];

/** The plural names of all resources, for use in a sentence: "notes, tags and comments". */
export const RESOURCE_NAMES = new Intl.ListFormat('en-GB').format(
  RESOURCES.map(({ path }) => basename(path)),
);

/** Returns the name of one record in exports and messages: "note", "note_tag". */
export function typeOf({ label }: Relation): string {
  return label.toLowerCase().replace(' ', '_');
}

/** Returns the columns that identify a row. */
export function keysOf(relation: Relation): readonly [string, ...string[]] {
  if (!('references' in relation)) return ['id'];
  const [first, ...others] = relation.references;
  return [first.column, ...others.map(({ column }) => column)];
}

/** Returns the columns of a row, in order: its keys, its owner or other columns, its fields. */
export function columnsOf(relation: Relation): readonly string[] {
  if ('path' in relation) return rowColumnsOf(relation);
  const columns = 'columns' in relation ? Object.keys(relation.columns) : [];
  return [...keysOf(relation), ...columns, ...Object.keys(relation.fields)];
}

/** Returns the resources to whose records the rows of a table belong, with the columns of ids. */
export function ownersOf(relation: Relation): readonly Reference[] {
  if ('references' in relation) return relation.references;
  return relation.owner ? [relation.owner] : [];
}

/** Returns the SQL condition that there is such a row. */
const exists = (table: string, condition: string) =>
  `EXISTS (SELECT 1 FROM ${table} AS each WHERE ${condition})`;

/** Returns the SQL condition that neither a row nor a record that it belongs to is erased. */
export function isKeptSql(relation: Relation): string {
  const conditions = 'isShown' in relation ? [relation.isShown] : [];
  for (const { resource, column } of ownersOf(relation)) {
    const isOwner = `each.id = ${relation.table}.${column}`;
    conditions.push(`NOT ${isErasedSql(resource, isOwner)}`);
    if (resource === notes)
      conditions.push(
        `NOT ${exists('deleted_notes', `${isOwner} AND position < ${FIRST_POSITION}`)}`,
      );
  }
  return conditions.join(' AND ') || 'TRUE';
}

function isErasedSql(resource: Resource, isOwner: string): string {
  return exists('erased_records', `each.type = '${typeOf(resource)}' AND ${isOwner}`);
}

/** Returns the queries of faults for rows whose record is neither there nor kept nor erased. */
export function orphansQueries(relation: Relation): string[] {
  const { table } = relation;
  const [key] = keysOf(relation);
  if (table === deletedNotes.table) {
    const isHere = exists(notes.table, `each.id = ${table}.id`);
    return [`SELECT format('${table}: note %d is not deleted', id) FROM ${table} WHERE ${isHere}`];
  }
  return ownersOf(relation).map(({ resource, column }) => {
    const isOwner = `each.id = ${table}.${column}`;
    // Tags and names leave a note that goes to the trash.
    const canBeDeleted = resource === notes && !('references' in relation);
    const homes = [
      exists(resource.table, isOwner),
      isErasedSql(resource, isOwner),
      ...(canBeDeleted ? [exists(deletedNotes.table, isOwner)] : []),
    ];
    return `
      SELECT format('${table}: record %d has no ${typeOf(resource)}', ${key}) FROM ${table}
      WHERE NOT (${homes.join(' OR ')})`;
  });
}
