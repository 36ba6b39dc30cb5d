// Answers from memory at once: a promise would cost more time than such an answer.

/** Returns `next(value)`; for a promise, the promise of that. */
export function whenReady<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}
