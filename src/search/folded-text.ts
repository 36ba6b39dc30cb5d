// A text in the form in which the search compares texts.
import { Kind, kindOf, replacementOf } from './characters.ts';

/** The code unit that separates folded words. */
const SPACE = 0x20;

/** Folded words with a space before and after each; a run without spaces is one word. */
export class FoldedText {
  /** The folded text. If the original is longer, its last word has no space after it. */
  readonly text: string;
  #units: Uint16Array;
  /** For each folded code unit, the position of its origin in the original, in UTF-16 units. */
  #starts: Uint32Array;
  #length = 0;
  /** How much of the original is folded, in UTF-16 units. */
  readonly #end: number;
  #kind: number = Kind.separator;
  /** The number of folded characters so far, with those that are skipped. */
  #characters = 0;

  /** Folds an original, or about `maxCharacters` of it. */
  constructor(original: string, maxCharacters = Number.POSITIVE_INFINITY) {
    // With the spaces at both ends; there are more units if characters stand for several.
    this.#units = new Uint16Array(original.length + 2);
    this.#starts = new Uint32Array(original.length + 2);
    let position = 0;
    this.#append(SPACE, position);
    while (position < original.length && this.#characters < maxCharacters) {
      const point = original.codePointAt(position) ?? 0;
      this.#add(point, position);
      position += point > 0xffff ? 2 : 1;
    }
    this.#end = position;
    if (position === original.length) this.#addSeparator(position);
    // Several times as fast as String.fromCharCode.
    this.text = Buffer.from(this.#units.buffer, 0, 2 * this.#length).toString('utf16le');
  }

  /** Returns where in the original the folded code unit at `position` begins, in UTF-16 units. */
  startOf(position: number): number {
    return position < this.#length ? (this.#starts[position] ?? 0) : this.#end;
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
    if (kind === Kind.replaced) {
      for (const each of replacementOf(point)) this.#add(each, start);
      return;
    }
    this.#characters += 1;
    if (kind === Kind.separator) this.#addSeparator(start);
    else if (kind !== Kind.ignored) this.#addToWord(point, kind, start);
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
