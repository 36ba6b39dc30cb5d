// Writes the files that the service sends from memory, with compressed variants.
import { writeFile } from 'node:fs/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';

/** A larger share of the original does not justify a compressed variant. */
const MAX_COMPRESSED_SHARE = 0.9;

/** Writes `bytes` to `path`, and compressed variants to `path` with `.br` and `.gz`. */
export async function writeAsset(path: URL, bytes: Buffer): Promise<void> {
  await writeFile(path, bytes);
  const variants = { br: brotliCompressSync(bytes), gz: gzipSync(bytes, { level: 9 }) };
  for (const [ending, compressed] of Object.entries(variants)) {
    if (compressed.length >= bytes.length * MAX_COMPRESSED_SHARE) continue;
    await writeFile(new URL(`${path.href}.${ending}`), compressed);
  }
}
