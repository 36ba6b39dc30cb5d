// Writes files that the service will send from memory, compressed at build time where that pays.
import { writeFile } from 'node:fs/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';

/** A compressed variant must be smaller than this share of the original to be worth its headers. */
const MAX_COMPRESSED_SHARE = 0.9;

/**
 * Writes `bytes` to `path` and its compressed variants, where they are worth it, to `path` with
 * `.br` and `.gz`.
 */
export async function writeAsset(path: URL, bytes: Buffer): Promise<void> {
  await writeFile(path, bytes);
  const variants = { br: brotliCompressSync(bytes), gz: gzipSync(bytes, { level: 9 }) };
  for (const [ending, compressed] of Object.entries(variants)) {
    if (compressed.length >= bytes.length * MAX_COMPRESSED_SHARE) continue;
    await writeFile(new URL(`${path.href}.${ending}`), compressed);
  }
}
