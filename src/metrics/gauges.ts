// Values that are read when the metrics are.
import { Gauge, type Registry } from 'prom-client';

/** Where the values come from. */
export interface GaugeSources {
  /**
   * Threads that are alive, those of them that are idle, and demonstrations that wait for threads.
   */
  readonly threads: () => Promise<Readonly<Record<'alive' | 'idle' | 'waiting', number>>>;
  /** The sizes of the database's files in bytes, by name; empty if it has no files. */
  readonly fileSizes: () => Promise<Readonly<Record<string, number>>>;
}

const THREAD_GAUGES = [
  ['notes_threads_live', 'alive', 'Threads of demonstrations.'],
  ['notes_threads_standby', 'idle', 'Threads of demonstrations that are idle.'],
  ['notes_demonstrations_waiting', 'waiting', 'Demonstrations that wait for threads.'],
] as const;

/** Adds the gauges of threads and files to `registry`. */
export function addGauges(registry: Registry, { threads, fileSizes }: GaugeSources): void {
  const registers = [registry];
  for (const [name, count, help] of THREAD_GAUGES) {
    new Gauge({
      ...{ name, help, registers },
      async collect() {
        this.set((await threads())[count]);
      },
    });
  }
  new Gauge({
    name: 'notes_database_file_bytes',
    help: 'Size of the files of the database: the main one and its write-ahead log.',
    labelNames: ['file'],
    // All processes have the same files.
    aggregator: 'first',
    registers,
    async collect() {
      for (const [file, bytes] of Object.entries(await fileSizes())) this.set({ file }, bytes);
    },
  });
}
