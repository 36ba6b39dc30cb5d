// Changes limits, so that little load is more than the service accepts.
import type { Ends } from './engine.ts';

/** The limits that each test has changed. */
const changed = new WeakMap<Ends, Set<object>>();

/** Changes limits of the service until the end of the test. */
export function setLimits<Limits extends object>(
  test: Ends,
  limits: Limits,
  values: Partial<Limits>,
): void {
  const usual = { ...limits };
  const known = changed.get(test) ?? new Set();
  // Only before the first change of a test, because what is first is restored first.
  if (!known.has(limits)) test.after(() => Object.assign(limits, usual));
  changed.set(test, known.add(limits));
  Object.assign(limits, values);
}
