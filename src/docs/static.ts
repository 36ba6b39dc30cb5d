// Serves files from memory, so that no request reaches the file system.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { extname } from 'node:path';
import { parseWeights } from '../accept.ts';
import { matchesWeakly, parseEntityTags } from '../http/body/entity-tags.ts';
import type { Reply } from '../http/reply.ts';

/** The bytes of a file, and the same compressed. */
type Asset = Readonly<Record<'identity' | 'gzip', Buffer>>;

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Returns the server of `asset`, which adds `headers` (flat) to each reply, a 304 included. */
export function createAssetServer({ identity, gzip }: Asset, headers: readonly string[]) {
  const hash = createHash('sha256').update(identity).digest('base64url').slice(0, 22);
  // A coding is a representation with its own entity tag (RFC 9110, section 8.8.3.3).
  const formOf = (body: Buffer, tag: string, ...coding: string[]) => {
    const all = [...headers, 'vary', 'accept-encoding', 'etag', `"${tag}"`, ...coding];
    return { tag, body, headers: all };
  };
  const plain = formOf(identity, hash);
  const compressed = formOf(gzip, `${hash}-gzip`, 'content-encoding', 'gzip');

  return (request: IncomingHttpHeaders): Reply => {
    const weight = parseWeights(request['accept-encoding']).get('gzip') ?? 0;
    const { tag, body, headers } = weight > 0 ? compressed : plain;
    const known = parseEntityTags(request['if-none-match'] ?? '') ?? [];
    return matchesWeakly(known, tag) ? { status: 304, headers } : { status: 200, headers, body };
  };
}

/** Resolves with the servers of the files in a folder, by name, which add `headers`. */
export async function readAssets(folder: URL, headers: readonly string[]) {
  const read = (name: string) => readFile(new URL(name, folder));
  const compressed = (await readdir(folder)).filter((name) => name.endsWith('.gz'));
  const servers = compressed.map(async (packed) => {
    const name = packed.slice(0, -'.gz'.length);
    const [identity, gzip] = await Promise.all([read(name), read(packed)]);
    const type = TYPES[extname(name)];
    if (!type) throw new Error(`the file ${name} has no media type`);
    const all = ['content-type', type, ...headers];
    return [name, createAssetServer({ identity, gzip }, all)] as const;
  });
  return new Map(await Promise.all(servers));
}
