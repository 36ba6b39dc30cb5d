// The parts of the schema, and their tables as commands export, import, check and compare them.
import { type Reference, type Resource, rowColumnsOf } from './resource.ts';

/** What the core or a feature has in the database. */
export interface SchemaPart {
  /** Its statements; see steps.ts. */
  readonly sql: string;
  readonly relations?: readonly Relation[];
}

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
  /** The resource whose records the rows belong to; without it, they are the deleted records. */
  readonly owner?: Reference;
  /** Returns the SQL condition of rows that answers and exports have, among those of `rows`. */
  readonly isShown: (rows: string) => string;
  /** The columns between the id and the fields. Times and names may be null. */
  readonly columns: Readonly<Record<string, 'id' | 'ids' | 'name' | 'position' | 'time'>>;
  /** The resource that has these fields. */
  readonly of: Resource;
}

/** What the rows of a table stand for. */
export type Relation = Resource | JoinTable | KeptTable;

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
