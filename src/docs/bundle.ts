// A build step: gathers the files of the docs page, Swagger UI's and ours, each as it is and compressed where that
// pays, so that nothing is compressed while the service runs and Swagger UI's package is not needed by its users.
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { DOCS_FILES } from './files.ts';

/** A compressed variant has to be smaller than this share of the original to be worth its headers. */
const WORTHWHILE_SHARE = 0.9;

/** Writes the files of the docs page to the folder `target`; ours come from the folder `source`. */
export async function bundleDocs(source: URL, target: URL): Promise<void> {
  const swaggerUi = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const folders = { ours: fileURLToPath(source), 'swagger-ui': swaggerUi };
  const folder = fileURLToPath(target);
  await mkdir(folder, { recursive: true });
  await copyFile(join(swaggerUi, 'LICENSE'), join(folder, 'swagger-ui.LICENSE'));
  await Promise.all(DOCS_FILES.map(({ name, from }) => writeCompressed(join(folders[from], name), join(folder, name))));
}

/** Copies a file and adds what it becomes compressed; files are compressed side by side. */
async function writeCompressed(source: string, target: string): Promise<void> {
  const bytes = await readFile(source);
  await Promise.all([
    writeFile(target, bytes),
    promisify(brotliCompress)(bytes).then((compressed) => writeIfSmaller(`${target}.br`, compressed, bytes)),
    promisify(gzip)(bytes, { level: 9 }).then((compressed) => writeIfSmaller(`${target}.gz`, compressed, bytes)),
  ]);
}

async function writeIfSmaller(path: string, compressed: Buffer, original: Buffer): Promise<void> {
  if (compressed.length < original.length * WORTHWHILE_SHARE) await writeFile(path, compressed);
}
