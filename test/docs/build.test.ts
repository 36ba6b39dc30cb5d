// The build of the documentation, into a folder of its own: other tests read dist/.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { buildDocs } from '../../src/docs/build.ts';
import { temporaryFolder } from '../support/engine.ts';
import { root } from '../support/sources.ts';

const SOURCE = new URL('src/docs/', root);
/** What the compiler and the build of the project have written. */
const BUILT = new URL('dist/src/docs/', root);
const SWAGGER_UI = ['swagger-ui.LICENSE', 'swagger-ui-bundle.js', 'swagger-ui.css'];

test('docs: a build writes all files of its pages, and keeps none of an earlier one', async (t) => {
  const output = pathToFileURL(`${temporaryFolder(t)}/`);
  cpSync(new URL('samples.js', BUILT), new URL('samples.js', output));
  for (const folder of ['assets/', 'guides/']) {
    mkdirSync(new URL(folder, output));
    writeFileSync(new URL(`${folder}gone.html`, output), '');
  }
  await buildDocs(SOURCE, output);
  const namesIn = (folder: string, base: URL) => readdirSync(new URL(folder, base)).sort();
  const made = ['samples.js', 'guide-texts.js'];
  const assets = [...namesIn('assets/', SOURCE), ...made, ...SWAGGER_UI].sort();
  const guides = namesIn('guides/', SOURCE).map((name) => name.replace('.md', '.html'));
  assert.deepEqual(namesIn('assets/', output), assets);
  assert.deepEqual(namesIn('guides/', output), guides);
  const files = [
    'drawings.html',
    ...assets.map((name) => `assets/${name}`),
    ...guides.map((name) => `guides/${name}`),
  ];
  // The service serves these, so they are the same as those of the project's build.
  for (const file of files) {
    const [written, served] = [output, BUILT].map((base) => readFileSync(new URL(file, base)));
    assert.ok(written && served?.equals(written), file);
  }
});
