// The build step of the documentation: gathers the files of its pages, and renders the guides.
import { copyFile, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { draw } from './draw.ts';
import { renderGuide } from './guide-page.ts';
import { sectionsOf } from './guide-texts.ts';
import { GUIDES } from './guides.ts';

/** Writes the files of the pages, from `source`, this folder, to `output`, its place in dist/. */
export async function buildDocs(source: URL, output: URL): Promise<void> {
  // Of an earlier build, no other file may be served.
  for (const folder of ['assets/', 'guides/'])
    await rm(new URL(folder, output), { recursive: true, force: true });
  await bundleFiles(new URL('assets/', source), new URL('assets/', output));
  await renderGuides(new URL('guides/', source), output);
  await renderDrawings(new URL('drawings/', source), new URL('drawings.html', output));
}

/** Gathers all files, so that the service does not need Swagger UI's package. */
async function bundleFiles(source: URL, target: URL): Promise<void> {
  await cp(source, target, { recursive: true });
  // The compiler has written it.
  await copyFile(new URL('../samples.js', target), new URL('samples.js', target));
  const swaggerUi = import.meta.resolve('swagger-ui-dist/package.json');
  await copyFile(new URL('LICENSE', swaggerUi), new URL('swagger-ui.LICENSE', target));
  for (const name of ['swagger-ui.css', 'swagger-ui-bundle.js'])
    await copyFile(new URL(name, swaggerUi), new URL(name, target));
}

async function renderGuides(source: URL, output: URL): Promise<void> {
  const target = new URL('guides/', output);
  await mkdir(target, { recursive: true });
  const sections = [];
  for (const guide of GUIDES) {
    const [name] = guide;
    const markdown = await readFile(new URL(`${name}.md`, source), 'utf8');
    await writeFile(new URL(`${name}.html`, target), renderGuide(guide, markdown));
    sections.push(...sectionsOf(guide, markdown));
  }
  const texts = `export const SECTIONS = ${JSON.stringify(sections)};\n`;
  await writeFile(new URL('assets/guide-texts.js', output), texts);
}

async function renderDrawings(source: URL, target: URL): Promise<void> {
  let html = '';
  for (const file of (await readdir(source)).sort())
    html += await draw(file.replace('.dot', ''), await readFile(new URL(file, source), 'utf8'));
  await writeFile(target, html);
}
