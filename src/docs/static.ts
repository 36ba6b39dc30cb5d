// Serves files from memory, so that no request reaches the file system.
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { matchesWeakly, parseEntityTags } from '../http/body/entity-tags.ts';
import { parseWeights } from '../http/body/media-type.ts';
import type { Reply } from '../http/reply.ts';

/** A file in memory, with its compressed forms if they are smaller. */
export interface Asset {
  readonly bytes: Buffer;
  readonly brotli?: Buffer | undefined;
  readonly gzip?: Buffer | undefined;
}

/** Serves one asset: returns the reply to a request, given the headers of the request. */
export type AssetServer = (request: IncomingHttpHeaders) => Reply;

/** One encoding of an asset, with its headers. */
interface Variant {
  readonly coding: string;
  readonly bytes: Buffer;
  /** The entity tag without its quotes. */
  readonly tag: string;
  readonly headers: readonly string[];
}

/**
 * Returns the server of `asset`. It adds `headers` (flat: name, value, name, value) to each reply
 * and replies 304 if the client has the current version.
 */
export function createAssetServer(asset: Asset, headers: readonly string[]): AssetServer {
  const hash = createHash('sha256').update(asset.bytes).digest('base64url').slice(0, 22);
  const plain = createVariant('identity', asset.bytes, hash, headers);
  const compressed = [
    { coding: 'br', bytes: asset.brotli },
    { coding: 'gzip', bytes: asset.gzip },
  ].flatMap(({ coding, bytes }) => (bytes ? [createVariant(coding, bytes, hash, headers)] : []));

  return (request) => {
    const weights = parseWeights(request['accept-encoding']);
    const weightOf = ({ coding }: Variant) => weights.get(coding) ?? 0;
    const [best] = [...compressed].sort((one, other) => weightOf(other) - weightOf(one));
    const chosen = best && weightOf(best) > 0 ? best : plain;
    const known = parseEntityTags(request['if-none-match'] ?? '') ?? [];
    if (matchesWeakly(known, chosen.tag)) {
      return { status: 304, headers: chosen.headers };
    }
    return { status: 200, headers: chosen.headers, body: chosen.bytes };
  };
}

/** Each coding is a separate representation with its own etag (RFC 9110, section 8.8.3.3). */
function createVariant(
  coding: string,
  bytes: Buffer,
  hash: string,
  headers: readonly string[],
): Variant {
  const isPlain = coding === 'identity';
  const tag = isPlain ? hash : `${hash}-${coding}`;
  const all = [...headers, 'etag', `"${tag}"`, 'vary', 'accept-encoding'];
  return { coding, bytes, tag, headers: isPlain ? all : [...all, 'content-encoding', coding] };
}
