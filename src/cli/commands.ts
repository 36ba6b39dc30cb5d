// The table of the sub-commands. Each loads the file that carries it out only when it is used.
import { fstatSync } from 'node:fs';
import type { ShowText } from '../commands/progress.ts';
import type { StorageOptions } from '../open.ts';
import { sync } from '../sync/feature.ts';
import { type Flag, type FlagValues, UsageError } from './arguments.ts';
import { OPTIONS } from './option-table.ts';

/** What the command line gives to a command. */
export interface Input {
  /** The only operand, or the first one. */
  readonly operand: string;
  readonly operands: readonly string[];
  readonly flags: FlagValues;
  /** The database of --db, the environment or the default. */
  readonly storage: StorageOptions;
  /** The key of a client, from NOTES_KEY. */
  readonly key: string | undefined;
}

interface Streams {
  readonly input: AsyncIterable<Buffer>;
  /** Writes data to standard output; resolves when it can take more. */
  readonly write: (text: string) => Promise<void>;
  readonly show: ShowText;
  /** Writes a line at once, to standard output or to standard error. */
  readonly say: (line: string) => void;
  readonly warn: (line: string) => void;
  /** From the call on, a signal aborts the result instead of ending the process. */
  readonly stopOnSignal: () => AbortSignal;
}

/** The lines are printed at the end of a command. */
interface Report {
  readonly lines: readonly (string | undefined)[];
  /** The exit status, 0 by default. */
  readonly status?: number;
}

export interface SubCommand {
  readonly name: string;
  /** Its arguments other than flags, in brackets if optional; empty if it takes none. */
  readonly operand: string;
  readonly flags: readonly Flag[];
  readonly isForFiles?: boolean;
  /** Whether the operand is the database, in place of --db. */
  readonly takesDatabase?: boolean;
  readonly help: string;
  readonly example: string;
  /** Carries it out. Without this, it prints the help of its operand. */
  readonly run?: (input: Input, streams: Streams) => Promise<Report>;
}

const DB: Flag = {
  ...OPTIONS.db,
  default: 'NOTES_DB, else notes.db',
  help: 'the database, a SQLite file',
};
const ANY_DB: Flag = { ...DB, value: 'DB', help: 'a SQLite file or a cluster' };
const REPAIR: Flag = {
  flag: 'repair',
  help: 'first rebuild counts and search index, while no service runs',
};

/** The sub-commands, in the order of --help. */
export const SUB_COMMANDS: readonly SubCommand[] = [
  {
    name: 'check',
    operand: '[DB]',
    takesDatabase: true,
    flags: [ANY_DB, OPTIONS.dbPasswordFile, REPAIR],
    help: 'check a database for damage, or the nodes of a cluster; a service may be using it',
    example: 'check notes.db',
    async run({ flags, storage }, { show }) {
      const { db } = storage;
      const { name } = db;
      if (db.kind === 'cluster' && flags.repair === true)
        throw new UsageError('check --repair works with files only');
      const { checkFile } = await import('../commands/check.ts');
      const { checkCluster } = await import('../open.ts');
      const { repairFile } = await import('../commands/repair.ts');
      const { createProgress } = await import('../commands/progress.ts');
      if (flags.repair === true) await repairFile(name);
      const onProgress = createProgress(show, 'checked', ' KiB');
      const lines: string[] = [];
      const onHarmless = (line: string) => lines.push(`${line}, and has no effect`);
      const faults = await (db.kind === 'cluster'
        ? checkCluster(db, storage)
        : checkFile(name, { onProgress, onHarmless }));
      lines.push(...(faults.length === 0 ? ['ok'] : faults));
      return { lines: lines.map((line) => `${name}: ${line}`), status: faults.length > 0 ? 1 : 0 };
    },
  },
  {
    name: 'backup',
    operand: 'TARGET',
    flags: [DB],
    isForFiles: true,
    help: 'copy a database to another file; a service may be using it',
    example: 'backup notes-backup.db --db notes.db',
    async run({ operand, storage }, { show }) {
      const { backup } = await import('../commands/backup.ts');
      return { lines: [await backup(storage.db.name, operand, show)] };
    },
  },
  {
    name: 'restore',
    operand: 'BACKUP',
    flags: [DB, { flag: 'force', help: 'replace an existing database, which is kept' }],
    isForFiles: true,
    help: 'restore a backup while no service is running; with --force, set the old database aside',
    example: 'restore notes-backup.db --db notes.db',
    async run({ operand, flags, storage }, { show }) {
      const { restore } = await import('../commands/restore.ts');
      const isForced = flags.force === true;
      return { lines: [await restore(operand, storage.db.name, isForced, show)] };
    },
  },
  {
    name: 'export',
    operand: '[FILE]',
    flags: [ANY_DB, OPTIONS.dbPasswordFile],
    help: 'write all data as JSON lines to FILE or standard output; a service may be using it',
    example: 'export notes.jsonl --db notes.db',
    async run({ operand, storage }, { write, show }) {
      const { exportLines } = await import('../commands/export.ts');
      return { lines: [await exportLines(storage, fileIn(operand), write, show)] };
    },
  },
  {
    name: 'import',
    operand: '[FILE]',
    flags: [ANY_DB, OPTIONS.dbPasswordFile],
    help: 'fill a new database with exported data from FILE or standard input',
    example: 'import notes.jsonl --db notes.db',
    async run({ operand, storage }, { input, show }) {
      const { importLines } = await import('../commands/import.ts');
      return { lines: [await importLines(fileIn(operand), input, storage, show)] };
    },
  },
  sync,
  {
    name: 'key',
    operand: '',
    flags: [
      { flag: 'name', value: 'NAME', help: 'what the log and the metrics call the key' },
      {
        flag: 'access',
        value: 'ACCESS',
        help: 'read or write, which allows everything',
        default: 'write',
      },
      {
        flag: 'expires',
        value: 'DATE',
        help: 'last day, such as 2027-03-01, or a time (RFC 3339)',
      },
    ],
    help: 'print a new key, as a line to append to the file of --api-keys-file',
    example: 'key --name dashboard --access read',
    async run({ flags }) {
      const { newKeyLine } = await import('../guards/key-file.ts');
      const output = fstatSync(1);
      // The last line of a file to which the shell appends may lack its end.
      const blank = output.isFile() && output.size > 0 ? '' : undefined;
      try {
        return { lines: [blank, newKeyLine(flags as Readonly<Record<string, string>>)] };
      } catch (error) {
        throw new UsageError(`--${(error as Error).message}`);
      }
    },
  },
  {
    name: 'help',
    operand: '[COMMAND]',
    flags: [],
    help: 'describe a command',
    example: 'help backup',
  },
];

function fileIn(operand: string): string | undefined {
  return operand === '' || operand === '-' ? undefined : operand;
}
