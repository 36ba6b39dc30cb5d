// Counts code points, the characters of the contract, without copying the text.

/** Returns the index in `text` after `count` code points from `start` on, at most its length. */
export function indexAfter(text: string, count: number, start = 0): number {
  let index = start;
  for (let left = count; left > 0 && index < text.length; left -= 1) index += unitsAt(text, index);
  return index;
}

/** Returns how many code points `text` has. */
export function countCodePoints(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index += unitsAt(text, index)) count += 1;
  return count;
}

function unitsAt(text: string, index: number): 1 | 2 {
  return (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
}
