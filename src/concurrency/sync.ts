// Synchronization primitives for threads, built on Atomics alone. The state of each is a few int32
// cells in shared memory: the static `cells` allocates them, and each thread opens the primitive on
// them. They block the calling thread, so the main thread must not use them. Two rules hold:
// - No wake-up is lost: the waking thread changes the cell before it notifies, and Atomics.wait
//   compares the cell and goes to sleep in one atomic step.
// - A wake-up guarantees nothing, as another thread may have been faster: every wait is in a loop.

class Primitive {
  readonly cells: Int32Array;

  constructor(cells: Int32Array) {
    this.cells = cells;
  }
}

/** Attempts before sleeping: a lock is usually released sooner than a thread can be woken. */
const SPINS = 100;

const LOCK = 0;
const FREE = 0;
const HELD = 1;
/** Held while other threads may be asleep: only then must `unlock` notify. */
const CONTENDED = 2;

/**
 * Mutual exclusion: one thread holds the lock and sees everything that earlier holders wrote. It is
 * a futex lock (U. Drepper, "Futexes Are Tricky", mutex 2): no system call without contention.
 */
export class Mutex extends Primitive {
  static cells(): Int32Array {
    return sharedCells(1);
  }

  /** Takes the lock or waits for it. Not reentrant. */
  lock(): void {
    const cells = this.cells;
    for (let spin = 0; spin < SPINS; spin += 1) {
      if (Atomics.compareExchange(cells, LOCK, FREE, HELD) === FREE) return;
    }
    // Others may be asleep: an unnecessary notify is harmless, a missing one leaves them asleep.
    while (Atomics.exchange(cells, LOCK, CONTENDED) !== FREE) Atomics.wait(cells, LOCK, CONTENDED);
  }

  /** Releases the lock, which this thread must hold. */
  unlock(): void {
    const state = Atomics.exchange(this.cells, LOCK, FREE);
    if (state === CONTENDED) Atomics.notify(this.cells, LOCK, 1);
  }
}

const PERMITS = 0;

/** A counting semaphore. Any thread may release a permit. */
export class Semaphore extends Primitive {
  static cells(permits: number): Int32Array {
    return sharedCells(1, { [PERMITS]: permits });
  }

  acquire(): void {
    const cells = this.cells;
    for (;;) {
      const permits = Atomics.load(cells, PERMITS);
      if (permits === 0) Atomics.wait(cells, PERMITS, 0);
      // The number never becomes negative: n > 0 becomes n - 1.
      else if (Atomics.compareExchange(cells, PERMITS, permits, permits - 1) === permits) return;
    }
  }

  release(): void {
    Atomics.add(this.cells, PERMITS, 1);
    Atomics.notify(this.cells, PERMITS, 1);
  }
}

const STATE = 0;
const UNSET = 0;
const SET = 1;

/** An event that happens once: it stays set. */
export class Event extends Primitive {
  static cells(): Int32Array {
    return sharedCells(1);
  }

  set(): void {
    Atomics.store(this.cells, STATE, SET);
    Atomics.notify(this.cells, STATE);
  }

  isSet(): boolean {
    return Atomics.load(this.cells, STATE) === SET;
  }

  wait(): void {
    // If the event is set after the check, the cell is not UNSET, and the wait returns at once.
    while (!this.isSet()) Atomics.wait(this.cells, STATE, UNSET);
  }
}

const PARTIES = 0;
const ARRIVED = 1;
/** Counts the meetings. */
const GENERATION = 2;
const BARRIER_CELLS = 3;

/** A reusable meeting point for a fixed number of threads. */
export class Barrier extends Primitive {
  static cells(parties: number): Int32Array {
    return sharedCells(BARRIER_CELLS, { [PARTIES]: parties });
  }

  arrive(): void {
    const cells = this.cells;
    // Before arriving: afterwards this meeting may be over, and the next one have begun.
    const generation = Atomics.load(cells, GENERATION);
    if (Atomics.add(cells, ARRIVED, 1) + 1 < Atomics.load(cells, PARTIES)) {
      while (Atomics.load(cells, GENERATION) === generation)
        Atomics.wait(cells, GENERATION, generation);
      return;
    }
    // Reset first: once the generation changes, threads may arrive at the next meeting.
    Atomics.store(cells, ARRIVED, 0);
    Atomics.add(cells, GENERATION, 1);
    Atomics.notify(cells, GENERATION);
  }
}

/** A sentinel: a producer adds one for each consumer, and a consumer that takes it stops. */
export const END = -1;

const HEAD = 0;
const DEPTH = 1;
const QUEUE_LOCK = 2;
const ROOM = 3;
const FILLED = 4;
const SLOTS = 5;

/**
 * A bounded FIFO queue of int32 values, for any number of producers and consumers. One semaphore
 * counts the free slots, another the values, and a mutex protects the ring.
 */
export class BoundedQueue extends Primitive {
  readonly #mutex: Mutex;
  readonly #room: Semaphore;
  readonly #filled: Semaphore;
  readonly #slots: Int32Array;

  constructor(cells: Int32Array) {
    super(cells);
    this.#mutex = new Mutex(cells.subarray(QUEUE_LOCK, ROOM));
    this.#room = new Semaphore(cells.subarray(ROOM, FILLED));
    this.#filled = new Semaphore(cells.subarray(FILLED, SLOTS));
    this.#slots = cells.subarray(SLOTS);
  }

  static cells(capacity: number): Int32Array {
    return sharedCells(SLOTS + capacity, { [ROOM]: capacity });
  }

  /** Adds a value, waiting while the queue is full; returns the number of values in the queue. */
  put(value: number): number {
    this.#room.acquire();
    this.#mutex.lock();
    this.#slots[(this.#at(HEAD) + this.#at(DEPTH)) % this.#slots.length] = value;
    const depth = Atomics.add(this.cells, DEPTH, 1) + 1;
    this.#mutex.unlock();
    this.#filled.release();
    return depth;
  }

  take(): number {
    this.#filled.acquire();
    this.#mutex.lock();
    const value = this.#slots[this.#at(HEAD)] ?? END;
    Atomics.store(this.cells, HEAD, (this.#at(HEAD) + 1) % this.#slots.length);
    Atomics.sub(this.cells, DEPTH, 1);
    this.#mutex.unlock();
    this.#room.release();
    return value;
  }

  #at(cell: number): number {
    return Atomics.load(this.cells, cell);
  }
}

/** Allocates `count` cells of shared memory, with the given `values` and zeros elsewhere. */
export function sharedCells(count: number, values: Record<number, number> = {}): Int32Array {
  const cells = new Int32Array(new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT));
  return Object.assign(cells, values);
}
