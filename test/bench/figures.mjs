// Figures of several rounds.

/** The share of `figures` that lies below the one returned is `share`. */
export const quantile = (figures, share) =>
  figures.toSorted((one, other) => one - other)[Math.floor(share * (figures.length - 1))];

/** The middle one. */
export const median = (figures) => quantile(figures, 0.5);
