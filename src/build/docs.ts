// Gathers the files of the docs pages, so that the service does not need the Swagger UI package.
import { copyFile, mkdir, readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { writeAsset } from './assets.ts';

/** Writes the files of the docs pages to `target`; those of this project come from `source`. */
export async function bundleDocs(source: URL, target: URL): Promise<void> {
  const manifest = createRequire(import.meta.url).resolve('swagger-ui-dist/package.json');
  const swaggerUi = pathToFileURL(manifest);
  const own = await readdir(source);
  const files = [
    ...own.map((name) => new URL(name, source)),
    // The compiler has written it.
    new URL('../samples.js', target),
    new URL('swagger-ui.css', swaggerUi),
    new URL('swagger-ui-bundle.js', swaggerUi),
  ];
  await mkdir(target, { recursive: true });
  await copyFile(new URL('LICENSE', swaggerUi), new URL('swagger-ui.LICENSE', target));
  for (const file of files) {
    const name = file.pathname.replace(/.*\//, '');
    await writeAsset(new URL(name, target), await readFile(file));
  }
}
