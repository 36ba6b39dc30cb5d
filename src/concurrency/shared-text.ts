// Texts in shared memory, as UTF-16 code units, because a text may contain lone surrogates.

/** Allocates shared memory for a text of `length` code units. */
export function textMemory(length: number): Uint16Array {
  return new Uint16Array(new SharedArrayBuffer(length * Uint16Array.BYTES_PER_ELEMENT));
}

/** Writes `text` to memory that is at least as long. */
export function writeText(memory: Uint16Array, text: string): void {
  bytesOf(memory).write(text, 'utf16le');
}

/** Reads the text that fills `memory`. */
export function readText(memory: Uint16Array): string {
  return bytesOf(memory).toString('utf16le');
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint16Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
