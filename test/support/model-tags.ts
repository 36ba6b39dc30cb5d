// The entity tags that a model has seen of one record or list, and the conditions that it makes of
// them.
import assert from 'node:assert/strict';

/** Which tags a condition names. */
export type Wanted = '*' | readonly TagKind[];

/** A tag as it is now or was, of another generation, or of another form. */
export type TagKind = 'current' | 'weak' | 'old' | 'foreign' | 'odd';

/** A condition: the value of its header, and whether the state matches it now. */
export interface TagCondition {
  readonly header: string;
  readonly matchesStrongly: boolean;
  readonly matchesWeakly: boolean;
}

/** The tags of one record or list, oldest first. */
export class TagHistory {
  readonly #tags: string[] = [];
  #isKnown = false;

  change(): void {
    this.#isKnown = false;
  }

  /** Asserts that the tag in an answer is new after a change, and otherwise the same. */
  observe(tag: string | undefined): void {
    assert.ok(tag);
    if (this.#isKnown) assert.equal(tag, this.#tags.at(-1));
    else assert.ok(!this.#tags.includes(tag), `${tag} is an old tag`);
    if (!this.#isKnown) this.#tags.push(tag);
    this.#isKnown = true;
  }

  /** Returns the condition that is wanted; undefined without one, or if no such tag is known. */
  condition(wanted: Wanted | undefined): TagCondition | undefined {
    if (wanted === undefined) return undefined;
    if (wanted === '*') return { header: '*', matchesStrongly: true, matchesWeakly: true };
    const named = wanted.flatMap((kind) => {
      const tag = this.#tagOf(kind);
      return tag === undefined ? [] : [{ kind, tag }];
    });
    if (named.length === 0) return undefined;
    return {
      header: named.map(({ tag }) => tag).join(', '),
      matchesStrongly: this.#isKnown && named.some(({ kind }) => kind === 'current'),
      matchesWeakly:
        this.#isKnown && named.some(({ kind }) => kind === 'current' || kind === 'weak'),
    };
  }

  #tagOf(kind: TagKind): string | undefined {
    const current = this.#tags.at(-1);
    switch (kind) {
      case 'current':
        return current;
      case 'weak':
        return current && `W/${current}`;
      case 'old':
        return this.#tags.at(-2);
      case 'foreign':
        return current?.replace(/[0-9a-f]{8}/, (generation) => generation.replace(/./g, flipped));
      case 'odd':
        return '"a,b!%"';
    }
  }
}

function flipped(digit: string): string {
  return (15 - Number.parseInt(digit, 16)).toString(16);
}
