// Serves files from memory, so that no request reaches the file system.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { extname } from 'node:path';
import { matchesWeakly, parseEntityTags } from '../http/body/entity-tags.ts';
import { parseWeights } from '../http/body/media-type.ts';
import type { Reply } from '../http/reply.ts';

/** The bytes of a file by content coding; of compressed ones, clients prefer the first. */
export interface Asset {
  readonly identity: Buffer;
  readonly br?: Buffer | undefined;
  readonly gzip?: Buffer | undefined;
}

/** The servers of files by name. */
export type AssetServers = ReadonlyMap<string, ReturnType<typeof createAssetServer>>;

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Returns the server of `asset`, which adds `headers` (flat) to each reply, a 304 included. */
export function createAssetServer(asset: Asset, headers: readonly string[]) {
  const { identity, ...compressed } = asset;
  const hash = createHash('sha256').update(identity).digest('base64url').slice(0, 22);
  const shared = [...headers, 'vary', 'accept-encoding'];
  const plain = { tag: hash, body: identity, headers: [...shared, 'etag', `"${hash}"`] };
  // Each coding is a representation with its own entity tag (RFC 9110, section 8.8.3.3).
  const others = Object.entries(compressed).flatMap(([coding, body]) => {
    const tag = `${hash}-${coding}`;
    const own = [...shared, 'etag', `"${tag}"`, 'content-encoding', coding];
    return body ? [{ coding, tag, body, headers: own }] : [];
  });

  return (request: IncomingHttpHeaders): Reply => {
    const weights = parseWeights(request['accept-encoding']);
    const weightOf = ({ coding }: { coding: string }) => weights.get(coding) ?? 0;
    const [best] = others
      .filter((each) => weightOf(each) > 0)
      .sort((one, other) => weightOf(other) - weightOf(one));
    const { tag, body, headers } = best ?? plain;
    const known = parseEntityTags(request['if-none-match'] ?? '') ?? [];
    return matchesWeakly(known, tag) ? { status: 304, headers } : { status: 200, headers, body };
  };
}

/** Resolves with the servers of files, which add `headers`. Rejects if a file is missing. */
export async function readAssets(
  folder: URL,
  names: readonly string[],
  headers: readonly string[],
): Promise<AssetServers> {
  const read = (name: string) => readFile(new URL(name, folder));
  const servers = names.map(async (name) => {
    const compressed = ['br', 'gz'].map((ending) =>
      read(`${name}.${ending}`).catch(() => undefined),
    );
    const [identity, br, gzip] = await Promise.all([read(name), ...compressed]);
    const all = ['content-type', TYPES[extname(name)] ?? '', ...headers];
    return [name, createAssetServer({ identity, br, gzip }, all)] as const;
  });
  return new Map(await Promise.all(servers));
}
