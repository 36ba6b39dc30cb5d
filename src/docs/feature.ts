// The documentation: /docs with its files, the guides, /openapi.json, and the redirect from /.
import { readFile } from 'node:fs/promises';
import { endpoint } from '../contract/endpoint.ts';
import type { Feature, Together } from '../feature.ts';
import { type Bases, basePath } from '../http/paths.ts';
import { Problem } from '../http/problem.ts';
import type { Route } from '../http/route.ts';
import { contractAt, servedPart } from './contract.ts';
import { renderGuidesPage } from './guides.ts';
import { renderLanding } from './landing.ts';
import { PAGE_HEADERS, SECURITY_HEADERS } from './page.ts';
import { problemRoutes, withPagesForUnknown } from './problems.ts';
import { createAssetServer, readAssets } from './static.ts';

const CONTRACT = new URL('../../../schemas/openapi.json', import.meta.url);
const FILES = new URL('../docs/assets/', import.meta.url);
const GUIDE_PAGES = new URL('../docs/guides/', import.meta.url);
const DRAWINGS = new URL('../docs/drawings.html', import.meta.url);

const REVALIDATE = ['cache-control', 'no-cache'];
const JSON_HEADERS = ['content-type', 'application/json'];
const FILE_HEADERS = [...SECURITY_HEADERS, ...REVALIDATE];

/** Leaves out of the contract what only the build needs. */
const published = (name: string, value: unknown) => (name.startsWith('x-tool') ? undefined : value);

const loadDocumentation = () =>
  Promise.all([
    readFile(CONTRACT, 'utf8').then((text) => {
      const contract = JSON.parse(text, published);
      return { text: JSON.stringify(contract), info: contract.info };
    }),
    readAssets(FILES, FILE_HEADERS),
    readAssets(GUIDE_PAGES, FILE_HEADERS),
    readFile(DRAWINGS, 'utf8'),
  ]);

/** Read once for all services of the process. */
let documentation: ReturnType<typeof loadDocumentation> | undefined;

/** The documentation, and the pages of the problems. */
export async function docs(requiresKey: boolean): Promise<Feature> {
  documentation ??= loadDocumentation();
  const [{ text, info }, files, guides, drawings] = await documentation;

  function routes(bases: Bases, all: Together): Route[] {
    let serveContract: ReturnType<typeof serverOf> | undefined;
    const landing = renderLanding(info, bases.baseUrl, requiresKey, drawings);
    const headers = ['location', `${basePath(bases)}/docs`];

    const own = [
      endpoint('GET', '/', () => ({ status: 307, headers })),
      textAt('/docs', landing, PAGE_HEADERS),
      textAt('/docs/guides', renderGuidesPage(bases.baseUrl), PAGE_HEADERS),
      endpoint<{ asset: string }>('GET', '/docs/{asset}', ({ parameters, call }) => {
        const serve = files.get(parameters.asset);
        if (!serve) throw new Problem('not-found', 'The documentation has no such file.');
        return serve(call.headers);
      }),
      endpoint<{ guide: string }>('GET', '/docs/guides/{guide}', ({ parameters, call }) => {
        const serve = guides.get(`${parameters.guide}.html`);
        if (!serve) throw new Problem('not-found', 'There is no such guide.');
        return serve(call.headers);
      }),
      endpoint('GET', '/openapi.json', ({ call }) => {
        // Only now are all routes known.
        serveContract ??= serverOf(servedPart(contractAt(text, bases), all), JSON_HEADERS);
        return serveContract(call.headers);
      }),
      ...problemRoutes(bases),
    ];
    return withPagesForUnknown(bases, own);
  }
  return { routes };
}

function serverOf(text: string, headers: readonly string[]) {
  return createAssetServer(Buffer.from(text), [...headers, ...REVALIDATE]);
}

function textAt(path: string, text: string, headers: readonly string[]): Route {
  const serve = serverOf(text, headers);
  return endpoint('GET', path, ({ call }) => serve(call.headers));
}
