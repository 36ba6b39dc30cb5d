// All tables that commands export, import, check and compare: those of the resources, and what
// features keep beside them.
import { basename } from 'node:path';
import { comments } from './resources/comments.ts';
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
  /** The columns between the id and the fields. Times and names may be null. */
  readonly columns: Readonly<Record<string, 'id' | 'ids' | 'name' | 'time'>>;
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

/** The earlier texts of notes, also of those in the trash. */
const noteVersions: KeptTable = {
  label: 'Note version',
  table: 'note_versions',
  columns: { note_id: 'id', version: 'id', updated_at: 'time', replaced_at: 'time' },
  fields: { title: text, body: text },
  of: notes,
};

const CHANGE = { number: 'id', created_at: 'time', updated_at: 'time' } as const;

/** The notes in the trash. */
const deletedNotes: KeptTable = {
  label: 'Deleted note',
  table: 'deleted_notes',
  columns: { position: 'id', deleted_at: 'time', name: 'name', tag_ids: 'ids', ...CHANGE },
  fields: notes.fields,
  of: notes,
};

/** Their comments. */
const deletedComments: KeptTable = {
  label: 'Deleted comment',
  table: 'deleted_comments',
  columns: { note_id: 'id', ...CHANGE },
  fields: comments.fields,
  of: comments,
};

/** All of them, in the order in which they are exported. */
export const RELATIONS: readonly Relation[] = [
  ...[...RESOURCES, noteTags, noteNames],
  ...[noteVersions, deletedNotes, deletedComments],
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
