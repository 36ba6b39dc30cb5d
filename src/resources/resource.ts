// The type of a resource. Each resource is declared in its own file and listed in resources.ts.

/** The value of a field, as in JSON. */
export type FieldValue = string | number | boolean;

/** The members of a body. */
export type Members = Readonly<Record<string, unknown>>;

/** A member that clients supply. Its bounds are in the contract. */
export interface Field {
  readonly type: 'text' | 'integer' | 'boolean';
  readonly default?: FieldValue;
}

/** A kind of record that the service stores. */
export interface Resource {
  /** As in "Note with ID 42 was not found." */
  readonly label: string;
  readonly path: string;
  readonly idParameter: string;
  readonly table: string;
  /** The table that counts the records in each block of ids. */
  readonly blocks: string;
  /** The one for blocks of numbers. Then both have the bounds of the times in each block. */
  readonly numberBlocks?: string;
  readonly fields: Readonly<Record<string, Field>>;
  /** The resource that owns these records; `column` holds the id of the owner. */
  readonly owner?: Reference;
  readonly filters?: readonly string[];
  /** SQL by which lists can be sorted, by the names of the orders; with a minus sign, downwards. */
  readonly orders?: Readonly<Record<string, string>>;
  /** The members that only `include` adds and changes of others can change: SQL of their values. */
  readonly included?: Readonly<Record<string, string>>;
  readonly search?: SearchTables;
}

/** The tables of a full-text index. */
export interface SearchTables {
  readonly table: string;
  /** Its only row tells which changes the index contains. */
  readonly position: string;
  /** The fields that are searched, as the columns of `table`: how much a match in each counts. */
  readonly weights: Readonly<Record<string, number>>;
}

/** A column that holds the id of a record of `resource`. */
export interface Reference {
  readonly resource: Resource;
  readonly column: string;
}

/** A table that joins two resources, or adds to one. A row has no id and no number. */
export interface JoinTable {
  readonly label: string;
  readonly table: string;
  /** The table that counts the rows of each second record in each block of ids of the first. */
  readonly blocks?: string;
  readonly fields: Readonly<Record<string, Field>>;
  /** They identify a row. */
  readonly references: readonly [Reference, ...Reference[]];
}

/** A table of what changes and deletions of records have replaced. */
export interface KeptTable {
  readonly label: string;
  readonly table: string;
  /** The columns between the id and the fields. Times and names may be null. */
  readonly columns: Readonly<Record<string, 'id' | 'ids' | 'name' | 'time'>>;
  readonly fields: Readonly<Record<string, Field>>;
  /** The resource that has these fields. */
  readonly of: Resource;
  readonly owner?: undefined;
}

/** What the rows of a table stand for. */
export type Relation = Resource | JoinTable | KeptTable;

/** A required text. */
export const text: Field = { type: 'text' };

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

/** Returns the records without which a row cannot exist. */
export function referencesOf(relation: Relation): readonly Reference[] {
  if ('references' in relation) return relation.references;
  return relation.owner ? [relation.owner] : [];
}

/** A block has 2^BLOCK_BITS ids; triggers count its rows, so that any offset is found at once. */
export const BLOCK_BITS = 10;

/** Returns the columns of a row, in order: the id, if it has one, references or others, fields. */
export function rowColumnsOf(relation: Relation): readonly string[] {
  const ids = 'references' in relation ? [] : ['id'];
  const references = referencesOf(relation).map(({ column }) => column);
  const columns = 'columns' in relation ? Object.keys(relation.columns) : [];
  return [...ids, ...references, ...columns, ...Object.keys(relation.fields)];
}

/** Returns the values of the fields, in order; null for a member that is missing. */
export function patchOf({ fields }: Resource, members: Members): readonly (FieldValue | null)[] {
  return Object.keys(fields).map((name) => (members[name] ?? null) as FieldValue | null);
}

/** Returns the values of the fields, in order, with defaults. Members must fit the contract. */
export function valuesOf({ fields }: Relation, members: Members): readonly FieldValue[] {
  const values: FieldValue[] = [];
  for (const name in fields) {
    const value = members[name] ?? fields[name]?.default;
    if (value === undefined) throw new Error(`the member ${name} is missing`);
    values.push(value as FieldValue);
  }
  return values;
}
