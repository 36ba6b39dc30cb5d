// A text in the form in which the search compares texts.
import { Kind, kindOf, replacementOf } from './characters.ts';

const SPACE = 0x20;
/** How many code units become a string at once; each is an argument of a call. */
const PIECE = 8_192;
/** The room at first for code units beyond those of the original. */
const SPARE = 32;

/**
 * The words of a text, folded, with one space before and after each: ` iphone を買う `. A run of a
 * script without spaces is one word here, and so is each emoji.
 */
export class FoldedText {
  #units: Uint16Array;
  /** For each folded code unit, the position of its origin in the original, in UTF-16 units. */
  #starts: Uint32Array;
  #length = 0;
  #kind: number = Kind.separator;
  /** The length of the original so far. */
  #originalLength = 0;
  #isWhole = false;

  /** Folds all of `original`; without one, {@link append} folds the pieces of a text. */
  constructor(original?: string) {
    const length = original === undefined ? 0 : original.length;
    this.#units = new Uint16Array(length + SPARE);
    this.#starts = new Uint32Array(length + SPARE);
    this.#append(SPACE, 0);
    if (original === undefined) return;
    this.append(original);
    this.finish();
  }

  /** Folds the next piece, which must not begin or end within a code point. */
  append(piece: string): void {
    for (let at = 0; at < piece.length; at += 1) {
      const point = piece.codePointAt(at) ?? 0;
      this.#add(point, this.#originalLength + at);
      if (point > 0xffff) at += 1;
    }
    this.#originalLength += piece.length;
  }

  /** Must be called after the last piece. */
  finish(): void {
    if (this.#kind !== Kind.separator) this.#append(SPACE, this.#originalLength);
    this.#isWhole = true;
  }

  /** The number of folded units so far; before the end without the last, which may change. */
  get length(): number {
    return this.#isWhole ? this.#length : this.#length - 1;
  }

  /** Returns the folded text from a position on, as far as it is known. */
  textFrom(position: number): string {
    const { length } = this;
    let text = '';
    for (let from = position; from < length; from += PIECE) {
      const units = this.#units.subarray(from, Math.min(from + PIECE, length));
      text += Reflect.apply(String.fromCharCode, undefined, units);
    }
    return text;
  }

  /** Returns where in the original the folded code unit at `position` begins, in UTF-16 units. */
  startOf(position: number): number {
    return position < this.#length ? (this.#starts[position] ?? 0) : this.#originalLength;
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
    if (kind === Kind.separator) {
      this.#addSeparator(start);
    } else if (kind === Kind.replaced) {
      for (const each of replacementOf(point)) this.#add(each, start);
    } else {
      this.#addToWord(point, kind, start);
    }
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
    this.#kind = wordKind;
    if (point <= 0xffff) {
      this.#append(point, start);
    } else {
      this.#append(0xd800 + ((point - 0x10000) >> 10), start);
      this.#append(0xdc00 + (point & 0x3ff), start);
    }
  }

  /** Composes the last character with a mark, if that makes one character. */
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
