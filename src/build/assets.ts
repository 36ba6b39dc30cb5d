// Writes the files that the service sends from memory, with compressed variants.
import { writeFile } from 'node:fs/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';

/** Compressed variants above this share of the original size are not written. */
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
