// How far a long piece of work is, for the person who waits for it: a bar that moves on a terminal, else a line now and then.

/** Where progress is told. */
export interface Screen {
  readonly isTerminal: boolean;
  write(text: string): void;
}

/** So that all fits the 80 columns of a terminal, of the largest numbers that are likely. */
const BAR_WIDTH = 12;

/** A bar moves so often at most; and elsewhere a line is written for each step. In milliseconds and in parts of the whole. */
const MOVE_MS = 100;
const STEPS = 10;

/**
 * Returns what is told how much of `total` is done, first that nothing is, and writes it to `screen` as that of `label`, with
 * the rate since then and the time that is left if it stays so. Told of the whole, it ends the line. `unit` follows the numbers.
 */
export function createProgress(screen: Screen, label: string, { unit = '', now = () => performance.now() } = {}) {
  let begun = Number.NaN;
  let moved = Number.NEGATIVE_INFINITY;
  let step = 0;
  let ended = false;

  function text(done: number, total: number): string {
    const part = total === 0 ? 1 : done / total;
    const seconds = (now() - begun) / 1_000;
    const filled = Math.round(part * BAR_WIDTH);
    const bar = screen.isTerminal ? ` [${'#'.repeat(filled).padEnd(BAR_WIDTH, '-')}]` : '';
    const rate = seconds > 0 ? `, ${inDigits(done / seconds)}${unit}/s` : '';
    const left = done > 0 && done < total ? `, ${inMinutes((seconds * (total - done)) / done)} left` : '';
    return `${label}${bar} ${Math.floor(part * 100)} % of ${inDigits(total)}${unit}${rate}${left}`;
  }

  return (done: number, total: number): void => {
    if (ended) return;
    if (Number.isNaN(begun)) begun = now();
    ended = done >= total;
    if (screen.isTerminal) {
      if (!ended && now() - moved < MOVE_MS) return;
      moved = now();
      // To the first column, and away with what stood there.
      screen.write(`\r\u001b[K${text(done, total)}${ended ? '\n' : ''}`);
      return;
    }
    const reached = total === 0 ? STEPS : Math.floor((done / total) * STEPS);
    if (reached === step) return;
    step = reached;
    screen.write(`${text(done, total)}\n`);
  };
}

/** A whole number with commas. */
export function inDigits(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function inMinutes(seconds: number): string {
  const whole = Math.ceil(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}
