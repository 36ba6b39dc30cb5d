// The type of a resource. Each resource is declared in its own file and listed in resources.ts.

export type FieldValue = string | number | boolean;

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
  /** The same for blocks of numbers. With it, both have the bounds of the times in each block. */
  readonly numberBlocks?: string;
  readonly fields: Readonly<Record<string, Field>>;
  /** The resource that owns these records; `column` holds the id of the owner. */
  readonly owner?: Reference;
  readonly filters?: readonly string[];
  /** SQL by which lists can be sorted, by the names of the orders; a minus sign reverses it. */
  readonly orders?: Readonly<Record<string, string>>;
  /** SQL of members that only `include` adds. Changes of other records can change them. */
  readonly included?: Readonly<Record<string, string>>;
  readonly search?: SearchTables;
  /** The table of the names of the records, by which a write can find one. */
  readonly names?: string;
}

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

/** A required text. */
export const text: Field = { type: 'text' };

/** Returns the columns of a record, in order: the id, its owner if it has one, the fields. */
export function rowColumnsOf({ owner, fields }: Resource): readonly string[] {
  return ['id', ...(owner ? [owner.column] : []), ...Object.keys(fields)];
}

/** Returns the values of the fields, in order; null for a member that is missing. */
export function patchOf({ fields }: Resource, members: Members): readonly (FieldValue | null)[] {
  return Object.keys(fields).map((name) => (members[name] ?? null) as FieldValue | null);
}

/** Returns the values of the fields, in order, with defaults. Members must fit the contract. */
export function valuesOf({ fields }: Pick<Resource, 'fields'>, members: Members) {
  return Object.keys(fields).map((name) => (members[name] ?? fields[name]?.default) as FieldValue);
}
