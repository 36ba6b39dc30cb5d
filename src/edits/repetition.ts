// How often a text repeats its beginning: finding it among the same repetitions takes that much
// longer, and meanwhile no other write is carried out.

/** Returns how often the most repeated beginning of a text stands in a row, in part at its end. */
export function repetitionsIn(text: string): number {
  // How long the text is, up to each unit, that both begins and ends the text up to there (Knuth,
  // Morris, Pratt).
  const borders = new Uint32Array(text.length);
  let most = 1;
  let border = 0;
  for (let end = 1; end < text.length; end += 1) {
    while (border > 0 && text[end] !== text[border]) border = borders[border - 1] ?? 0;
    if (text[end] === text[border]) border += 1;
    borders[end] = border;
    most = Math.max(most, (end + 1) / (end + 1 - border));
  }
  return most;
}
