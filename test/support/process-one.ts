// Runs commands as process 1 of a namespace of their own, as in a container without an init.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const NAMESPACE = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];

/** Returns what starts a program as process 1; undefined where that is not allowed. */
export function asProcessOne(): readonly string[] | undefined {
  const wrappers = [NAMESPACE, [...NAMESPACE, '--user', '--map-root-user']];
  return wrappers.find(([program = '', ...args]) => {
    return spawnSync(program, [...args, 'true']).status === 0;
  });
}

/** Returns the processes that `pid` has started, directly and through others. */
export function descendantsOf(pid: number): number[] {
  const own = readOrNothing(() => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'));
  const children = own.split(' ').filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

/** Whether a process has opened the file `path`. */
export function hasOpened(pid: number, path: string): boolean {
  const folder = `/proc/${pid}/fd`;
  const links = readOrNothing(() => readdirSync(folder).join('\n')).split('\n');
  return links.some((link) => readOrNothing(() => readlinkSync(`${folder}/${link}`)) === path);
}

/** Whether a process has loaded the library of SQLite. */
export function hasLoadedSqlite(pid: number): boolean {
  return readOrNothing(() => readFileSync(`/proc/${pid}/maps`, 'utf8')).includes('node_sqlite3');
}

/** The process may have ended meanwhile. */
function readOrNothing(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}
