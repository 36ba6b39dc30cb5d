// The members that a record can have: its own, which all have, and those that lists add.
import { type Relation, rowColumnsOf } from '../resources/resource.ts';

/** A member of a record. */
export interface Member {
  readonly name: string;
  /** The columns that its value needs. */
  readonly columns: readonly string[];
  /** The SQL of its value, for `json_object`. */
  readonly sql: string;
  /** Whether a change of another record can change it. */
  readonly dependsOnOthers?: boolean;
}

/** Which members records have: their own (all, if `fields` is empty), and those to add. */
export interface Choice {
  readonly fields: readonly string[];
  readonly include: readonly string[];
}

/** Returns the members that every row has, in order: all, or those of `fields` if it has any. */
export function ownMembers(relation: Relation, fields: readonly string[] = []): Member[] {
  const names = rowColumnsOf(relation).filter((name) => !fields[0] || fields.includes(name));
  return names.map((name) => {
    const isBoolean = relation.fields[name]?.type === 'boolean';
    const column = `${relation.table}.${name}`;
    return {
      name,
      columns: [name],
      sql: isBoolean ? `json(iif(${column}, 'true', 'false'))` : column,
    };
  });
}

/** Returns the arguments of `json_object` for the members, whose columns are those of the table. */
export function membersSql(members: readonly Pick<Member, 'name' | 'sql'>[]): string {
  return members.map(({ name, sql }) => `'${name}', ${sql}`).join(', ');
}
