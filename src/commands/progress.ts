// Shows the progress of a command on a terminal: each percent, in one line.
import type { Source } from '../storage/database.ts';

/** Shows a text on the terminal, if there is one. */
export type ShowText = (text: string) => void;

export type OnProgress = (done: number, total: number) => void;

/** Returns a function that shows how far something is. */
export function createProgress(show: ShowText, label: string, unit = ''): OnProgress {
  let shown = -1;
  return (done, total) => {
    const percent = done < total ? Math.floor((done / total) * 100) : 100;
    if (percent <= shown) return;
    shown = percent;
    const end = done < total ? '' : '\n';
    // Moves to the first column and erases the line.
    show(`\r\u001b[K${label} ${percent} % of ${total.toLocaleString('en-US')}${unit}${end}`);
  };
}

/** Resolves with the size of a database, by which some progress is measured. */
export async function kibibytesOf({ read }: Source): Promise<number> {
  const [size] = await read({
    sql: 'SELECT page_count * page_size / 1024 AS kib FROM pragma_page_count, pragma_page_size',
  });
  return Number(size?.kib);
}
