// The right to write to the file, which one of the processes has at a time. SQLite's own lock keeps their writes apart;
// but who finds it held looks again after a while, and whoever comes by first gets it. Here everyone has a turn.

/** Where a process asks for its turn, and is asked for it. */
export interface TurnOffice {
  /** Resolves when it is the caller's turn, with whether others wait already. */
  ask(): Promise<boolean>;
  /** Gives the turn back. */
  pass(): void;
}

/** The turn as a process has it: it keeps it while nobody else asks, so that who writes alone need not ask each time. */
export interface Turn {
  /** Resolves when it is the turn of this process; it stays so at least until the event loop turns. */
  come(): Promise<void>;
  /** Does `work` when it is the turn of this process; resolves or rejects as `work` does. One piece of work at a time. */
  use<T>(work: () => Promise<T>): Promise<T>;
  /** To be called when another process waits. */
  wanted(): void;
}

/** Returns the turn of a process that asks at `office`. */
export function createTurn(office: TurnOffice): Turn {
  let state: 'away' | 'asked' | 'here' | 'in use' = 'away';
  let isWanted = false;

  function passIfWanted(): void {
    if (state !== 'here' || !isWanted) return;
    state = 'away';
    isWanted = false;
    office.pass();
  }

  async function come(): Promise<void> {
    if (state !== 'away') return;
    state = 'asked';
    const othersWait = await office.ask();
    // Node gives out all messages of a read before anybody who waits for one of them goes on.
    isWanted ||= othersWait;
    state = 'here';
    // If it is not used now, it is for nothing.
    setImmediate(passIfWanted);
  }

  return {
    come,

    async use(work) {
      await come();
      state = 'in use';
      try {
        return await work();
      } finally {
        state = 'here';
        passIfWanted();
      }
    },

    wanted() {
      // The turn may have been passed on while this was on its way.
      if (state === 'away') return;
      isWanted = true;
      passIfWanted();
    },
  };
}

/** Who has the turn, and who waits for it, in the order in which they asked. */
export interface Turns<Holder> {
  /** Resolves when it is the turn of `holder`, with whether others wait already. */
  ask(holder: Holder): Promise<boolean>;
  /** Gives back the turn of `holder`, or its place in the line: it wants it no more, or is no more. */
  pass(holder: Holder): void;
}

/** How those are spoken to who have the turn. */
export interface Speaking<Holder> {
  /** Tells `holder` that another one asks for the turn. */
  readonly tell: (holder: Holder) => void;
  /** Does the same, and resolves when it has been heard. */
  readonly reach: (holder: Holder) => Promise<unknown>;
}

/** How long a turn may last, once others wait, until it is asked whether its holder still hears; and how long for the answer. */
const OVERDUE_MS = 1_000;

/**
 * Returns the turns of processes. Who has the turn has it as long as it takes, unless it hears nothing: then SQLite's lock
 * keeps it apart from the next one.
 */
export function createTurns<Holder>({ tell, reach }: Speaking<Holder>, overdueMs = OVERDUE_MS): Turns<Holder> {
  let line: { readonly holder: Holder; readonly grant: (othersWait: boolean) => void }[] = [];
  let current: Holder | undefined;
  let overdue: NodeJS.Timeout | undefined;

  function next(): void {
    clearTimeout(overdue);
    const first = line.shift();
    current = first?.holder;
    if (!first) return;
    first.grant(line.length > 0);
    if (line.length > 0) watch(first.holder);
  }

  function watch(holder: Holder): void {
    overdue = setTimeout(lookFor, overdueMs, holder).unref();
  }

  function lookFor(holder: Holder): void {
    overdue = setTimeout(next, overdueMs).unref();
    reach(holder).then(
      () => {
        if (current !== holder) return;
        clearTimeout(overdue);
        watch(holder);
      },
      () => {},
    );
  }

  return {
    ask(holder) {
      return new Promise((grant) => {
        line.push({ holder, grant });
        if (current === undefined) next();
        else if (line.length === 1) {
          tell(current);
          watch(current);
        }
      });
    },

    pass(holder) {
      line = line.filter((each) => each.holder !== holder);
      if (current === holder) next();
    },
  };
}
