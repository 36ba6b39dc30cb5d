// Gathers the files of the docs pages, so that the service does not need the Swagger UI package.
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { DOCS_FILES } from '../docs/files.ts';
import { writeAsset } from './assets.ts';

/** Writes the files of the docs pages to `target`; those of this project come from `source`. */
export async function bundleDocs(source: URL, target: URL): Promise<void> {
  const manifest = createRequire(import.meta.url).resolve('swagger-ui-dist/package.json');
  const swaggerUi = pathToFileURL(manifest);
  const folders = {
    project: source,
    compiler: new URL('../', target),
    'swagger-ui': new URL('.', swaggerUi),
  };
  await mkdir(target, { recursive: true });
  await copyFile(new URL('LICENSE', swaggerUi), new URL('swagger-ui.LICENSE', target));
  for (const { name, origin } of DOCS_FILES) {
    await writeAsset(new URL(name, target), await readFile(new URL(name, folders[origin])));
  }
}
