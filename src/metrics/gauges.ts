// Gauges whose values are read from their sources whenever the metrics are read.
import { Gauge, type Registry } from 'prom-client';
import { readVersion } from '../version.ts';

/** The sources of the values. */
export interface GaugeSources {
  /** The threads that are alive, those of them that are idle, and demonstrations that wait. */
  readonly threads: () => Promise<Readonly<Record<'alive' | 'idle' | 'waiting', number>>>;
  /** The sizes of the database files in bytes, by name; empty if there are none. */
  readonly fileSizes: () => Promise<Readonly<Record<string, number>>>;
}

const THREAD_GAUGES = [
  ['notes_threads_live', 'alive', 'Threads of demonstrations, idle ones included.'],
  ['notes_threads_standby', 'idle', 'Idle threads of demonstrations.'],
  ['notes_demonstrations_waiting', 'waiting', 'Demonstrations that wait for threads.'],
] as const;

/** Adds the gauges of the version, the threads and the files to `registry`. */
export function addGauges(registry: Registry, { threads, fileSizes }: GaugeSources): void {
  const registers = [registry];
  new Gauge({
    name: 'notes_build_info',
    help: 'The version of the service, as a label; the value is always 1.',
    labelNames: ['version'],
    aggregator: 'first',
    registers,
  }).set({ version: readVersion() }, 1);
  for (const [name, count, help] of THREAD_GAUGES) {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set((await threads())[count]);
      },
    });
  }
  new Gauge({
    name: 'notes_database_file_bytes',
    help: 'Size of the database file (main) and of its write-ahead log (wal).',
    labelNames: ['file'],
    // All processes share the files.
    aggregator: 'first',
    registers,
    async collect() {
      for (const [file, bytes] of Object.entries(await fileSizes())) this.set({ file }, bytes);
    },
  });
}
