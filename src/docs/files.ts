// The files of the docs pages. The build gathers them from two origins; the service serves all of
// them.

/**
 * A file of the docs pages: its name in /docs/{asset}, its media type, and where the build gets it.
 */
export interface DocsFile {
  readonly name: string;
  readonly type: string;
  readonly origin: 'project' | 'swagger-ui';
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
  { name: 'copy.js', type: JAVASCRIPT, origin: 'project' },
  { name: 'favicon.svg', type: 'image/svg+xml', origin: 'project' },
  { name: 'swagger-ui.css', type: CSS, origin: 'swagger-ui' },
  { name: 'swagger-ui-bundle.js', type: JAVASCRIPT, origin: 'swagger-ui' },
];
