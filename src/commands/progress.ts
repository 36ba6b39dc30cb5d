// Shows the progress of a command: a bar on a terminal, otherwise a line for each tenth.

/** Where progress is shown. */
export interface Screen {
  readonly isTerminal: boolean;
  write(text: string): void;
}

/** Called with how much of the total is done. */
export type OnProgress = (done: number, total: number) => void;

/** With it, a line with the largest likely numbers fits 80 columns. */
const BAR_WIDTH = 12;

/** The shortest time between two updates of a bar. */
const UPDATE_MS = 100;

/** How many lines are written without a bar. */
const STEPS = 10;

/**
 * Returns a function to call with how much of the total is done, first with 0. It writes `label`,
 * the percentage, the rate and the time left to `screen`; `unit` follows the numbers.
 */
export function createProgress(
  screen: Screen,
  label: string,
  { unit = '', now = () => performance.now() } = {},
): OnProgress {
  let begun = Number.NaN;
  let updated = Number.NEGATIVE_INFINITY;
  let step = 0;
  let ended = false;

  function text(done: number, total: number): string {
    const part = total === 0 ? 1 : done / total;
    const seconds = (now() - begun) / 1_000;
    const filled = Math.round(part * BAR_WIDTH);
    const bar = screen.isTerminal ? ` [${'#'.repeat(filled).padEnd(BAR_WIDTH, '-')}]` : '';
    const rate = seconds > 0 ? `, ${formatNumber(done / seconds)}${unit}/s` : '';
    const left =
      done > 0 && done < total ? `, ${minutesOf((seconds * (total - done)) / done)} left` : '';
    const percent = Math.floor(part * 100);
    return `${label}${bar} ${percent} % of ${formatNumber(total)}${unit}${rate}${left}`;
  }

  return (done, total) => {
    if (ended) return;
    if (Number.isNaN(begun)) begun = now();
    ended = done >= total;
    if (screen.isTerminal) {
      if (!ended && now() - updated < UPDATE_MS) return;
      updated = now();
      // Move to the first column and erase the line.
      screen.write(`\r\u001b[K${text(done, total)}${ended ? '\n' : ''}`);
      return;
    }
    const reached = total === 0 ? STEPS : Math.floor((done / total) * STEPS);
    if (reached === step) return;
    step = reached;
    screen.write(`${text(done, total)}\n`);
  };
}

/** Rounds a number to an integer and formats it with commas between thousands. */
export function formatNumber(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function minutesOf(seconds: number): string {
  const whole = Math.ceil(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}
