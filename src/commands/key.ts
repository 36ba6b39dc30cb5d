// Makes a new key, as a line for the file of keys.
import { randomBytes } from 'node:crypto';
import { parseAttributes } from '../guards/key-file.ts';

const KEY_BYTES = 32;

/** Returns a line with a random key and `attributes`. Throws an Error if one of them is wrong. */
export function newKeyLine(attributes: Readonly<Record<string, string>>): string {
  const texts = Object.entries(attributes).map(([name, value]) => `${name}=${value}`);
  parseAttributes(texts);
  return [randomBytes(KEY_BYTES).toString('hex'), ...texts].join(' ');
}
