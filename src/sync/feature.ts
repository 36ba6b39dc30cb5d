// The command `sync`: the files of a folder and the named notes of a service are the same notes.
// It is a client of the service, and needs nothing of it.
import type { Input, Streams } from './start.ts';

/** The status if nothing was done. */
const FAILURE = 2;

/** The command, for the list of commands. */
export const sync = {
  name: 'sync',
  operand: 'DIR URL',
  flags: [
    { flag: 'folder', value: 'P', help: 'only the notes whose names begin with P/' },
    { flag: 'push', help: 'change nothing in DIR' },
    { flag: 'pull', help: 'change nothing in the service' },
    { flag: 'dry-run', help: 'say what would be done' },
    { flag: 'follow', help: 'stay, and keep both in step' },
    {
      flag: 'ext',
      value: 'LIST',
      default: 'md,markdown,txt',
      help: 'extensions of the files, separated by commas',
    },
    {
      flag: 'max-delete',
      value: 'N',
      default: 'half of the files, at least 9',
      help: 'do nothing if more would be deleted',
    },
    { flag: 'key-file', value: 'FILE', help: 'holds the key, else NOTES_KEY does' },
  ],
  help: 'keep the files below DIR and the named notes of the service at URL the same',
  example: 'sync ~/notes http://127.0.0.1:3000 --follow',
  async run(input: Input, streams: Streams) {
    const { startSync } = await import('./start.ts');
    try {
      return { lines: [], status: await startSync(input, streams) };
    } catch (error) {
      streams.warn(`notes-server: ${(error as Error).message}`);
      return { lines: [], status: FAILURE };
    }
  },
};
