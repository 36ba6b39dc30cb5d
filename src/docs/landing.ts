// The content of /docs. Only the list of operations needs a script: Swagger UI replaces the
// paragraph in #swagger-ui.
import { RESOURCE_NAMES } from '../resources/resources.ts';
import { renderGuideList } from './guides.ts';
import { escapeHtml } from './page.ts';
import { renderProblemList } from './problem-list.ts';
import { SAMPLES } from './samples.ts';

/** Returns the HTML of the content of /docs. `baseUrl` has no slash at its end. */
export function renderLanding(version: string, baseUrl: string, requiresKey: boolean): string {
  const [curl = '', ...samples] = firstCall(baseUrl, requiresKey);
  return `<h1>notes-server <span class="version">${escapeHtml(version)}</span></h1>
<p class="lead">A service that keeps ${RESOURCE_NAMES}, over HTTP and in JSON. It validates
strictly, returns every text exactly as it was sent, and confirms a write only when it is stored.
Six demonstrations show threads at work.</p>
<h2 id="first-call">Create your first note</h2>
<div class="command">
<pre><code>${curl}</code></pre>
<button type="button" class="copy" hidden>Copy<span class="visually-hidden"> the command</span></button>
</div>
<p class="copy-status soft" role="status"></p>
<details>
<summary>The same in JavaScript and Python</summary>
${samples.map((sample) => `<pre><code>${sample}</code></pre>`).join('\n')}
</details>
<p class="soft">${requiresKey ? 'This service requires a key: replace <code>KEY</code> by yours.\n' : ''}The whole contract, with every bound, is <a href="openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
<section id="operations" aria-labelledby="operations-title">
<h2 id="operations-title">Operations</h2>
<div id="swagger-ui"${requiresKey ? ' data-requires-key' : ''}>
<p>The list of operations, where you can try each of them, needs a script. Without it,
<a href="openapi.json">openapi.json</a> describes all of them.</p>
</div>
</section>
<section id="guides" aria-labelledby="guides-title">
<h2 id="guides-title">Guides</h2>
${renderGuideList('')}
</section>
<section id="problems" aria-labelledby="problems-title">
<h2 id="problems-title">Problems</h2>
<p>Error responses are problem details (RFC 9457). The <code>type</code> of each leads to its page,
which says what it means and what to do.</p>
${renderProblemList('')}
</section>`;
}

/** Returns the first call in each language as HTML. A script may replace the marked address. */
function firstCall(baseUrl: string, requiresKey: boolean): string[] {
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
  const marked = `'<span class="base-url">${address}</span>/notes'`;
  return SAMPLES.map(({ write }) => escapeCode(write(request)).replace("'/notes'", () => marked));
}

/** Escapes code for the content of an element, where quotes need no escape. */
function escapeCode(text: string): string {
  return text.replace(/[&<>]/g, escapeHtml);
}
