// Readers, clients and another program at work on one file, all with the same ledger.
import { Agent } from 'node:http';
import { newFile, openOther } from './databases.ts';
import type { Ends } from './engine.ts';
import { between } from './ledger.ts';
import { LedgerClient } from './ledger-client.ts';
import { fixedPaths, LedgerProgram } from './ledger-program.ts';
import { LedgerReader } from './ledger-reader.ts';
import { type Processes, startProcesses } from './processes.ts';
import { StateLedger } from './state-ledger.ts';
import { until } from './until.ts';

/** A service and all who use its file. */
export interface LedgerGame {
  readonly path: string;
  readonly service: Processes;
  readonly ledger: StateLedger;
  readonly readers: readonly LedgerReader[];
  readonly clients: readonly LedgerClient[];
  readonly program: LedgerProgram;
  readonly endProgram: () => Promise<void>;
}

/** How many commits there must be. */
export interface Quotas {
  readonly clients: number;
  readonly program: number;
}

/** The longest run of commits without a pause, and the most reads in a pause. */
interface Pace {
  readonly commits: number;
  readonly reads: number;
}
const CLIENT_PACE: Pace = { commits: 20, reads: 10 };
const PROGRAM_PACE: Pace = { commits: 80, reads: 10 };

/** Starts a service of two processes; `readers` and `clients` say how many there are. */
export async function startGame(
  test: Ends,
  { readers, clients }: Record<'readers' | 'clients', number>,
): Promise<LedgerGame> {
  const path = newFile(test);
  const service = await startProcesses(test, 2, ['--db', path, '--log-level', 'silent']);
  const { url } = service;
  const agent = new Agent({ keepAlive: true });
  test.after(() => agent.destroy());
  const ledger = new StateLedger();
  const connection = await openOther(test, path);
  const program = new LedgerProgram(connection, ledger);
  await program.start();
  const times = <Player>(count: number, create: () => Player) =>
    Array.from({ length: count }, create);
  return {
    path,
    service,
    ledger,
    readers: times(readers, () => new LedgerReader(url, ledger, agent, fixedPaths())),
    clients: times(clients, () => new LedgerClient(url, ledger, agent)),
    program,
    endProgram: () => connection.close(),
  };
}

/** Returns how many reads there were, or how many of them were answered 304. */
export function countReads({ readers }: LedgerGame, name: keyof LedgerReader['counts']): number {
  return readers.reduce((sum, { counts }) => sum + counts[name], 0);
}

/** Returns how many writes over HTTP were acknowledged or refused. */
export function countWrites({ clients }: LedgerGame, name: keyof LedgerClient['counts']): number {
  return clients.reduce((sum, { counts }) => sum + counts[name], 0);
}

/** Resolves after `count` further reads. */
export function readsOf(game: LedgerGame, count: number): Promise<void> {
  const enough = countReads(game, 'reads') + count;
  return until(() => countReads(game, 'reads') >= enough);
}

/**
 * Has everybody work until the quotas are reached and the events, spread over the commits of the
 * program, have happened. Rejects with the first error.
 */
export async function play(
  game: LedgerGame,
  quotas: Quotas,
  events: readonly (() => Promise<unknown>)[],
): Promise<void> {
  const { readers, clients, program } = game;
  let over = false;
  let happened = 0;
  // Nobody ends before all have done their part, so that everything happens together.
  const isDone = () =>
    over ||
    (happened === events.length &&
      program.commits >= quotas.program &&
      countWrites(game, 'commits') >= quotas.clients);

  async function happen(): Promise<void> {
    for (const event of events) {
      const enough = ((happened + 1) / (events.length + 1)) * quotas.program;
      await until(() => over || program.commits >= enough);
      if (over) return;
      await event();
      happened += 1;
    }
  }
  async function keepWriting(pace: Pace, write: (commits: number) => Promise<void>): Promise<void> {
    while (!isDone()) {
      // Most runs are short.
      await write(between(1, between(1, pace.commits)));
      await readsOf(game, between(0, pace.reads));
    }
  }
  async function keepReading(reader: LedgerReader): Promise<void> {
    while (!over) await reader.read();
  }

  const reading = Promise.all(readers.map(keepReading));
  const writing = Promise.all([
    happen(),
    keepWriting(PROGRAM_PACE, (commits) => program.write(commits)),
    ...clients.map((client) => keepWriting(CLIENT_PACE, (commits) => client.write(commits))),
  ]);
  try {
    await Promise.race([writing, reading]);
  } finally {
    over = true;
    await Promise.allSettled([writing, reading]);
  }
  await reading;
}
