// The threads, descriptors and memory of a process as the system reports them. Linux only.
import { readdirSync, readFileSync } from 'node:fs';
import type { POOL_LIMITS } from '../../src/concurrency/thread-pool.ts';
import { preload } from './command.ts';

/** Why a test that looks at a process cannot run here; undefined if it can. */
export const CANNOT_LOOK = process.platform === 'linux' ? undefined : 'only Linux has /proc';

/** Returns the number of threads of a process. */
export function threadsOf(pid: number | undefined): number {
  return readdirSync(`/proc/${pid}/task`).length;
}

/** Returns the nice value of each thread of a process: the larger, the lower is its priority. */
export function niceValuesOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    // The fields after the name, which may contain spaces, begin with the third.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19 - 3]);
  });
}

/** Returns the number of open descriptors of a process. */
export function descriptorsOf(pid: number | undefined): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Returns the resident memory of a process, in MB. */
export function residentMegabytesOf(pid: number | undefined): number {
  const [, kilobytes] =
    /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1_024;
}

const POOL = new URL('../../src/concurrency/thread-pool.js', import.meta.url).href;

/** Flags of Node that set another limit for the thread pool of a service. */
export function limited(name: keyof typeof POOL_LIMITS, value: number): readonly string[] {
  return preload(`
    import { isMainThread } from 'node:worker_threads';
    if (isMainThread) (await import('${POOL}')).POOL_LIMITS.${name} = ${value};`);
}

/** Flags of Node that let the idle threads of a service end soon. */
export const SHORT_IDLE: readonly string[] = limited('idleMs', 500);
