// Where data is kept: in a SQLite file, in memory, or on a cluster.
import { type ParsedCluster, parseCluster } from './rqlite/address.ts';

/** Where data is kept; `name` is the text that was parsed. */
export type Location =
  | { readonly kind: 'memory'; readonly name: string }
  | { readonly kind: 'file'; readonly name: string }
  | ({ readonly kind: 'cluster'; readonly name: string } & ParsedCluster);

/** Parses `:memory:`, `rqlite://...` or a file path; undefined for anything else. */
export function parseLocation(name: string): Location | undefined {
  if (name === ':memory:') return { kind: 'memory', name };
  const cluster = parseCluster(name);
  if (cluster) return { kind: 'cluster', name, ...cluster };
  const isFile = name !== '' && !/^(?:rqlites?:|[a-z]+:\/\/)/i.test(name);
  return isFile ? { kind: 'file', name } : undefined;
}
