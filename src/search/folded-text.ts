// A text in the form in which the search compares texts.
import { Kind, kindOf, replacementOf } from './characters.ts';

/** The code unit that separates folded words. */
const SPACE = 0x20;

/** How much of an original is folded at a time, in UTF-16 units; tests change it. */
export const FOLD_LIMITS = { pieceUnits: 1_024 };

const SPARE_UNITS = 32;

/** Folded words with a space before and after each; a run without spaces is one word. */
export class FoldedText {
  readonly #original: string;
  readonly #maxCharacters: number;
  #units: Uint16Array;
  /** For each folded code unit, the position of its origin in the original, in UTF-16 units. */
  #starts: Uint32Array;
  #length = 0;
  #kind: number = Kind.separator;
  /** The number of folded characters so far, without separators. */
  #characters = 0;
  /** How much of the original is folded, in UTF-16 units. */
  position = 0;
  isWhole = false;

  /** Folds nothing yet, and in the end about `maxCharacters` of the original. */
  constructor(original: string, maxCharacters = Number.POSITIVE_INFINITY) {
    const room = Math.min(original.length, FOLD_LIMITS.pieceUnits) + SPARE_UNITS;
    this.#original = original;
    this.#maxCharacters = maxCharacters;
    this.#units = new Uint16Array(room);
    this.#starts = new Uint32Array(room);
    this.#append(SPACE, 0);
  }

  /** Folds the next piece of the original, up to a whole code point. Ends with the last piece. */
  advance(): void {
    const { length } = this.#original;
    const end = Math.min(this.position + FOLD_LIMITS.pieceUnits, length);
    while (this.position < end) {
      const point = this.#original.codePointAt(this.position) ?? 0;
      this.#add(point, this.position);
      this.position += point > 0xffff ? 2 : 1;
    }
    this.isWhole = this.position >= length || this.#characters >= this.#maxCharacters;
    if (this.isWhole && this.#kind !== Kind.separator) this.#append(SPACE, this.position);
  }

  /** The number of folded units so far; before the end without the last, which may change. */
  get length(): number {
    return this.isWhole ? this.#length : this.#length - 1;
  }

  /** Returns the folded text from a position on. */
  textFrom(position: number): string {
    const { buffer, byteOffset, byteLength } = this.#units.subarray(position, this.length);
    // Several times as fast as String.fromCharCode.
    return Buffer.from(buffer, byteOffset, byteLength).toString('utf16le');
  }

  /** Returns where in the original the folded code unit at `position` begins, in UTF-16 units. */
  startOf(position: number): number {
    return position < this.#length ? (this.#starts[position] ?? 0) : this.position;
  }

  /** Returns where in the original the folded code unit before `position` ends. */
  endOf(position: number): number {
    const start = this.startOf(position - 1);
    let next = position;
    while (next < this.#length && this.startOf(next) === start) next += 1;
    return this.startOf(next);
  }

  #add(point: number, start: number): void {
    const kind = kindOf(point);
    if (kind === Kind.ignored) return;
    if (kind === Kind.separator) this.#addSeparator(start);
    else if (kind !== Kind.replaced) this.#addToWord(point, kind, start);
    else for (const each of replacementOf(point)) this.#add(each, start);
  }

  /** Adds a space. The end of ⑴, which is folded as (1), and a space after it are one separator. */
  #addSeparator(start: number): void {
    const last = this.#length - 1;
    if (this.#kind !== Kind.separator) this.#append(SPACE, start);
    else if (this.#starts[last] === this.#starts[last - 1]) this.#starts[last] = start;
    this.#kind = Kind.separator;
  }

  #addToWord(point: number, kind: number, start: number): void {
    if (kind === Kind.joining && this.#compose(point)) return;
    const wordKind = kind === Kind.joining ? Kind.spaceless : kind;
    const isNewWord = wordKind !== this.#kind || wordKind === Kind.emoji;
    if (isNewWord && this.#kind !== Kind.separator) this.#append(SPACE, start);
    this.#characters += 1;
    this.#kind = wordKind;
    if (point <= 0xffff) {
      this.#append(point, start);
    } else {
      this.#append(0xd800 + ((point - 0x10000) >> 10), start);
      this.#append(0xdc00 + (point & 0x3ff), start);
    }
  }

  #compose(mark: number): boolean {
    const last = this.#units[this.#length - 1] ?? SPACE;
    if (kindOf(last) !== Kind.spaceless) return false;
    const composed = String.fromCharCode(last, mark).normalize('NFC');
    if (composed.length > 1) return false;
    this.#units[this.#length - 1] = composed.charCodeAt(0);
    return true;
  }

  #append(unit: number, start: number): void {
    if (this.#length === this.#units.length) this.#grow();
    this.#units[this.#length] = unit;
    this.#starts[this.#length] = start;
    this.#length += 1;
  }

  #grow(): void {
    const units = new Uint16Array(2 * this.#length);
    const starts = new Uint32Array(2 * this.#length);
    units.set(this.#units);
    starts.set(this.#starts);
    this.#units = units;
    this.#starts = starts;
  }
}
