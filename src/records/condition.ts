// Conditions on the tag of a record, which a write checks in its own statement.

/** `,a,b,` admits the tags a and b, `!,a,b,` all others, null all. */
export type Condition = string | null;

/** The condition that no tag satisfies. */
export const NEVER: Condition = ',';

/** Returns the condition that admits only `tags`, none of which may contain a comma. */
export function isOneOf(tags: readonly string[]): string {
  return `,${tags.map((tag) => `${tag},`).join('')}`;
}

/** Returns the condition that admits all but `tags`, none of which may contain a comma. */
export function isNoneOf(tags: readonly string[]): string {
  return `!${isOneOf(tags)}`;
}

/** Whether `tag` satisfies `condition`. */
export function satisfies(condition: Condition, tag: string): boolean {
  return condition === null || condition.includes(`,${tag},`) === !condition.startsWith('!');
}

/** Returns the SQL that tests whether `tag` satisfies `condition`, both SQL. */
export function satisfiesSql(condition: string, tag: string): string {
  const isListed = `instr(${condition}, ',' || ${tag} || ',') > 0`;
  return `(${condition} IS NULL OR (${isListed}) = (${condition} NOT LIKE '!%'))`;
}
