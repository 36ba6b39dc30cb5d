// Files that are read once at the start and served from memory with their headers ready: no path ever meets the disk.
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { weights } from './accept.ts';
import type { Reply } from './reply.ts';

/** A file in memory: its bytes as they are, and compressed where that pays. */
export interface Asset {
  readonly bytes: Buffer;
  readonly brotli?: Buffer | undefined;
  readonly gzip?: Buffer | undefined;
}

/** Answers a request with these headers for an asset. */
export type AssetServer = (request: IncomingHttpHeaders) => Reply;

/** Returns the function that answers requests for `asset` with `headers` (flat), 304 where the client has it already. */
export function serveAsset(asset: Asset, headers: readonly string[]): AssetServer {
  const hash = createHash('sha256').update(asset.bytes).digest('base64url').slice(0, 22);
  const variants = [
    { coding: 'br', bytes: asset.brotli },
    { coding: 'gzip', bytes: asset.gzip },
  ].flatMap(({ coding, bytes }) => (bytes ? [variant(coding, bytes)] : []));
  const plain = variant('identity', asset.bytes);

  function variant(coding: string, bytes: Buffer) {
    // Each coding is a representation of its own, with a strong validator of its own (RFC 9110, section 8.8.3.3).
    const etag = coding === 'identity' ? `"${hash}"` : `"${hash}-${coding}"`;
    const all = [...headers, 'etag', etag, 'vary', 'accept-encoding'];
    return { coding, bytes, etag, headers: coding === 'identity' ? all : [...all, 'content-encoding', coding] };
  }

  return (request) => {
    const accepted = weights(request['accept-encoding']);
    const weightOf = ({ coding }: { coding: string }) => accepted.get(coding) ?? 0;
    const [best] = [...variants].sort((one, other) => weightOf(other) - weightOf(one));
    const chosen = best && weightOf(best) > 0 ? best : plain;
    if (isKnown(request['if-none-match'], chosen.etag)) return { status: 304, headers: chosen.headers };
    return { status: 200, headers: chosen.headers, body: chosen.bytes };
  };
}

/** If-None-Match compares weakly and may list several validators, or `*` for any (RFC 9110, section 13.1.2). */
function isKnown(field: string | undefined, etag: string): boolean {
  if (field === undefined) return false;
  return field.split(',').some((sent) => sent.trim() === '*' || sent.trim().replace(/^W\//, '') === etag);
}
