// A step of a write, given once by its parts. Each engine makes its statements from them.

/** SQL by name. */
export type Columns = Readonly<Record<string, string>>;

/** What a step does, and which rows it returns. */
export interface Step {
  /** The named queries that the other parts use, as after WITH. */
  readonly named?: string;
  /** The INSERT, UPDATE or DELETE. Without it, the step only reads. */
  readonly write?: string;
  /** The query of the records as the write will leave them, called `new` in `from`. */
  readonly records?: string;
  /** The columns that it returns. Without them, it returns no rows. */
  readonly returns?: Columns;
  /** The FROM clause of these columns. */
  readonly from?: string;
  /** Whether it does not read the rows of `sent`, which take time to parse. */
  readonly ignoresRows?: boolean;
}

const texts = new WeakMap<Step, string>();

/** Returns the statement of a step, which returns its rows. */
export function sqlOf(step: Step): string {
  const known = texts.get(step);
  if (known !== undefined) return known;
  const text = [withNamed(step.named), actionOf(step)].join('');
  texts.set(step, text);
  return text;
}

function actionOf({ write, returns = {}, from }: Step): string {
  const columns = Object.entries(returns).map(([name, sql]) => `${sql} AS ${name}`);
  if (write === undefined) return `SELECT ${columns.join(', ')} ${from}`;
  return columns.length > 0 ? `${write} RETURNING ${columns.join(', ')}` : write;
}

/** Returns a WITH clause, or nothing. */
export function withNamed(named = ''): string {
  return named && `WITH ${named} `;
}
