// The files of the docs page. The build gathers them from two places, the service serves them from one.

/** A file of the docs page: its name at /docs/{asset}, its media type, and who made it. */
export interface DocsFile {
  readonly name: string;
  readonly type: string;
  readonly from: 'ours' | 'swagger-ui';
}

const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** All files of the docs page. */
export const DOCS_FILES: readonly DocsFile[] = [
  { name: 'page.css', type: CSS, from: 'ours' },
  { name: 'docs.css', type: CSS, from: 'ours' },
  { name: 'operations.css', type: CSS, from: 'ours' },
  { name: 'operation.css', type: CSS, from: 'ours' },
  { name: 'initializer.js', type: JAVASCRIPT, from: 'ours' },
  { name: 'adjustments.js', type: JAVASCRIPT, from: 'ours' },
  { name: 'copy.js', type: JAVASCRIPT, from: 'ours' },
  { name: 'favicon.svg', type: 'image/svg+xml', from: 'ours' },
  { name: 'swagger-ui.css', type: CSS, from: 'swagger-ui' },
  { name: 'swagger-ui-bundle.js', type: JAVASCRIPT, from: 'swagger-ui' },
];
