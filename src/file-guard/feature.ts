// Keeps a database from files that other programs put in the place of its own.
import type { FileGuard } from '../storage/sqlite/engine.ts';
import { clearForeignLog } from './foreign-log.ts';
import { WatchedFiles } from './open-files.ts';

/** The guard of the files that the service and its commands open. */
export const fileGuard: FileGuard = {
  clear: clearForeignLog,
  watch: (path, isShared) => new WatchedFiles(path, isShared),
};
