// The version of this program.
import { readFileSync } from 'node:fs';

/** Returns the version that package.json states. */
export function readVersion(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}

/** Returns the version, with the commit of the build if it was made in a git checkout. */
export function describeVersion(): string {
  const commit = readFileSync(new URL('commit.txt', import.meta.url), 'utf8');
  return commit === '' ? readVersion() : `${readVersion()} (${commit})`;
}
