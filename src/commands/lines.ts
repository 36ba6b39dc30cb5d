// Splits a stream of bytes into lines. It keeps one chunk, one line and one batch in memory.

const LINE_FEED = 0x0a;

/**
 * Yields the lines of `chunks` without their line feeds, in batches: each but the last has at least
 * `batchBytes`, and no more than a chunk in addition. The last line needs no line feed. Throws as
 * soon as a line exceeds `limitBytes`.
 */
export async function* linesOf(
  chunks: AsyncIterable<Buffer>,
  { batchBytes, limitBytes }: { readonly batchBytes: number; readonly limitBytes: number },
): AsyncGenerator<readonly Buffer[]> {
  let batch: Buffer[] = [];
  let rest: Buffer[] = [];
  let [batchSize, restSize, lineNumber] = [0, 0, 1];

  function add(part: Buffer): void {
    restSize += part.length;
    if (restSize > limitBytes)
      throw new Error(`line ${lineNumber}: it has more than ${limitBytes} bytes`);
    rest.push(part);
  }

  function endLine(): void {
    batch.push(Buffer.concat(rest));
    batchSize += restSize;
    [rest, restSize] = [[], 0];
    lineNumber += 1;
  }

  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      add(chunk.subarray(start, end));
      endLine();
      start = end + 1;
    }
    add(chunk.subarray(start));
    if (batchSize < batchBytes) continue;
    yield batch;
    [batch, batchSize] = [[], 0];
  }
  if (restSize > 0) endLine();
  if (batch.length > 0) yield batch;
}
