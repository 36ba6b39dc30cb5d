// The threads, descriptors and memory of a process as the system reports them. Linux only.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import type { POOL_LIMITS } from '../../src/concurrency/thread-pool.ts';
import { send } from './http.ts';
import type { Service } from './service.ts';

/** Why a test that looks at a process cannot run here; undefined if it can. */
export const CANNOT_LOOK = process.platform === 'linux' ? undefined : 'only Linux has /proc';

/** Returns the number of threads of a process. */
export function threadsOf(pid: number | undefined): number {
  return readdirSync(`/proc/${pid}/task`).length;
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
  const script = `
    import { isMainThread } from 'node:worker_threads';
    if (isMainThread) (await import('${POOL}')).POOL_LIMITS.${name} = ${value};`;
  return ['--import', `data:text/javascript,${encodeURIComponent(script)}`];
}

/** Flags of Node that let the idle threads of a service end soon. */
export const SHORT_IDLE: readonly string[] = limited('idleMs', 500);

/** Requests /health repeatedly; resolves with the durations in ms. */
export async function watchHealth(
  { port }: Pick<Service, 'port'>,
  whileTrue: () => boolean,
): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  while (whileTrue()) {
    const started = performance.now();
    const { status } = await send(`http://127.0.0.1:${port}`, 'GET', '/health', { agent });
    assert.equal(status, 200);
    times.push(performance.now() - started);
  }
  agent.destroy();
  return times;
}
