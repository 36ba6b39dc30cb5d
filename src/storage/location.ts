// Where data is kept: in a SQLite file, in memory, or on a cluster. The text that names it is
// parsed here and nowhere else.
import { type NamedCluster, parseCluster } from './rqlite/address.ts';

/** A place for data; `name` is the text that named it. */
export type Location =
  | { readonly kind: 'memory'; readonly name: string }
  /** The name is the path. */
  | { readonly kind: 'file'; readonly name: string }
  | ({ readonly kind: 'cluster'; readonly name: string } & NamedCluster);

/**
 * Parses `:memory:`, `rqlite://...` or the path of a file; undefined for a malformed cluster, other
 * URLs and an empty text.
 */
export function parseLocation(name: string): Location | undefined {
  if (name === ':memory:') return { kind: 'memory', name };
  const cluster = parseCluster(name);
  if (cluster) return { kind: 'cluster', name, ...cluster };
  const isFile = name !== '' && !/^(?:rqlites?:|[a-z]+:\/\/)/i.test(name);
  return isFile ? { kind: 'file', name } : undefined;
}
