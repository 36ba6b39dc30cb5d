// Texts that stay in memory and are returned only while they are provably the latest ones, because
// the revision of the database has changed when a commit of any process returns:
// 1. A text is found only if the revision, read after the request arrived, is the one it is kept
//    for. So every commit that was acknowledged before the request is in it.
// 2. A text is kept only if the revision was the same before and after it was read.
// 3. A transaction of this process moves all texts to the next revision only if it has changed a
//    record, and exactly one transaction lies between the two. So no other one has.
// In all other cases, memory is emptied.
import { LRUCache } from 'lru-cache';
import type { Freshness } from '../storage/database.ts';
import {
  type Change,
  type Commit,
  type CommitObserver,
  type Kept,
  type Memory,
  PAGES,
} from '../storage/writer.ts';

type Entries = LRUCache<number | string, Kept>;

/** What an entry takes beside its text. */
const ENTRY_BYTES = 300;

/** The memory of one process for a database. */
export class FreshMemory implements Memory, CommitObserver {
  #freshness: Freshness | undefined;
  readonly #maxBytes: number;
  /** By area, all of which can be forgotten at once. The largest one gives way to others. */
  readonly #areas = new Map<string, Entries>();
  #revision: string | undefined;
  /** The revision before the transaction that is running. */
  #before: string | undefined;
  #isCommitting = false;
  #wasFresh: boolean | undefined;
  hits = 0;
  misses = 0;

  /** Keeps up to `maxBytes` of memory; nothing without `freshness`. */
  constructor(freshness: Freshness | undefined, maxBytes: number) {
    this.#freshness = maxBytes > 0 ? freshness : undefined;
    this.#maxBytes = Math.floor(maxBytes);
  }

  get bytes(): number {
    return [...this.#areas.values()].reduce((sum, { calculatedSize }) => sum + calculatedSize, 0);
  }

  find<Value extends Kept>(area: string, key: number | string): Value | undefined {
    if (!this.#freshness) return undefined;
    const found = this.#isFresh() ? this.#areas.get(area)?.get(key) : undefined;
    if (found) this.hits += 1;
    else this.misses += 1;
    return found as Value | undefined;
  }

  /** Checks once for all lookups before the next microtasks: their requests have arrived before. */
  #isFresh(): boolean {
    if (this.#wasFresh === undefined) {
      this.#wasFresh = this.check() !== undefined;
      queueMicrotask(() => {
        this.#wasFresh = undefined;
      });
    }
    return this.#wasFresh;
  }

  check(): string | undefined {
    const revision = this.#freshness?.revision();
    if (revision !== this.#revision && !this.#isCommitting) this.#restart(revision);
    return revision === this.#revision ? revision : undefined;
  }

  keep(...[revision, area, values]: Parameters<Memory['keep']>): void {
    if (revision === undefined || this.check() !== revision) return;
    for (const [key, value] of values) {
      if (value?.text === undefined) continue;
      // A copy: V8 would keep the whole text that one of its strings is a part of.
      this.#set(area, key, JSON.parse(JSON.stringify(value)));
    }
  }

  /** Must be called before a transaction of this process, and {@link end} after it. */
  begin(): undefined {
    this.#before = this.check();
    this.#isCommitting = true;
  }

  end({ changes }: Pick<Commit, 'changes'>): void {
    this.#isCommitting = false;
    if (this.#before !== undefined) this.#advance(this.#before, changes);
  }

  #advance(before: string, changes: readonly Change[]): void {
    // Someone else's change would look like a change of this transaction.
    if (changes.length === 0) return;
    const after = this.#freshness?.committed();
    // This platform does not show its own commits.
    if (after === before) this.#freshness = undefined;
    const isNext = after !== undefined && this.#freshness?.isNext(before, after);
    if (!isNext || this.#revision !== before) {
      this.#restart(undefined);
      return;
    }
    this.#revision = after;
    this.#areas.delete(PAGES);
    for (const [area, key, now] of changes) {
      if (key === undefined) this.#areas.delete(area);
      // What nobody has read would only displace what somebody has.
      else if (now && this.#areas.get(area)?.has(key)) this.#set(area, key, now);
      else this.#areas.get(area)?.delete(key);
    }
  }

  #restart(revision: string | undefined): void {
    this.#revision = revision;
    this.#areas.clear();
  }

  #set(area: string, key: number | string, value: Kept): void {
    const { text, ...rest } = value;
    if (text === undefined) return;
    // V8 takes two bytes for each character if one of them is not Latin-1.
    const characterBytes = Buffer.byteLength(text) === text.length ? 1 : 2;
    const others = String(key).length + JSON.stringify(rest).length;
    const entries = this.#areas.get(area) ?? new LRUCache({ maxSize: this.#maxBytes });
    this.#areas.set(area, entries);
    entries.set(key, value, { size: ENTRY_BYTES + others + characterBytes * text.length });
    const bySize = (one: Entries, other: Entries) => other.calculatedSize - one.calculatedSize;
    while (this.bytes > this.#maxBytes) [...this.#areas.values()].sort(bySize)[0]?.pop();
  }
}
