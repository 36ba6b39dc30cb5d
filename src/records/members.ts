// The members that a record can have: its own, which all have, and those that `include` adds.
import { type Relation, type Resource, rowColumnsOf } from '../resources/resource.ts';
import { tagSql, timeSql } from '../storage/numbers.ts';

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

/** Returns the members that every row has, in order. */
export function ownMembers(relation: Relation): Member[] {
  return rowColumnsOf(relation).map((name) => {
    const isBoolean = relation.fields[name]?.type === 'boolean';
    const column = `${relation.table}.${name}`;
    return {
      name,
      columns: [name],
      sql: isBoolean ? `json(iif(${column}, 'true', 'false'))` : column,
    };
  });
}

/** Returns the chosen members of a record, in order. Unknown names have no effect. */
export function membersIn(resource: Resource, { fields, include }: Choice): Member[] {
  const isWhole = fields.length === 0;
  const own = ownMembers(resource).filter(({ name }) => isWhole || fields.includes(name));
  const added = Object.entries(addedMembers(resource));
  return [...own, ...added.flatMap(([name, members]) => (include.includes(name) ? members : []))];
}

/** Returns the arguments of `json_object` for the members, whose columns are those of the table. */
export function membersSql(members: readonly Member[]): string {
  return members.map(({ name, sql }) => `'${name}', ${sql}`).join(', ');
}

/** Returns the members that each value of `include` adds. */
function addedMembers({ table, included = {} }: Resource): Readonly<Record<string, Member[]>> {
  const ofOthers = Object.entries(included).map(([name, sql]) => {
    return [name, [{ name, columns: ['id'], sql, dependsOnOthers: true }]] as const;
  });
  const quotedTag = `'"' || ${tagSql(`${table}.number`)} || '"'`;
  return {
    ...Object.fromEntries(ofOthers),
    times: ['created_at', 'updated_at'].map((name) => {
      return { name, columns: [name], sql: timeSql(`${table}.${name}`) };
    }),
    etag: [{ name: 'etag', columns: ['number'], sql: quotedTag }],
  };
}
