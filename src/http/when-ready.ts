// Answers from memory at once: a promise would cost more time than such an answer.

/** Returns `next(value)`. If `value` is a promise, returns a promise of the result instead. */
export function whenReady<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}
