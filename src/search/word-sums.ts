// Sums by which the words of texts are compared with those of an index, in one pass over both and
// in memory that does not grow. Each word is in a bucket; other words or places change its sum.

/** A prime below 2^26: a product of two remainders is exact in JavaScript as well. */
const PRIME = 67_108_859;

/** More than the words of a text, so that the places of two records are never the same. */
const MAX_PLACES = 1_048_573;

const BUCKETS = 65_536;

const SPACE = 0x20;

/** A word in a text of words with a space after each. */
interface Word {
  /** The number of words before it. */
  place: number;
  /** The code units before it, and before the space after it. */
  start: number;
  end: number;
  bucket: number;
  /** Almost certainly another one for each word of the bucket. */
  factor: number;
}

/** Yields the words of a text, all in the same object, because there are many. */
export function* wordsIn(text: string): Generator<Word, undefined> {
  const word = { place: 0, start: 0, end: 0, bucket: 0, factor: 0 };
  let [hash, other] = [0, 0];
  for (; word.end < text.length; word.end += 1) {
    const unit = text.charCodeAt(word.end);
    if (unit !== SPACE) {
      hash = Math.imul(hash ^ unit, 0x01000193);
      other = (Math.imul(other, 31) + unit) | 0;
      continue;
    }
    word.bucket = (hash ^ (hash >>> 16)) & (BUCKETS - 1);
    word.factor = (other >>> 0) % PRIME;
    yield word;
    word.place += 1;
    word.start = word.end + 1;
    [hash, other] = [0, 0];
  }
}

/** The differences between sums over the words of texts and of an index. */
export class WordSums {
  readonly #sums = new Float64Array(BUCKETS);
  readonly #columns: readonly string[];
  /** How many words of texts have been added. */
  words = 0;

  constructor(columns: readonly string[]) {
    this.#columns = columns;
  }

  /** SQL that sums up rows with `id`, `col` and `offset`: the places of one word. */
  get sql(): string {
    const columns = this.#columns.map((name, index) => `WHEN '${name}' THEN ${index}`).join(' ');
    const place = `"offset" * ${this.#columns.length} + CASE col ${columns} END`;
    const value = `((id % ${PRIME} * ${MAX_PLACES} + ${place}) % ${PRIME})`;
    return `sum(${value} * ${value} % ${PRIME}) % ${PRIME}`;
  }

  /** Adds the words of a text in a column; returns how many there are. */
  add(id: number, column: number, text: string): number {
    const first = (id % PRIME) * MAX_PLACES + column;
    let count = 0;
    for (const { place, bucket, factor } of wordsIn(text)) {
      const value = (first + place * this.#columns.length) % PRIME;
      this.#add(bucket, factor, (value * value) % PRIME);
      count += 1;
    }
    this.words += count;
    return count;
  }

  /** Subtracts a word of the index with the sum of its places. */
  subtract(term: string, sum: number): void {
    for (const { bucket, factor } of wordsIn(`${term} `)) this.#add(bucket, factor, -sum);
  }

  /** Returns the first buckets, at most `most`, in which the words differ. */
  differences(most: number): Set<number> {
    const buckets = [...this.#sums.keys()].filter((bucket) => this.#sums[bucket] !== 0);
    return new Set(buckets.slice(0, most));
  }

  #add(bucket: number, factor: number, value: number): void {
    this.#sums[bucket] = ((this.#sums[bucket] ?? 0) + factor * value) % PRIME;
  }
}
