// The files of the docs pages, which the build gathers from several origins.

/** A file of the docs pages: its name in /docs/{asset}, its media type and its origin. */
export interface DocsFile {
  readonly name: string;
  readonly type: string;
  readonly origin: 'project' | 'compiler' | 'swagger-ui';
}

const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** All files of the docs pages. */
export const DOCS_FILES: readonly DocsFile[] = [
  { name: 'page.css', type: CSS, origin: 'project' },
  { name: 'docs.css', type: CSS, origin: 'project' },
  { name: 'guide.css', type: CSS, origin: 'project' },
  { name: 'operations.css', type: CSS, origin: 'project' },
  { name: 'operation.css', type: CSS, origin: 'project' },
  { name: 'initializer.js', type: JAVASCRIPT, origin: 'project' },
  { name: 'adjustments.js', type: JAVASCRIPT, origin: 'project' },
  { name: 'requests.js', type: JAVASCRIPT, origin: 'project' },
  { name: 'samples.js', type: JAVASCRIPT, origin: 'compiler' },
  { name: 'copy.js', type: JAVASCRIPT, origin: 'project' },
  { name: 'favicon.svg', type: 'image/svg+xml', origin: 'project' },
  { name: 'swagger-ui.css', type: CSS, origin: 'swagger-ui' },
  { name: 'swagger-ui-bundle.js', type: JAVASCRIPT, origin: 'swagger-ui' },
];
