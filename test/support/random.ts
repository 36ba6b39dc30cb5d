// Random numbers of tests whose runs need not be repeated.

/** Returns a random whole number from `least` to `most`. */
export const between = (least: number, most: number) =>
  least + Math.floor(Math.random() * (most - least + 1));

/** Returns true once in `turns` on average. */
export const oneIn = (turns: number) => between(1, turns) === 1;
