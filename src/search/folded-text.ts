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
  readonly text: string;
  readonly #original: string;
  #units: Uint16Array;
  /** For each folded code unit, the position of its origin in the original, in UTF-16 units. */
  #starts: Uint32Array;
  #length = 0;
  #kind: number = Kind.separator;

  constructor(original: string) {
    this.#original = original;
    this.#units = new Uint16Array(original.length + SPARE);
    this.#starts = new Uint32Array(original.length + SPARE);
    this.#append(SPACE, 0);
    for (let at = 0; at < original.length; at += 1) {
      const point = original.codePointAt(at) ?? 0;
      this.#add(point, at);
      if (point > 0xffff) at += 1;
    }
    if (this.#kind !== Kind.separator) this.#append(SPACE, original.length);
    this.text = this.#decoded();
  }

  /** Returns where in the original the folded code unit at `position` begins, in UTF-16 units. */
  startOf(position: number): number {
    return this.#starts[position] ?? this.#original.length;
  }

  /** Returns where in the original the folded code unit before `position` ends. */
  endOf(position: number): number {
    const start = this.startOf(position - 1);
    let next = position;
    while (next < this.#length && this.startOf(next) === start) next += 1;
    return next < this.#length ? this.startOf(next) : this.#original.length;
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

  #decoded(): string {
    let text = '';
    for (let from = 0; from < this.#length; from += PIECE) {
      const piece = this.#units.subarray(from, Math.min(from + PIECE, this.#length));
      text += String.fromCharCode(...piece);
    }
    return text;
  }
}
