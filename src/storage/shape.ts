// The shape of a table, and the SQL that follows from it alone.

/** The shape of a table: its name, its text columns in order, its table of block counts, and whose child it is. */
export interface TableShape {
  readonly name: string;
  readonly blocks: string;
  readonly columns: readonly string[];
  readonly parent?: { readonly table: string; readonly column: string };
}

/** The columns of a record beside its id, in the order in which its values are written: its parent's id before its texts. */
export function storedColumns({ columns, parent }: TableShape): readonly string[] {
  return parent ? [parent.column, ...columns] : columns;
}

/** The SQL of a record as JSON text. */
export function recordSql(shape: TableShape): string {
  const members = ['id', ...storedColumns(shape)].map((column) => `'${column}', ${shape.name}.${column}`);
  return `json_object(${members.join(', ')})`;
}

/** The SQL that tells whether the parent with this `id` (SQL as well) is there; a table without parents misses none. */
export function parentExistsSql({ parent }: TableShape, id: string): string {
  return parent ? `EXISTS (SELECT 1 FROM ${parent.table} WHERE id = ${id})` : 'TRUE';
}
