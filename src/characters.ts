// Characters of texts, which are code points, where JavaScript counts units of UTF-16.

const PAIR = /[\ud800-\udbff][\udc00-\udfff]/;

/** Returns the number of characters of a text. */
export function countCharacters(text: string): number {
  if (!PAIR.test(text)) return text.length;
  let count = 0;
  for (let index = 0; index < text.length; index = indexAfter(text, index, 1)) count += 1;
  return count;
}

/** Returns `limit` characters of a text after the first `offset`, or as many as there are. */
export function sliceCharacters(text: string, offset: number, limit: number): string {
  if (!PAIR.test(text)) return text.slice(offset, offset + limit);
  const start = indexAfter(text, 0, offset);
  return text.slice(start, indexAfter(text, start, limit));
}

/** Returns the index after `count` characters from `start` on, at most the length of the text. */
function indexAfter(text: string, start: number, count: number): number {
  let index = start;
  for (let left = count; left > 0 && index < text.length; left -= 1)
    index += (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
  return index;
}
