// The memory and the CPU time of a process, as Linux reports them.
import { readFileSync, writeFileSync } from 'node:fs';

/** The unit of times in /proc, on every Linux. */
const TICK_MS = 10;

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

/** Returns the CPU time of a process so far. */
export function cpuMillisecondsOf(pid: number | undefined): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(11, 13);
  return TICK_MS * (Number(user) + Number(system));
}
