// Keeps a database from files that other programs put in the place of its own.
import type { FileGuard } from '../storage/sqlite/engine.ts';
import { clearForeignLog } from './foreign-log.ts';
import { WatchedFiles } from './open-files.ts';

export const fileGuard: FileGuard = {
  clear: clearForeignLog,
  watch(path, isShared, database) {
    const files = new WatchedFiles(path, isShared);
    return {
      ...database,
      freshness: files.freshness,
      async transact(statements) {
        files.check();
        try {
          return await database.transact(statements);
        } finally {
          // It may have ended with a checkpoint.
          files.compareContent();
        }
      },
      async ping() {
        files.check();
        await database.ping();
      },
      async close() {
        // Closing the last connection would write the log into a file that it does not belong to.
        await database.close(files.isOverwritten);
        files.release();
      },
    };
  },
};
