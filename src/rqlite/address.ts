// The addresses of clusters, such as rqlite://HOST:PORT,HOST:PORT?level=weak.

const LEVELS = ['linearizable', 'weak'] as const;

/** With `weak`, reads may miss the latest writes for a moment after a start or an election. */
export type ReadLevel = (typeof LEVELS)[number];

export interface ParsedCluster {
  readonly nodes: readonly string[];
  readonly level: ReadLevel;
  readonly user: string | undefined;
}

const ADDRESS = /^rqlite(s?):\/\/([^/?#@]+)\/?(?:\?([^#]*))?$/;

/** Parses an address, or returns undefined. The scheme `rqlites` selects TLS. */
export function parseCluster(text: string): ParsedCluster | undefined {
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
