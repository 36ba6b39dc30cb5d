// Changes limits, so that little load is more than the service accepts.
import type { Ends } from './engine.ts';

/** Changes limits of the service until the end of the test. */
export function setLimits<Limits extends object>(
  test: Ends,
  limits: Limits,
  values: Partial<Limits>,
): void {
  const usual = { ...limits };
  test.after(() => Object.assign(limits, usual));
  Object.assign(limits, values);
}
