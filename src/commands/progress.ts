// Shows the progress of a command: each percent on a terminal, otherwise a line per tenth.

/** Where progress is shown. */
export interface Screen {
  readonly isTerminal: boolean;
  write(text: string): void;
}

/** Called with how much of the total is done. */
export type OnProgress = (done: number, total: number) => void;

/** Returns a function that shows how far something is. Its creation starts the clock. */
export function createProgress(screen: Screen, label: string, unit = ''): OnProgress {
  const startedMs = performance.now();
  const stepPercent = screen.isTerminal ? 1 : 10;
  // Except on a terminal, the first line says that a tenth is done.
  let shown = screen.isTerminal ? -1 : 0;
  return (done, total) => {
    const percent = total === 0 ? 100 : Math.floor((done / total) * 100);
    const step = Math.floor(percent / stepPercent);
    if (step <= shown || shown * stepPercent >= 100) return;
    shown = step;
    const seconds = (performance.now() - startedMs) / 1_000;
    const rate = done > 0 ? `, ${formatNumber(done / seconds)}${unit}/s` : '';
    const left =
      done > 0 && done < total ? `, ${formatMinutes((seconds * (total - done)) / done)} left` : '';
    const text = `${label} ${percent} % of ${formatNumber(total)}${unit}${rate}${left}`;
    // On a terminal, move to the first column and erase the line.
    screen.write(screen.isTerminal ? `\r\u001b[K${text}${done < total ? '' : '\n'}` : `${text}\n`);
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
