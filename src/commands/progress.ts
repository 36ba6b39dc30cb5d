// Shows the progress of a command: a bar on a terminal, otherwise a line per tenth of the work.

/** Where progress is shown. */
export interface Screen {
  readonly isTerminal: boolean;
  write(text: string): void;
}

/** Called with how much of the total is done. */
export type OnProgress = (done: number, total: number) => void;

/** Keeps a line with the largest likely numbers within 80 columns. */
const BAR_WIDTH = 12;
/** At most this many lines are written if the screen is not a terminal. */
const STEPS = 10;

/** Returns a function that shows how far something is. Its first call starts the clock. */
export function createProgress(screen: Screen, label: string, unit = ''): OnProgress {
  let startedMs = Number.NaN;
  let updatedMs = Number.NEGATIVE_INFINITY;
  let step = 0;
  let ended = false;

  function format(done: number, total: number, seconds: number): string {
    const fraction = total === 0 ? 1 : done / total;
    const filled = Math.round(fraction * BAR_WIDTH);
    const bar = screen.isTerminal ? ` [${'#'.repeat(filled).padEnd(BAR_WIDTH, '-')}]` : '';
    const rate = seconds > 0 ? `, ${formatNumber(done / seconds)}${unit}/s` : '';
    const left =
      done > 0 && done < total ? `, ${formatMinutes((seconds * (total - done)) / done)} left` : '';
    const percent = Math.floor(fraction * 100);
    return `${label}${bar} ${percent} % of ${formatNumber(total)}${unit}${rate}${left}`;
  }

  return (done, total) => {
    if (ended) return;
    const now = performance.now();
    if (Number.isNaN(startedMs)) startedMs = now;
    ended = done >= total;
    const reached = total === 0 ? STEPS : Math.floor((done / total) * STEPS);
    const isDue = screen.isTerminal ? ended || now - updatedMs >= 100 : reached !== step;
    if (!isDue) return;
    updatedMs = now;
    step = reached;
    const text = format(done, total, (now - startedMs) / 1_000);
    // On a terminal, move to the first column and erase the line.
    screen.write(screen.isTerminal ? `\r\u001b[K${text}${ended ? '\n' : ''}` : `${text}\n`);
  };
}

/** Rounds a number to an integer and formats it with commas between thousands. */
export function formatNumber(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function formatMinutes(seconds: number): string {
  const whole = Math.ceil(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}
