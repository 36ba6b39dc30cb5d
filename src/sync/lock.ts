// One run at a time in a folder. A lock is taken over once its process has ended. If this cannot be
// seen, because it is one of another machine, of another container or of before a restart, the lock
// is taken over once nobody has refreshed it for some time.
import { lstatSync, readFileSync, readlinkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { SYNC_TIMES } from './effects.ts';
import { linkOrCopy } from './places.ts';

/** A lock, held until it is disposed of. */
export interface Lock extends Disposable {
  /** Locks again if somebody has removed the file. Throws if another process holds it by now. */
  hold(): void;
}

/** Locks the file at `path`. Throws if another process holds it. */
export function lock(path: string): Lock {
  const text = [process.pid, startOf(process.pid), readOrigin(), hostname()].join(' ');
  const isOwn = () => lookAt(path)?.text === text;
  const refresh = () => {
    try {
      if (isOwn()) writeFileSync(path, text, { flag: 'r+' });
    } catch {}
  };
  acquire(path, text);
  const timer = setInterval(refresh, SYNC_TIMES.lock / 4).unref();
  return {
    hold() {
      if (!isOwn()) acquire(path, text);
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      if (isOwn()) rmSync(path);
    },
  };
}

function acquire(path: string, text: string): void {
  const own = `${path}.${process.pid}`;
  writeFileSync(own, text);
  try {
    for (let tries = 0; !linkOrCopy(own, path); tries += 1) {
      const found = lookAt(path);
      if (!found) continue;
      // Both times are of the file system's clock.
      const why = whyHeld(found.text, lstatSync(own).mtimeMs - found.mtimeMs);
      if (tries === 3 || why)
        throw new Error(`${why ?? 'others are at work here'} (if not, delete ${path})`);
      renameSync(path, `${own}.stale`);
      // Another process was faster.
      if (lookAt(`${own}.stale`)?.text !== found.text) linkOrCopy(`${own}.stale`, path);
      rmSync(`${own}.stale`);
    }
  } finally {
    rmSync(own);
  }
}

function lookAt(path: string): { readonly text: string; readonly mtimeMs: number } | undefined {
  try {
    return { text: readFileSync(path, 'utf8'), mtimeMs: lstatSync(path).mtimeMs };
  } catch (error) {
    if (Object(error).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns who holds a lock with this text that was refreshed so long ago, if somebody does. */
function whyHeld(text: string, ageMs: number): string | undefined {
  const [pid, start = '', origin, host] = text.split(' ');
  const who = `${host ? `process ${pid} on ${host}` : 'another process'} is at work here`;
  const isSeen = origin === readOrigin();
  if (isSeen) return [start, 'running'].includes(startOf(Number(pid))) ? who : undefined;
  const minutes = SYNC_TIMES.lock / 60_000;
  return ageMs < SYNC_TIMES.lock ? `${who}, or was less than ${minutes} minutes ago` : undefined;
}

/** Returns where the number of a process means the same: since a start, and in a container. */
function readOrigin(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

/** Returns when a process was started, so that another one with its number is not taken for it. */
function startOf(pid: number): string {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /s, '').split(' ');
    // A zombie holds nothing.
    return fields[0] === 'Z' ? 'ended' : `${fields[19]}`;
  } catch {
    // The start may be hidden from other users.
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
