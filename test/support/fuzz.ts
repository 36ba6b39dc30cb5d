// Sends mutated requests over several concurrent connections.

import { createRandom, mutated } from './mutations.ts';
import { openProbedConnection, type Tally } from './probed-connection.ts';
import type { Samples } from './samples.ts';

/** The mutations `first` to `last` - 1 of `seed`, sent over this number of connections. */
export interface Fuzz {
  readonly samples: Samples;
  readonly seed: number;
  readonly first: number;
  readonly last: number;
  readonly connections: number;
}

/** Sends mutated requests and counts the answers; rejects at the first wrong one. */
export async function sendMutations(
  port: number,
  { samples, seed, first, last, connections }: Fuzz,
  tally: Tally,
): Promise<void> {
  let next = first;
  const sending = Array.from({ length: connections }, async () => {
    const connection = openProbedConnection(port, tally);
    while (next < last) {
      const number = next;
      next += 1;
      const bytes = mutated(createRandom(Math.imul(seed, 1_000_003) + number), samples);
      try {
        await connection.exchange(bytes, `probe-${number}`);
      } catch (error) {
        const text = JSON.stringify(bytes.toString('latin1')).slice(0, 3_000);
        const reason = error instanceof Error ? error.message : String(error);
        // The reports show only the message.
        throw new Error(`seed ${seed}, request ${number}: ${reason}\n${text}`, { cause: error });
      }
    }
    await connection.close();
  });
  await Promise.all(sending);
}
