// The header of SQLite's wal-index, which a commit updates before it returns.
// See https://www.sqlite.org/walformat.html#the_wal_index_file_format.
import { closeSync, openSync, readSync, statfsSync } from 'node:fs';
import { endianness } from 'node:os';
import type { Freshness } from '../storage/database.ts';
import { companionsOf } from '../storage/sqlite/paths.ts';

/** The first copy of the header: the one that a commit writes last. */
const HEADER_BYTES = 48;
/** The number of transactions, the size of a page, the frames of the log, the pages of the file. */
const CHANGES_AT = 8;
const PAGE_BYTES_AT = 14;
const FRAMES_AT = 16;
const PAGES_AT = 20;
const SALTS_AT = 32;
const SALTS_END = 40;

/** How far the log has been copied into the main file. */
const COPIED_AT = 96;
/** How far a checkpoint will copy: written before it begins. */
const ATTEMPTED_AT = 128;
const CHECKPOINT_END = 132;

/** Where reading a file and mapping it are known to agree. */
const PLATFORMS: readonly NodeJS.Platform[] = ['linux', 'darwin'];

/** The types of file systems whose files other machines can change: NFS, SMB, CIFS, 9P, FUSE. */
const REMOTE_TYPES = [0x6969, 0x517b, 0xfe534d42, 0xff534d42, 0x01021997, 0x65735546];

export interface WalIndex extends Freshness {
  /** Differs after every checkpoint that has written; undefined while one may be unfinished. */
  checkpoint(): string | undefined;
  /** How many bytes the main file must have, if `checkpoint` has found all of the log in it. */
  sizeOfMain(): number | undefined;
  close(): void;
}

/** Opens the wal-index of the open database at `path`; undefined where it proves nothing. */
export function openWalIndex(path: string): WalIndex | undefined {
  const [, index] = companionsOf(path);
  if (!PLATFORMS.includes(process.platform)) return undefined;
  if (REMOTE_TYPES.includes(statfsSync(index).type)) return undefined;
  const file = openSync(index, 'r');
  const header = Buffer.alloc(HEADER_BYTES);
  const start = Buffer.alloc(CHECKPOINT_END);
  return {
    checkpoint() {
      readSync(file, start, 0, CHECKPOINT_END, 0);
      if (start.compare(start, COPIED_AT, COPIED_AT + 4, ATTEMPTED_AT) !== 0) return undefined;
      const salts = start.toString('latin1', SALTS_AT, SALTS_END);
      return salts + start.toString('latin1', ATTEMPTED_AT, CHECKPOINT_END);
    },
    sizeOfMain() {
      const isWhole = numberAt(start, FRAMES_AT) === numberAt(start, COPIED_AT);
      const pageBytes = numberAt(start, PAGE_BYTES_AT, 2);
      // 1 stands for the greatest size, which does not fit.
      const size = numberAt(start, PAGES_AT) * (pageBytes === 1 ? 65_536 : pageBytes);
      // It has no length before the first write.
      return isWhole && size > 0 ? size : undefined;
    },
    revision() {
      try {
        const read = readSync(file, header, 0, HEADER_BYTES, 0);
        return read === HEADER_BYTES ? header.toString('latin1') : undefined;
      } catch {
        return undefined;
      }
    },
    // As `checkpoint` has read it: the guard calls it after each transaction.
    committed: () => start.toString('latin1', 0, HEADER_BYTES),
    isNext: (before, after) => changesIn(after) === (changesIn(before) + 1) % 2 ** 32,
    close: () => closeSync(file),
  };
}

function changesIn(revision: string): number {
  return numberAt(Buffer.from(revision, 'latin1'), CHANGES_AT);
}

function numberAt(bytes: Buffer, at: number, length = 4): number {
  return endianness() === 'LE' ? bytes.readUIntLE(at, length) : bytes.readUIntBE(at, length);
}
