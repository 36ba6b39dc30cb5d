// A stream of bytes, cut into lines, with no more of it in memory than a chunk and a line.

const LINE_FEED = 0x0a;

/**
 * Returns the lines of `chunks`, without their ends, as many at a time as are there. The last one may lack its end. Throws for a
 * line of more than `limit` bytes, before all of it has been read.
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>, limit: number): AsyncGenerator<readonly Buffer[]> {
  let begun: Buffer[] = [];
  let size = 0;
  let number = 1;

  function add(part: Buffer): void {
    size += part.length;
    if (size > limit) throw new Error(`line ${number}: it has more than ${limit} bytes`);
    if (part.length > 0) begun.push(part);
  }

  function ended(): Buffer {
    const [only, ...others] = begun;
    const line = only && others.length === 0 ? only : Buffer.concat(begun);
    begun = [];
    size = 0;
    number += 1;
    return line;
  }

  for await (const chunk of chunks) {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      add(chunk.subarray(start, end));
      lines.push(ended());
      start = end + 1;
    }
    if (lines.length > 0) yield lines;
    add(chunk.subarray(start));
  }
  if (size > 0) yield [ended()];
}
