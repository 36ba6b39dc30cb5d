// Texts of very different lengths, in English and in Japanese.

const MAX_LENGTH = 100_000;

const TEXTS = ['The quick brown fox. ', '吾輩は猫である。名前はまだ無い。'].map((text) =>
  text.repeat(MAX_LENGTH / text.length + 1),
);

/** Returns texts with one to `MAX_LENGTH` characters; a greater `skew` makes more of them short. */
export function randomText(skew: number): string {
  const length = Math.floor(MAX_LENGTH ** (Math.random() ** skew));
  return TEXTS[Math.floor(Math.random() * TEXTS.length)]?.slice(0, length) ?? '';
}
