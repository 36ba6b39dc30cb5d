// The content of /docs. Only the list of operations needs a script: Swagger UI replaces the
// paragraph in #swagger-ui.
import { RESOURCE_NAMES } from '../resources/resources.ts';
import { renderGuideList } from './guides.ts';
import { escapeHtml } from './page.ts';
import { renderProblemList } from './problem-list.ts';

/** Returns the HTML of the content of /docs. `baseUrl` has no slash at its end. */
export function renderLanding(version: string, baseUrl: string): string {
  return `<h1>notes-server <span class="version">${escapeHtml(version)}</span></h1>
<p class="lead">A service that keeps ${RESOURCE_NAMES}, over HTTP and in JSON. It validates
strictly, returns every text exactly as it was sent, and confirms a write only when it is stored.
Six demonstrations show threads at work.</p>
<h2 id="first-call">Create your first note</h2>
<div class="command">
<pre><code>${firstCall(baseUrl)}</code></pre>
<button type="button" class="copy" hidden>Copy<span class="visually-hidden"> the command</span></button>
</div>
<p class="copy-status soft" role="status"></p>
<p class="soft">If the service requires a key, add <code>-H 'authorization: Bearer KEY'</code>.
The whole contract, with every bound, is <a href="openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
<section id="operations" aria-labelledby="operations-title">
<h2 id="operations-title">Operations</h2>
<div id="swagger-ui">
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

/** Returns a command for all versions of curl. A script may replace the marked address. */
function firstCall(baseUrl: string): string {
  // Between single quotes, a shell interprets nothing but a single quote.
  const base = escapeHtml(baseUrl.replaceAll("'", '%27'));
  return `curl -H 'content-type: application/json' \\
  -d '{"title":"Shopping list","body":"Milk, bread, apples"}' \\
  '<span class="base-url">${base}</span>/notes'`;
}
