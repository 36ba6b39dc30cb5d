// Where data is kept: in a SQLite file, in memory, or on a cluster.

const LEVELS = ['linearizable', 'weak'] as const;

/** With `weak`, reads may miss the latest writes for a moment after a start or an election. */
export type ReadLevel = (typeof LEVELS)[number];

/** A parsed address. */
export interface ParsedCluster {
  readonly nodes: readonly string[];
  readonly level: ReadLevel;
  readonly user: string | undefined;
}

/** Where data is kept; `name` is the text that was parsed. */
export type Location =
  | { readonly kind: 'memory' | 'file'; readonly name: string }
  | ({ readonly kind: 'cluster'; readonly name: string } & ParsedCluster);

/** Parses `:memory:`, `rqlite://...` or a file path; undefined for anything else. */
export function parseLocation(name: string): Location | undefined {
  if (name === ':memory:') return { kind: 'memory', name };
  const cluster = parseCluster(name);
  if (cluster) return { kind: 'cluster', name, ...cluster };
  const isFile = name !== '' && !/^(?:rqlites?:|[a-z]+:\/\/)/i.test(name);
  return isFile ? { kind: 'file', name } : undefined;
}

const ADDRESS = /^rqlite(s?):\/\/([^/?#@]+)\/?(?:\?([^#]*))?$/;

/** The scheme `rqlites` selects TLS. */
function parseCluster(text: string): ParsedCluster | undefined {
  const [, secure = '', hosts = '', query] = ADDRESS.exec(text) ?? [];
  const parameters = new URLSearchParams(query);
  const level = LEVELS.find((each) => each === (parameters.get('level') ?? 'linearizable'));
  const given = [...parameters.keys()];
  const areKnown = given.every((name) => name === 'level' || name === 'user');
  if (!level || !areKnown || new Set(given).size < given.length) return undefined;
  const names = hosts.split(',');
  const nodes = names.flatMap((host) => {
    const url = `http${secure}://${host}`;
    // The port is required: URL would assume that of HTTP.
    return URL.canParse(url) && /:\d+$/.test(host) ? [new URL(url).origin] : [];
  });
  const user = parameters.get('user') || undefined;
  return nodes.length === names.length ? { nodes, level, user } : undefined;
}
