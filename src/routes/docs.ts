// The documentation endpoints: the interactive page at /docs with its files, the guides, the
// machine-readable /openapi.json, and the redirect from / to /docs.
import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { endpoint } from '../contract/endpoint.ts';
import { DOCS_FILES } from '../docs/files.ts';
import { GUIDES } from '../docs/guides.ts';
import { renderLanding } from '../docs/landing.ts';
import { escapeHtml, PAGE_HEADERS, renderPage, SECURITY_HEADERS } from '../docs/page.ts';
import { Problem } from '../http/problem.ts';
import type { Route } from '../http/route.ts';
import { type Asset, type AssetServer, serveAsset } from '../http/static.ts';

const CONTRACT = new URL('../../../schemas/openapi.json', import.meta.url);
const FILES = new URL('../docs/assets/', import.meta.url);
const GUIDE_PAGES = new URL('../docs/guides/', import.meta.url);

/**
 * The base URL that is written in the contract, in its examples too, and the start of problem types
 * there.
 */
const CONTRACT_BASES = /http:\/\/127\.0\.0\.1:3000(\/problems)?/g;

const REVALIDATE = ['cache-control', 'no-cache'];

/** Where clients reach the service and the pages of its problems; no slash at the end. */
export interface Bases {
  readonly baseUrl: string;
  readonly problemBase: string;
}

/** What the documentation endpoints serve, read from disk once. */
export interface Documentation {
  readonly contract: string;
  readonly files: ReadonlyMap<string, AssetServer>;
  readonly guides: ReadonlyMap<string, AssetServer>;
}

/** Reads everything the documentation endpoints serve. Rejects if the build has not been run. */
export async function loadDocumentation(): Promise<Documentation> {
  const files = DOCS_FILES.map(async ({ name, type }) => {
    const headers = ['content-type', type, ...SECURITY_HEADERS, ...REVALIDATE];
    return [name, serveAsset(await readAsset(new URL(name, FILES)), headers)] as const;
  });
  const guides = GUIDES.map(async ({ name }) => {
    const page = await readAsset(new URL(`${name}.html`, GUIDE_PAGES));
    return [name, serveAsset(page, [...PAGE_HEADERS, ...REVALIDATE])] as const;
  });
  const [contract, fileEntries, guideEntries] = await Promise.all([
    readFile(CONTRACT, 'utf8'),
    Promise.all(files),
    Promise.all(guides),
  ]);
  return { contract, files: new Map(fileEntries), guides: new Map(guideEntries) };
}

/** Returns the contract of `documentation` as JSON, its URLs set to `bases`. */
export function describe({ contract }: Documentation, { baseUrl, problemBase }: Bases): string {
  // One pass, because a base may begin with the text that is replaced, as http://127.0.0.1:30001
  // does.
  const text = contract.replace(CONTRACT_BASES, (_, problems) =>
    problems ? problemBase : baseUrl,
  );
  return JSON.stringify(JSON.parse(text));
}

/**
 * Returns the routes that serve `documentation` from memory, with `contract` as {@link describe}
 * returns it.
 */
export function docsRoutes(documentation: Documentation, contract: string, bases: Bases): Route[] {
  const { files, guides } = documentation;
  const page = serveAsset(compress(renderDocsPage(contract, bases)), [
    ...PAGE_HEADERS,
    ...REVALIDATE,
  ]);
  const json = ['content-type', 'application/json', ...REVALIDATE];
  const description = serveAsset(compress(contract), json);

  return [
    endpoint('GET', '/', () => ({ status: 307, headers: ['location', `${basePath(bases)}/docs`] })),
    endpoint('GET', '/docs', ({ call }) => page(call.headers)),
    endpoint<{ asset: string }>('GET', '/docs/{asset}', ({ parameters, call }) => {
      const serve = files.get(parameters.asset);
      if (!serve) throw new Problem('not-found', 'The documentation has no such file.');
      return serve(call.headers);
    }),
    endpoint<{ guide: string }>('GET', '/docs/guides/{guide}', ({ parameters, call }) => {
      const serve = guides.get(parameters.guide);
      if (!serve) throw new Problem('not-found', 'There is no such guide.');
      return serve(call.headers);
    }),
    endpoint('GET', '/openapi.json', ({ call }) => description(call.headers)),
  ];
}

/** Returns the path of the base URL: empty unless a proxy serves it below a path. */
export function basePath({ baseUrl }: Bases): string {
  return new URL(baseUrl).pathname.replace(/\/$/, '');
}

function renderDocsPage(contract: string, { baseUrl }: Bases): string {
  const { info } = JSON.parse(contract) as { info: { version: string; summary: string } };
  return renderPage({
    title: 'notes-server documentation',
    root: '',
    head: `<meta name="description" content="${escapeHtml(info.summary)}">
<link rel="stylesheet" href="docs/docs.css">
<link rel="stylesheet" href="docs/operations.css">
<link rel="stylesheet" href="docs/operation.css">
<script src="docs/swagger-ui-bundle.js" defer></script>
<script src="docs/initializer.js" type="module"></script>
`,
    main: renderLanding({ version: info.version, baseUrl }),
  });
}

function compress(text: string): Asset {
  const bytes = Buffer.from(text);
  return { bytes, gzip: gzipSync(bytes) };
}

async function readAsset(file: URL): Promise<Asset> {
  const variant = (ending: string) =>
    readFile(new URL(`${file.href}.${ending}`)).catch(() => undefined);
  const [bytes, brotli, gzip] = await Promise.all([readFile(file), variant('br'), variant('gz')]);
  return { bytes, brotli, gzip };
}
