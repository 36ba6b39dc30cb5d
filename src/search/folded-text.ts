// A text in the form in which the search compares texts.
import { Kind, kindOf, replacementOf } from './characters.ts';

/** Separates folded words. */
export const SPACE = 0x20;
/** The room at first for code units beyond those of the original. */
const SPARE = 32;

/**
 * The words of a text, folded, with one space before and after each: ` iphone を買う `. A run of a
 * script without spaces is one word here, and so is each emoji.
 */
export class FoldedText {
  readonly #original: string;
  #text: string | undefined;
  /** Where in the original folding continues. */
  #at = 0;
  #units: Uint16Array;
  /** For each folded code unit, the position of its origin in the original, in UTF-16 units. */
  #starts: Uint32Array;
  #length = 0;
  #kind: number = Kind.separator;
  #characters = 0;

  constructor(original: string) {
    this.#original = original;
    this.#units = new Uint16Array(original.length + SPARE);
    this.#starts = new Uint32Array(original.length + SPARE);
    this.#append(SPACE, 0);
  }

  /** The whole text, folded. */
  get text(): string {
    this.fold(Number.POSITIVE_INFINITY);
    this.#text ??= decode(this.units);
    return this.#text;
  }

  /** The code units that have been folded so far. */
  get units(): Uint16Array {
    return this.#units.subarray(0, this.#length);
  }

  /** How many characters have been folded so far, without separators. */
  get characters(): number {
    return this.#characters;
  }

  /** Continues to fold, up to `end` in the original; returns whether it has reached the end. */
  fold(end: number): boolean {
    const original = this.#original;
    const until = Math.min(end, original.length);
    for (; this.#at < until; this.#at += 1) {
      const at = this.#at;
      const point = original.codePointAt(at) ?? 0;
      this.#add(point, at);
      if (point > 0xffff) this.#at += 1;
    }
    if (this.#at < original.length) return false;
    if (this.#kind !== Kind.separator) this.#append(SPACE, original.length);
    this.#kind = Kind.separator;
    return true;
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
    this.#characters += 1;
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

/** Returns the text of UTF-16 code units. */
export function decode(units: Uint16Array): string {
  // Several times as fast as String.fromCharCode.
  return Buffer.from(units.buffer, units.byteOffset, units.byteLength).toString('utf16le');
}
