// The documentation endpoints: the interactive page at /docs with its files, the machine-readable /openapi.json, and the
// way from / to them (specification, section 4.5).
import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { endpoint } from './contract/endpoint.ts';
import { DOCS_FILES } from './docs/files.ts';
import { landing } from './docs/landing.ts';
import { escapeHtml, htmlPage, PAGE_HEADERS, SECURITY_HEADERS } from './docs/page.ts';
import type { Route } from './http/dispatch.ts';
import { Problem } from './http/problem.ts';
import { type Asset, type AssetServer, serveAsset } from './http/static.ts';

const CONTRACT = new URL('../../schemas/openapi.json', import.meta.url);
const FILES = new URL('docs/assets/', import.meta.url);

/** The base URL that is written in the contract, in its examples too, and what problem types start with there. */
const CONTRACT_BASES = /http:\/\/127\.0\.0\.1:3000(\/problems)?/g;

const REVALIDATE = ['cache-control', 'no-cache'];

/** Where the service is reached and its problems are explained; no slash at the end. */
export interface Bases {
  readonly baseUrl: string;
  readonly problemBase: string;
}

/** What the documentation endpoints serve, read from disk once. */
export interface Documentation {
  readonly contract: string;
  readonly files: ReadonlyMap<string, AssetServer>;
}

/** Reads everything the documentation endpoints serve. Rejects if the build has not been run. */
export async function loadDocumentation(): Promise<Documentation> {
  const files = DOCS_FILES.map(async ({ name, type }) => {
    const headers = ['content-type', type, ...SECURITY_HEADERS, ...REVALIDATE];
    return [name, serveAsset(await readAsset(name), headers)] as const;
  });
  const [contract, ...assets] = await Promise.all([readFile(CONTRACT, 'utf8'), ...files]);
  return { contract, files: new Map(assets) };
}

/** Returns the contract of `documentation` as JSON, its URLs set to `bases`. */
export function describe({ contract }: Documentation, { baseUrl, problemBase }: Bases): string {
  // In one pass, for a base may itself begin like the one that is replaced: http://127.0.0.1:30001 does.
  const text = contract.replace(CONTRACT_BASES, (_base, problems) => (problems ? problemBase : baseUrl));
  return JSON.stringify(JSON.parse(text));
}

/** Returns the routes that serve the docs page with its `files`, and `contract`, as {@link describe} returns it, from memory. */
export function docsRoutes({ files }: Documentation, contract: string, bases: Bases): Route[] {
  const page = serveAsset(compressed(docsPage(contract, bases)), [...PAGE_HEADERS, ...REVALIDATE]);
  const description = serveAsset(compressed(contract), ['content-type', 'application/json', ...REVALIDATE]);

  return [
    endpoint('GET', '/', () => ({ status: 307, headers: ['location', `${basePath(bases)}/docs`] })),
    endpoint('GET', '/docs', ({ call }) => page(call.headers)),
    endpoint<{ asset: string }>('GET', '/docs/{asset}', ({ parameters, call }) => {
      const serve = files.get(parameters.asset);
      if (!serve) throw new Problem('not-found', 'The documentation has no such file.');
      return serve(call.headers);
    }),
    endpoint('GET', '/openapi.json', ({ call }) => description(call.headers)),
  ];
}

/** The path of the base URL: empty, unless the service lives below another one behind a proxy. */
export function basePath({ baseUrl }: Bases): string {
  return new URL(baseUrl).pathname.replace(/\/$/, '');
}

function docsPage(contract: string, { baseUrl }: Bases): string {
  const { info } = JSON.parse(contract) as { info: { version: string; summary: string } };
  return htmlPage({
    title: 'notes-server documentation',
    root: '',
    head: `<meta name="description" content="${escapeHtml(info.summary)}">
<link rel="stylesheet" href="docs/docs.css">
<link rel="stylesheet" href="docs/operations.css">
<link rel="stylesheet" href="docs/operation.css">
<script src="docs/swagger-ui-bundle.js" defer></script>
<script src="docs/initializer.js" type="module"></script>
`,
    main: landing({ version: info.version, baseUrl }),
  });
}

function compressed(text: string): Asset {
  const bytes = Buffer.from(text);
  return { bytes, gzip: gzipSync(bytes) };
}

async function readAsset(name: string): Promise<Asset> {
  const ifThere = (ending: string) => readFile(new URL(`${name}.${ending}`, FILES)).catch(() => undefined);
  const [bytes, brotli, gzip] = await Promise.all([readFile(new URL(name, FILES)), ifThere('br'), ifThere('gz')]);
  return { bytes, brotli, gzip };
}
