// Splits a stream of bytes into lines. It keeps at most one chunk and one line in memory.

const LINE_FEED = 0x0a;

/**
 * Yields the lines of `chunks` without their line feeds: for each chunk, an array of the lines that
 * it completes. The last line needs no line feed. Throws as soon as a line exceeds `limitBytes`.
 */
export async function* linesOf(
  chunks: AsyncIterable<Buffer>,
  limitBytes: number,
): AsyncGenerator<readonly Buffer[]> {
  // The line whose end has not been read yet.
  let parts: Buffer[] = [];
  let bytes = 0;
  let lineNumber = 1;

  function add(part: Buffer): void {
    bytes += part.length;
    if (bytes > limitBytes)
      throw new Error(`line ${lineNumber}: it has more than ${limitBytes} bytes`);
    if (part.length > 0) parts.push(part);
  }

  function finish(): Buffer {
    const [only, ...others] = parts;
    const line = only && others.length === 0 ? only : Buffer.concat(parts);
    parts = [];
    bytes = 0;
    lineNumber += 1;
    return line;
  }

  for await (const chunk of chunks) {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      add(chunk.subarray(start, end));
      lines.push(finish());
      start = end + 1;
    }
    if (lines.length > 0) yield lines;
    add(chunk.subarray(start));
  }
  if (bytes > 0) yield [finish()];
}
