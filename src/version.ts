// The version of this program.
import { readFileSync } from 'node:fs';

/** Returns the version that package.json states. */
export function readVersion(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}
