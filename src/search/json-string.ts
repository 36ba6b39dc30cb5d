// A string in a JSON text, decoded piece by piece, because nobody may need all of a long one.

const PIECE_BYTES = 2_048;
const QUOTE = 0x22;

/** The bytes of a character after its first one. */
const REST = '[\\x80-\\xbf]';

/** Complete characters and escapes of a string in JSON, as the bytes of their UTF-8. */
const CHARACTERS = new RegExp(
  `(?:[ !#-[\\]-\\x7f]|[\\xc2-\\xdf]${REST}|[\\xe0-\\xef]${REST}{2}|[\\xf0-\\xf4]${REST}{3}` +
    '|\\\\u[\\da-fA-F]{4}|\\\\[^u])*',
  'y',
);

/** The string that begins at `position` of a JSON text, after its quote. */
export class JsonString {
  isEnd = false;
  readonly #json: Buffer;
  #position: number;

  constructor(json: Buffer, position: number) {
    this.#json = json;
    this.#position = position;
  }

  /** Returns the next piece of the string, which ends between two code points. */
  next(): string {
    const bytes = this.#json.toString('latin1', this.#position, this.#position + PIECE_BYTES);
    CHARACTERS.lastIndex = 0;
    const [{ length }] = CHARACTERS.exec(bytes) ?? [''];
    const end = this.#position + length;
    const piece: string = JSON.parse(`"${this.#json.toString('utf8', this.#position, end)}"`);
    this.#position = end;
    // The second condition: invalid UTF-8 that another program has stored.
    this.isEnd = this.#json[end] === QUOTE || length === 0;
    return piece;
  }
}
