// Serves files from memory, so that no request reaches the file system.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { parseWeights } from '../http/accept.ts';
import { matchesWeakly, parseEntityTags } from '../http/body/entity-tags.ts';
import type { Reply } from '../http/reply.ts';

const compress = promisify(gzip);

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Returns the server of a file, which adds `headers` (flat) to each reply, a 304 included. */
export function createAssetServer(bytes: Buffer, headers: readonly string[]) {
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  // A coding is a representation with its own entity tag (RFC 9110, section 8.8.3.3).
  const formOf = (body: Buffer, tag: string, ...coding: string[]) => {
    const all = [...headers, 'vary', 'accept-encoding', 'etag', `"${tag}"`, ...coding];
    return { tag, body, headers: all };
  };
  const plain = formOf(bytes, hash);
  let compressed: Promise<typeof plain> | undefined;
  const compressOnce = () => {
    const encode = (body: Buffer) => formOf(body, `${hash}-gzip`, 'content-encoding', 'gzip');
    compressed ??= compress(bytes).then(encode);
    return compressed;
  };

  return async (request: IncomingHttpHeaders): Promise<Reply> => {
    const weight = parseWeights(request['accept-encoding']).get('gzip') ?? 0;
    const { tag, body, headers } = weight > 0 ? await compressOnce() : plain;
    const known = parseEntityTags(request['if-none-match'] ?? '') ?? [];
    return matchesWeakly(known, tag) ? { status: 304, headers } : { status: 200, headers, body };
  };
}

/** Resolves with the servers of the files with a type in a folder, by name; adds `headers`. */
export async function readAssets(folder: URL, headers: readonly string[]) {
  const servers = new Map<string, ReturnType<typeof createAssetServer>>();
  for (const name of await readdir(folder)) {
    const type = TYPES[extname(name)];
    if (!type) continue;
    const bytes = await readFile(new URL(name, folder));
    servers.set(name, createAssetServer(bytes, ['content-type', type, ...headers]));
  }
  return servers;
}
