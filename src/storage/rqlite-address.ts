// The address of a cluster as the command line takes it: rqlite://HOST:PORT,HOST:PORT?level=LEVEL&user=NAME.
import type { ReadLevel } from './rqlite.ts';

/** A cluster that was named. */
export interface NamedCluster {
  readonly nodes: readonly string[];
  readonly level: ReadLevel;
  readonly user: string | undefined;
}

const ADDRESS = /^rqlite(s?):\/\/([^/?#@]+)\/?(?:\?([^#]*))?$/;
const LEVELS: readonly ReadLevel[] = ['linearizable', 'weak'];

/** Takes an address apart, undefined where it is none; with `rqlites` the nodes are spoken to over TLS. */
export function parseCluster(text: string): NamedCluster | undefined {
  const [, secure = '', hosts = '', query] = ADDRESS.exec(text) ?? [];
  const parameters = new URLSearchParams(query);
  const level = LEVELS.find((each) => each === (parameters.get('level') ?? 'linearizable'));
  const nodes = hosts.split(',').map((host) => originOf(`http${secure}://${host}`, host));
  const isKnown = [...parameters.keys()].every((name) => name === 'level' || name === 'user');
  if (!level || !isKnown) return undefined;
  const origins = nodes.filter((node) => node !== undefined);
  return origins.length === nodes.length
    ? { nodes: origins, level, user: parameters.get('user') || undefined }
    : undefined;
}

/** The origin of a node; the port must be said, for URL would add its own. */
function originOf(url: string, host: string): string | undefined {
  return URL.canParse(url) && /:\d+$/.test(host) ? new URL(url).origin : undefined;
}
