// What the processes of one service have in common, as one of them sees it: the turn at writing, the counts of requests
// and all others, the health. A process that is alone has all of it to itself.
import { createRateLimiter, type Quota, type RateLimiter } from '../guards/rate-limit.ts';
import type { Snapshot } from '../metrics/together.ts';
import { createBatcher } from '../storage/batcher.ts';
import type { Database } from '../storage/database.ts';
import { openChannel, type Port } from './channel.ts';
import type { Count, MemberFunctions, SupervisorFunctions } from './protocol.ts';
import { createTurn } from './turns.ts';

/** The processes that serve at the same address, from the same file. */
export interface Siblings {
  /** Returns the limiter of that name, which counts the requests of all processes together. */
  createLimiter(name: string, quota: number): RateLimiter;
  /**
   * Opens the database with `open` and returns it so that a ping is of all processes, and where it `takesTurns`, as a file
   * does, they take turns at writing.
   */
  share(open: () => Promise<Database>, takesTurns: boolean): Promise<Database>;
  /** Takes what resolves with the counts of this process, and returns what resolves with those of each. */
  shareCounts(own: () => Promise<Snapshot>): () => Promise<readonly Snapshot[]>;
}

/** No siblings: the process is the service. */
export const ALONE: Siblings = {
  createLimiter: (_name, quota) => createRateLimiter(quota),
  share: (open) => open(),
  shareCounts: (own) => async () => [await own()],
};

/** Joins the processes whose supervisor is at the other end of `port`, and does what it says with `functions`. */
export function join(
  port: Port,
  functions: Pick<MemberFunctions, 'listen' | 'reloadKeys'> & { readonly close: () => void },
): Siblings {
  let own: Database | undefined;
  let counts: () => Promise<Snapshot> = async () => [];
  const supervisor = openChannel<SupervisorFunctions>(port, {
    ...functions,
    turnWanted: () => turn.wanted(),
    ping: () => own?.ping(),
    counts: () => counts(),
  } satisfies Record<keyof MemberFunctions, unknown>);
  supervisor.tell('begun');
  const turn = createTurn({
    ask: () => supervisor.call('askTurn'),
    pass: () => supervisor.tell('passTurn'),
  });
  // What is asked for while a question is under way travels with the next one.
  const count = createBatcher<Count, Quota>({ run: (counts) => supervisor.call('count', counts) });

  return {
    createLimiter: (limiter, quota) => ({
      take: (client) => count({ limiter, quota, client, take: true }),
      look: (client) => count({ limiter, quota, client, take: false }),
    }),

    shareCounts(own) {
      counts = own;
      return () => supervisor.call('countsOfAll');
    },

    async share(open, takesTurns) {
      // The start writes too.
      const database = await (takesTurns ? turn.use(open) : open());
      own = database;
      const shared: Database = { ...database, ping: () => supervisor.call('pingAll') };
      if (!takesTurns) return shared;
      return {
        ...shared,
        writable: turn.come,
        transact: (batchId, statements) => turn.use(() => database.transact(batchId, statements)),
        // The last one folds the log into the file; of two at the same moment neither would be the last.
        close: () => turn.use(() => database.close()),
      };
    },
  };
}
