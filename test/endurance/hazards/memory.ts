// The memory and the CPU time of a process, as Linux reports them.
import { readFileSync, writeFileSync } from 'node:fs';

/** Returns the resident memory of a process now and at its peak, in MB. */
export function residentOf(pid: number | undefined): { nowMb: number; peakMb: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytesOf = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1_024;
  return { nowMb: megabytesOf('VmRSS'), peakMb: megabytesOf('VmHWM') };
}

/** Makes the peak begin anew. */
export function resetPeak(pid: number | undefined): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** Returns the CPU time of the main thread of a process so far. */
export function mainThreadMsOf(pid: number | undefined): number {
  const [nanoseconds] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1e6;
}
