// The page /docs. It needs no script, except for the operations, which Swagger UI lists.
import { RESOURCE_NAMES } from '../resources/resources.ts';
import { renderGuideList } from './guides.ts';
import { COPY_BUTTON, COPY_STATUS, escapeHtml, renderPage } from './page.ts';
import { SAMPLES } from './samples.ts';

/** Returns /docs as HTML; `info` is that of the contract. `baseUrl` has no trailing slash. */
export function renderLanding(
  info: { readonly version: string; readonly summary: string },
  baseUrl: string,
  requiresKey: boolean,
  drawings: string,
): string {
  const [curl = '', ...samples] = renderFirstCalls(baseUrl, requiresKey);
  const hint = 'This service requires a key: replace <code>KEY</code> with yours.\n';
  const main = `<h1>notes-server <span class="version">${escapeHtml(info.version)}</span></h1>
<p class="lead">A service that stores ${RESOURCE_NAMES} for scripts and assistants, with a JSON
API over HTTP. It validates input strictly, returns every text exactly as sent, and confirms a write
only when it is on disk.</p>
<h2 id="first-call">Create your first note</h2>
<div class="command">
<pre><code>${curl}</code></pre>
${COPY_BUTTON}
</div>
${COPY_STATUS}
<details>
<summary>The same in JavaScript and Python</summary>
${samples.map((sample) => `<pre><code>${sample}</code></pre>`).join('\n')}
</details>
<p class="soft">${requiresKey ? hint : ''}<code>--json</code> needs
curl 7.82 or later. The complete contract with all limits is
<a href="openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
<section id="operations" aria-labelledby="operations-title">
<h2 id="operations-title">Operations</h2>
<div id="swagger-ui"${requiresKey ? ' data-requires-key' : ''}>
<noscript><p>This interactive list of operations requires JavaScript. Without it, see
<a href="openapi.json">openapi.json</a>, which describes every operation.</p></noscript>
</div>
</section>
<div class="beside">
<section id="guides" aria-labelledby="guides-title">
<h2 id="guides-title">Guides</h2>
${renderGuideList('', 3)}
</section>
<section aria-labelledby="drawings-title">
<h2 id="drawings-title">How it works</h2>
${drawings}
</section>
</div>`;
  const head = `<meta name="description" content="${escapeHtml(info.summary)}">
<link rel="stylesheet" href="docs/docs.css">
<link rel="stylesheet" href="docs/drawings.css">
<link rel="stylesheet" href="docs/operations.css">
<link rel="stylesheet" href="docs/operation.css">
<script src="docs/initializer.js" type="module" async></script>
`;
  return renderPage({
    title: 'notes-server documentation',
    path: 'docs',
    baseUrl,
    root: '',
    head,
    main,
  });
}

/** Returns the first call in each language as HTML. A script may replace the base URL. */
function renderFirstCalls(baseUrl: string, requiresKey: boolean): string[] {
  // A single quote would end the quoted argument of the shell.
  const address = escapeHtml(baseUrl.replaceAll("'", '%27'));
  const request = {
    method: 'POST',
    url: '/notes',
    headers: {
      ...(requiresKey && { authorization: 'Bearer KEY' }),
      'content-type': 'application/json',
    },
    body: '{"title":"Shopping list","body":"Milk, bread, apples"}',
  };
  const url = escapeHtml("'/notes'");
  const marked = `'<span class="base-url">${address}</span>/notes'`;
  return Object.values(SAMPLES).map((write) =>
    escapeHtml(write(request)).replace(url, () => marked),
  );
}
