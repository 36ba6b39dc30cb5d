// Which earlier texts of a note are kept and shown: a plain model.

/** What the model has to know of a version; times in ms. */
export interface Ended {
  readonly replacedAt: number;
}

/** How many versions are shown. */
export const MAX = 100;

/** Whether a text of one time that is replaced at another is kept, after `last`, the one before. */
export function isKept(
  shown: readonly Ended[],
  last: Ended | undefined,
  [from, at]: readonly [from: number, at: number],
): boolean {
  if (shown.length < MAX || !last || at >= from + 1000) return true;
  return at < last.replacedAt || at >= last.replacedAt + 1000;
}

/** Adds a version to those that are shown, the oldest first; one of them may go. */
export function keep<Version extends Ended>(shown: Version[], added: Version): void {
  shown.push(added);
  if (shown.length <= MAX) return;
  const stood = shown.map(
    ({ replacedAt }, place) => replacedAt - (shown[place - 1]?.replacedAt ?? 0),
  );
  // Where the clock was set back, the time does not tell.
  const known = stood.map((ms) => (ms < 0 ? ms + Number.MAX_SAFE_INTEGER : ms));
  known[0] = Number.POSITIVE_INFINITY;
  shown.splice(known.indexOf(Math.min(...known)), 1);
}
