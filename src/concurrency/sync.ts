// The primitives by which threads coordinate, on shared memory and nothing but Atomics. The state of each is a few int32
// cells on a SharedArrayBuffer: `...Cells` makes them, a message carries them to other threads, and `open...` gives
// either side the same primitive. They block their thread, so the event loop of the service must not call them.

// What holds for all of them:
// - No wake-up is lost. Atomics.wait looks at the cell and goes to sleep in one step, and whoever ends the wait changes
//   the cell before notifying: a thread that comes too late to be woken sees the change and does not sleep.
// - Waking up proves nothing (another thread may have been quicker: barging), so every wait stands in a loop that looks
//   again. Nobody is served in turn; that a thread gets there in the end is what the time-outs watch over.

/**
 * How long a wait may last unless its caller says otherwise: whatever would end a longer one is stuck or gone. It is
 * longer than a crew has for its job, and so the last resort.
 */
export const WAIT_LIMIT_MS = 60_000;

/** How often a lock is looked at before its thread goes to sleep: a holder is quicker than two changes of threads. */
const SPINS = 100;

/** A wait lasted longer than it may. What was waited for has not been had. */
export class WaitTimeout extends Error {
  override readonly name = 'WaitTimeout';
}

/** Mutual exclusion: at most one thread is between `lock` and `unlock`, and sees all that its predecessors wrote. */
export interface Mutex {
  /** Returns once the calling thread holds the lock; throws {@link WaitTimeout}. It is not reentrant. */
  lock(limitMs?: number): void;
  /** Gives the lock back; throws if nobody holds it. */
  unlock(): void;
}

const LOCK = 0;
const FREE = 0;
const HELD = 1;
/** Held, and someone may sleep: only then has `unlock` to call the system. */
const CONTENDED = 2;

/** Returns the cells of a free mutex. */
export function mutexCells(): Int32Array {
  return sharedCells(1);
}

/**
 * Opens a mutex with the three states of a futex lock (U. Drepper, "Futexes Are Tricky", mutex 2): nobody calls the
 * system as long as nobody competes.
 */
export function openMutex(cells: Int32Array): Mutex {
  return {
    lock(limitMs = WAIT_LIMIT_MS) {
      for (let spin = 0; spin < SPINS; spin += 1) {
        if (Atomics.compareExchange(cells, LOCK, FREE, HELD) === FREE) return;
      }
      const deadline = performance.now() + limitMs;
      // It is taken as contended, although perhaps nobody else sleeps: this thread cannot know, and a notify too many is
      // harmless where one too few would leave somebody asleep.
      while (Atomics.exchange(cells, LOCK, CONTENDED) !== FREE) sleep(cells, LOCK, CONTENDED, deadline);
    },

    unlock() {
      const state = Atomics.exchange(cells, LOCK, FREE);
      if (state === CONTENDED) Atomics.notify(cells, LOCK, 1);
      if (state === FREE) throw new Error('a mutex was unlocked that nobody held');
    },
  };
}

/** A number of permits: `acquire` takes one and waits while there is none, `release` adds one. */
export interface Semaphore {
  /** Takes a permit; throws {@link WaitTimeout}. */
  acquire(limitMs?: number): void;
  /** Adds a permit, whoever had taken one. */
  release(): void;
}

const PERMITS = 0;
const SLEEPERS = 1;
const SEMAPHORE_CELLS = 2;

/** Returns the cells of a semaphore with this many permits. */
export function semaphoreCells(permits: number): Int32Array {
  return sharedCells(SEMAPHORE_CELLS, { [PERMITS]: permits });
}

/** Opens a counting semaphore. The permits are never negative: a thread takes one only by replacing n > 0 with n - 1. */
export function openSemaphore(cells: Int32Array): Semaphore {
  function takePermit(): boolean {
    for (let permits = Atomics.load(cells, PERMITS); permits > 0; permits = Atomics.load(cells, PERMITS)) {
      if (Atomics.compareExchange(cells, PERMITS, permits, permits - 1) === permits) return true;
    }
    return false;
  }

  return {
    acquire(limitMs = WAIT_LIMIT_MS) {
      if (takePermit()) return;
      const deadline = performance.now() + limitMs;
      // Counted before it looks again: who releases either sees the sleeper, or has released before this look.
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

/** A manual-reset event: once set it lets everybody pass, until it is reset. */
export interface Event {
  /** Sets the event and wakes all who wait. */
  set(): void;
  reset(): void;
  isSet(): boolean;
  /** Returns once the event is set; throws {@link WaitTimeout}. */
  wait(limitMs?: number): void;
}

/** How often it was set or reset in turn: odd while the event is set. */
const CHANGES = 0;

/** Returns the cells of an event that is not set. */
export function eventCells(): Int32Array {
  return sharedCells(1);
}

/**
 * Opens an event. It counts its changes: who waits, waits for another change, and so is let through as well when the event
 * was set and reset before it ran again. An exchange that fails was made by somebody else in the meantime.
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

/** A meeting point for a fixed number of threads, which may meet there again and again. */
export interface Barrier {
  /** Returns once all have arrived; throws {@link WaitTimeout}, and then the barrier is broken: all others throw it too. */
  arrive(limitMs?: number): void;
}

const PARTIES = 0;
const ARRIVED = 1;
const GENERATION = 2;
const BARRIER_CELLS = 3;

/** What the generation is once a thread has waited too long, and what it is at most before it starts anew. */
const BROKEN = -1;
const GENERATION_MOST = 0x7fff_ffff;

/** Returns the cells of a barrier for this many threads. */
export function barrierCells(parties: number): Int32Array {
  return sharedCells(BARRIER_CELLS, { [PARTIES]: parties });
}

/**
 * Opens a barrier. Each meeting is a generation; who waits, waits for the generation to change. A thread reads it before
 * it says that it is there: afterwards the meeting may be over, and the thread would wait for the next. The last to come
 * and the first whose time is over may be two: only one of them changes it.
 */
export function openBarrier(cells: Int32Array): Barrier {
  const current = () => Atomics.load(cells, GENERATION);

  function end(generation: number, next: number): void {
    Atomics.compareExchange(cells, GENERATION, generation, next);
    Atomics.notify(cells, GENERATION);
  }

  function meet(generation: number, limitMs: number): void {
    if (Atomics.add(cells, ARRIVED, 1) + 1 === Atomics.load(cells, PARTIES)) {
      // Before the generation changes, for then the first may arrive at the next meeting.
      Atomics.store(cells, ARRIVED, 0);
      end(generation, (generation + 1) & GENERATION_MOST);
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
      if (current() === BROKEN) throw new WaitTimeout('not all have come to the barrier');
    },
  };
}

/** A bounded queue of integers, first in, first out, for any number of producers and consumers. */
export interface BoundedQueue {
  /**
   * Adds a value (an int32), waiting while the queue is full, and returns how many values it holds then. Throws
   * {@link WaitTimeout}, and nothing was added.
   */
  put(value: number, limitMs?: number): number;
  /** Takes the oldest value, waiting while there is none; throws {@link WaitTimeout}, and nothing was taken. */
  take(limitMs?: number): number;
}

/** The sentinel: a producer puts one for each consumer, which ends when it takes one. Not to be used as a value. */
export const END = -1;

const HEAD = 0;
const DEPTH = 1;
const QUEUE_LOCK = 2;
const ROOM = 3;
const FILLED = ROOM + SEMAPHORE_CELLS;
const SLOTS = FILLED + SEMAPHORE_CELLS;

/** Returns the cells of an empty queue for this many values. */
export function queueCells(capacity: number): Int32Array {
  return sharedCells(SLOTS + capacity, { [ROOM + PERMITS]: capacity });
}

/**
 * Opens a queue made of the primitives above: a semaphore counts the room, another the values, and a mutex guards the
 * ring. Room and values together never exceed the capacity, so nothing is overwritten and nothing read twice.
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

/** Returns `count` cells of shared memory, all zero but for `values`. */
export function sharedCells(count: number, values: Readonly<Record<number, number>> = {}): Int32Array {
  const cells = new Int32Array(new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT));
  for (const [cell, value] of Object.entries(values)) cells[Number(cell)] = value;
  return cells;
}

/** Returns at once if the cell is not `value`, otherwise sleeps until notified. Throws when the deadline has passed. */
function sleep(cells: Int32Array, cell: number, value: number, deadline: number): void {
  const left = deadline - performance.now();
  if (left <= 0 || Atomics.wait(cells, cell, value, left) === 'timed-out') throw new WaitTimeout('waited in vain');
}
