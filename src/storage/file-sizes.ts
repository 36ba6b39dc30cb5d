// How large the files of a database are.
import { stat } from 'node:fs/promises';
import { companionsOf } from './sqlite-place.ts';

/** Returns the sizes, in bytes, of the SQLite file at `path` and of its write-ahead log; 0 for one that is not there. */
export async function fileSizes(path: string): Promise<{ main: number; wal: number }> {
  const sizeOf = (file: string) =>
    stat(file).then(
      ({ size }) => size,
      () => 0,
    );
  const [main, wal] = await Promise.all([path, companionsOf(path)[0]].map(sizeOf));
  return { main: main ?? 0, wal: wal ?? 0 };
}
