// The query plans of the statements that a call sends.
import type { HeardStatement, Overheard } from './databases.ts';

/** A step of a query plan. */
export interface PlanRow {
  readonly id: number;
  readonly parent: number;
  readonly detail: string;
}

/** Resolves with the query plans of the statements that `call` sends. */
export async function planOf(heard: Overheard, call: () => Promise<unknown>): Promise<PlanRow[]> {
  const sent = () => [
    ...heard.reads,
    ...heard.transactions.flatMap(({ statements }) => statements),
  ];
  const before = new Set(sent());
  await call();
  const plans = sent()
    .filter((each) => !before.has(each))
    .flatMap((statement) => {
      const { sql, rows }: HeardStatement = statement;
      const both = rows === undefined ? [sql] : [sql, `SELECT ${rows}`];
      return both.map((each) =>
        heard.database.read({ ...statement, sql: `EXPLAIN QUERY PLAN ${each}` }),
      );
    });
  const plan = (await Promise.all(plans)).flat();
  return plan.map(({ id, parent, detail }) => ({
    id: Number(id),
    parent: Number(parent),
    detail: String(detail),
  }));
}

/** Returns the steps below one, in order, without those of scalar subqueries. */
export function stepsBelow(plan: readonly PlanRow[], parent: number): string[] {
  return plan
    .filter((step) => step.parent === parent && !/SCALAR SUBQUERY/.test(step.detail))
    .flatMap(({ id, detail }) => [detail, ...stepsBelow(plan, id)]);
}
