// One run at a time in a folder. A lock whose process has ended is taken over.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { linkOrCopy } from './places.ts';

/** Locks the file at `path` until the result is disposed of. Throws if another process holds it. */
export function lock(path: string): Disposable {
  const own = `${path}.${process.pid}`;
  writeFileSync(own, [process.pid, startOf(process.pid), hostname()].join(' '));
  try {
    for (let tries = 0; !linkOrCopy(own, path); tries += 1) {
      const found = readFileSync(path, 'utf8');
      const [pid, start, host] = found.split(' ');
      if (tries === 3 || host !== hostname() || startOf(Number(pid)) === start)
        throw new Error(`process ${pid} on ${host} is at work here (if not, delete ${path})`);
      renameSync(path, `${own}.stale`);
      // Another process was faster.
      if (readFileSync(`${own}.stale`, 'utf8') !== found) linkOrCopy(`${own}.stale`, path);
      rmSync(`${own}.stale`);
    }
  } finally {
    rmSync(own);
  }
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
}

/** Returns when a process was started, so that another one with its number is not taken for it. */
function startOf(pid: number): string {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /s, '').split(' ');
    // A zombie holds nothing.
    return fields[0] === 'Z' ? 'ended' : `${fields[19]}`;
  } catch {
    return isRunning(pid) ? 'running' : 'ended';
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return Object(error).code === 'EPERM';
  }
}
