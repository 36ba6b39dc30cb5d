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
  const line = new PartialLine(limitBytes);
  for await (const chunk of chunks) {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      line.add(chunk.subarray(start, end));
      lines.push(line.finish());
      start = end + 1;
    }
    if (lines.length > 0) yield lines;
    line.add(chunk.subarray(start));
  }
  if (!line.isEmpty) yield [line.finish()];
}

/** A line whose end has not been read yet. */
class PartialLine {
  readonly #limitBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;
  #lineNumber = 1;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  add(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > this.#limitBytes) {
      throw new Error(`line ${this.#lineNumber}: it has more than ${this.#limitBytes} bytes`);
    }
    if (part.length > 0) this.#parts.push(part);
  }

  /** Returns the line and starts the next one. */
  finish(): Buffer {
    const [only, ...others] = this.#parts;
    const line = only && others.length === 0 ? only : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    this.#lineNumber += 1;
    return line;
  }
}
