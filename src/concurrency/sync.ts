// Synchronization primitives for threads, built on Atomics alone. The state of each is a few int32
// cells in shared memory: `...Cells` allocates them, and `open...` opens the primitive in each
// thread. They block the calling thread, so the main thread must not use them.

// Two rules hold for all of them:
// - No wake-up is lost. Atomics.wait compares the cell and goes to sleep in one atomic step, and
//   the waking thread changes the cell before it notifies. A thread that has not gone to sleep by
//   then sees the change and does not sleep.
// - A wake-up guarantees nothing: another thread may have been faster (barging). So every wait is
//   in a loop that checks again. Waiters are not served in order; a starved one times out.

/** The default limit of a wait: a last resort, longer than the time limit of a job. */
export const WAIT_LIMIT_MS = 60_000;

/** Attempts before sleeping: a lock is usually released sooner than a thread can be woken. */
const SPINS = 100;

/** A wait took too long. The thread has not acquired what it waited for. */
export class WaitTimeout extends Error {
  override readonly name = 'WaitTimeout';
}

/** Mutual exclusion: one thread holds the lock and sees everything that earlier holders wrote. */
export interface Mutex {
  /** Takes the lock; throws {@link WaitTimeout}. Not reentrant. */
  lock(limitMs?: number): void;
  /** Releases the lock; throws if no thread holds it. */
  unlock(): void;
}

const LOCK = 0;
const FREE = 0;
const HELD = 1;
/** Held while other threads may be asleep: only then must `unlock` notify. */
const CONTENDED = 2;

/** Allocates the cells of a free mutex. */
export function mutexCells(): Int32Array {
  return sharedCells(1);
}

/**
 * Opens a futex lock (U. Drepper, "Futexes Are Tricky", mutex 2): no system call without
 * contention.
 */
export function openMutex(cells: Int32Array): Mutex {
  return {
    lock(limitMs = WAIT_LIMIT_MS) {
      for (let spin = 0; spin < SPINS; spin += 1) {
        if (Atomics.compareExchange(cells, LOCK, FREE, HELD) === FREE) return;
      }
      const deadline = performance.now() + limitMs;
      // This thread cannot know whether others are asleep, so it takes the lock as contended: an
      // unnecessary notify is harmless, but a missing one would leave a thread asleep.
      while (Atomics.exchange(cells, LOCK, CONTENDED) !== FREE)
        sleep(cells, LOCK, CONTENDED, deadline);
    },

    unlock() {
      const state = Atomics.exchange(cells, LOCK, FREE);
      if (state === CONTENDED) Atomics.notify(cells, LOCK, 1);
      if (state === FREE) throw new Error('unlocked a mutex that nobody held');
    },
  };
}

/** A counting semaphore: `acquire` takes a permit or waits for one, `release` adds one. */
export interface Semaphore {
  /** Takes a permit; throws {@link WaitTimeout}. */
  acquire(limitMs?: number): void;
  /** Adds a permit; any thread may do so. */
  release(): void;
}

const PERMITS = 0;
const SLEEPERS = 1;
const SEMAPHORE_CELLS = 2;

/** Allocates the cells of a semaphore with this many permits. */
export function semaphoreCells(permits: number): Int32Array {
  return sharedCells(SEMAPHORE_CELLS, { [PERMITS]: permits });
}

/** Opens a semaphore. Its permits never become negative: `takePermit` replaces n > 0 by n - 1. */
export function openSemaphore(cells: Int32Array): Semaphore {
  function takePermit(): boolean {
    for (;;) {
      const permits = Atomics.load(cells, PERMITS);
      if (permits <= 0) return false;
      if (Atomics.compareExchange(cells, PERMITS, permits, permits - 1) === permits) return true;
    }
  }

  return {
    acquire(limitMs = WAIT_LIMIT_MS) {
      if (takePermit()) return;
      const deadline = performance.now() + limitMs;
      // Registered before it checks again: a release either sees this sleeper and notifies, or
      // added its permit before the check.
      Atomics.add(cells, SLEEPERS, 1);
      try {
        while (!takePermit()) sleep(cells, PERMITS, 0, deadline);
      } finally {
        Atomics.sub(cells, SLEEPERS, 1);
      }
    },

    release() {
      Atomics.add(cells, PERMITS, 1);
      if (Atomics.load(cells, SLEEPERS) > 0) Atomics.notify(cells, PERMITS, 1);
    },
  };
}

/** A manual-reset event: it stays set, and releases every waiter, until it is reset. */
export interface Event {
  /** Sets the event and wakes all waiting threads. */
  set(): void;
  /** Makes threads wait again. */
  reset(): void;
  isSet(): boolean;
  /** Returns once the event is set; throws {@link WaitTimeout}. */
  wait(limitMs?: number): void;
}

/** The cell that counts the changes of the event; it is odd while the event is set. */
const CHANGES = 0;

/** Allocates the cells of an event that is not set. */
export function eventCells(): Int32Array {
  return sharedCells(1);
}

/**
 * Opens an event. Waiters wait for the count of changes to change, so that they also return if the
 * event was set and reset before they ran again. If a compareExchange fails, another thread has
 * just made the same change.
 */
export function openEvent(cells: Int32Array): Event {
  const changes = () => Atomics.load(cells, CHANGES);
  const isSet = (seen: number) => (seen & 1) === 1;

  return {
    set() {
      const seen = changes();
      if (!isSet(seen)) Atomics.compareExchange(cells, CHANGES, seen, seen + 1);
      Atomics.notify(cells, CHANGES);
    },
    reset() {
      const seen = changes();
      if (isSet(seen)) Atomics.compareExchange(cells, CHANGES, seen, seen + 1);
    },
    isSet: () => isSet(changes()),
    wait(limitMs = WAIT_LIMIT_MS) {
      const seen = changes();
      const deadline = performance.now() + limitMs;
      while (!isSet(seen) && changes() === seen) sleep(cells, CHANGES, seen, deadline);
    },
  };
}

/** A reusable meeting point for a fixed number of threads. */
export interface Barrier {
  /** Waits until all have arrived. If one throws {@link WaitTimeout}, so do all others. */
  arrive(limitMs?: number): void;
}

const PARTIES = 0;
const ARRIVED = 1;
const GENERATION = 2;
const BARRIER_CELLS = 3;

/** When a thread times out at a barrier, the barrier gets this generation and keeps it. */
const BROKEN = -1;
/** After this generation, the count starts again at 0. */
const MAX_GENERATION = 0x7fff_ffff;

/** Allocates the cells of a barrier for this many threads. */
export function barrierCells(parties: number): Int32Array {
  return sharedCells(BARRIER_CELLS, { [PARTIES]: parties });
}

/**
 * Opens a barrier. Each meeting is a generation, and a thread waits for the generation to change.
 * It must read the generation before it arrives; afterwards the meeting may be over, and the thread
 * would wait for the next one. If the last arrival races with a time-out, compareExchange lets one
 * of them win.
 */
export function openBarrier(cells: Int32Array): Barrier {
  const current = () => Atomics.load(cells, GENERATION);

  function end(generation: number, next: number): void {
    Atomics.compareExchange(cells, GENERATION, generation, next);
    Atomics.notify(cells, GENERATION);
  }

  function meet(generation: number, limitMs: number): void {
    if (Atomics.add(cells, ARRIVED, 1) + 1 === Atomics.load(cells, PARTIES)) {
      // Reset first: once the generation changes, threads may arrive at the next meeting.
      Atomics.store(cells, ARRIVED, 0);
      end(generation, (generation + 1) & MAX_GENERATION);
      return;
    }
    const deadline = performance.now() + limitMs;
    try {
      while (current() === generation) sleep(cells, GENERATION, generation, deadline);
    } catch {
      end(generation, BROKEN);
    }
  }

  return {
    arrive(limitMs = WAIT_LIMIT_MS) {
      const generation = current();
      if (generation !== BROKEN) meet(generation, limitMs);
      if (current() === BROKEN) throw new WaitTimeout('not all threads have reached the barrier');
    },
  };
}

/** A bounded FIFO queue of integers, for any number of producers and consumers. */
export interface BoundedQueue {
  /**
   * Adds an int32, waiting while the queue is full; returns the number of values in the queue. Adds
   * nothing if it throws {@link WaitTimeout}.
   */
  put(value: number, limitMs?: number): number;
  /** Takes the oldest value or waits for one. Takes nothing if it throws {@link WaitTimeout}. */
  take(limitMs?: number): number;
}

/** A sentinel: a producer adds one for each consumer, and a consumer that takes it stops. */
export const END = -1;

const HEAD = 0;
const DEPTH = 1;
const QUEUE_LOCK = 2;
const ROOM = 3;
const FILLED = ROOM + SEMAPHORE_CELLS;
const SLOTS = FILLED + SEMAPHORE_CELLS;

/** Allocates the cells of an empty queue for this many values. */
export function queueCells(capacity: number): Int32Array {
  return sharedCells(SLOTS + capacity, { [ROOM + PERMITS]: capacity });
}

/**
 * Opens a queue. One semaphore counts the free slots, another the values, and a mutex protects the
 * ring. The permits of both together never exceed the capacity, so no value is overwritten or read
 * twice.
 */
export function openQueue(cells: Int32Array): BoundedQueue {
  const mutex = openMutex(cells.subarray(QUEUE_LOCK, ROOM));
  const room = openSemaphore(cells.subarray(ROOM, FILLED));
  const filled = openSemaphore(cells.subarray(FILLED, SLOTS));
  const slots = cells.subarray(SLOTS);
  const at = (cell: number) => Atomics.load(cells, cell);

  /** Takes a permit and the lock, or neither. */
  function enter(permits: Semaphore, limitMs: number): void {
    const deadline = performance.now() + limitMs;
    permits.acquire(limitMs);
    try {
      mutex.lock(deadline - performance.now());
    } catch (error) {
      permits.release();
      throw error;
    }
  }

  return {
    put(value, limitMs = WAIT_LIMIT_MS) {
      enter(room, limitMs);
      slots[(at(HEAD) + at(DEPTH)) % slots.length] = value;
      const depth = Atomics.add(cells, DEPTH, 1) + 1;
      mutex.unlock();
      filled.release();
      return depth;
    },

    take(limitMs = WAIT_LIMIT_MS) {
      enter(filled, limitMs);
      const value = slots[at(HEAD)] ?? END;
      Atomics.store(cells, HEAD, (at(HEAD) + 1) % slots.length);
      Atomics.sub(cells, DEPTH, 1);
      mutex.unlock();
      room.release();
      return value;
    },
  };
}

/** Allocates `count` cells of shared memory, with the given `values` and zeros elsewhere. */
export function sharedCells(
  count: number,
  values: Readonly<Record<number, number>> = {},
): Int32Array {
  const cells = new Int32Array(new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT));
  for (const [cell, value] of Object.entries(values)) cells[Number(cell)] = value;
  return cells;
}

/** Sleeps until notified; returns at once if the cell is not `value`. Throws at the deadline. */
function sleep(cells: Int32Array, cell: number, value: number, deadline: number): void {
  const left = deadline - performance.now();
  if (left <= 0 || Atomics.wait(cells, cell, value, left) === 'timed-out')
    throw new WaitTimeout('the wait took too long');
}
