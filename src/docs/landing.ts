// The content of /docs. What tells people what this is, and lets them make a first call, is here and needs no script;
// Swagger UI puts the list of operations in the place of a line that says where they are without it.
import { escapeHtml } from './page.ts';
import { problemList } from './problem-list.ts';

/** What the content of /docs says of the service; no slash at the end of `baseUrl`. */
export interface LandingParts {
  readonly version: string;
  readonly baseUrl: string;
}

/** Returns the HTML of the content of /docs. */
export function landing({ version, baseUrl }: LandingParts): string {
  return `<h1>notes-server <span class="version">${escapeHtml(version)}</span></h1>
<p class="lead">A service that keeps notes, tags and comments, over HTTP and in JSON. It is strict about what it takes,
gives back every text exactly as it was sent, and confirms a write only when it is stored. Six demonstrations show
threads at work.</p>
<h2 id="first-call">Make your first note</h2>
<div class="command">
<pre><code>${firstCall(baseUrl)}</code></pre>
<button type="button" class="copy" hidden>Copy<span class="for-ears"> the command</span></button>
</div>
<p class="told soft" role="status"></p>
<p class="soft">A service that was given keys asks for one: add <code>-H 'authorization: Bearer KEY'</code>.
The whole contract, with every bound, is <a href="openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
<section id="operations" aria-labelledby="operations-title">
<h2 id="operations-title">Operations</h2>
<div id="swagger-ui">
<p>The list of operations, where each can be tried, is loaded by a script. Without it,
<a href="openapi.json">openapi.json</a> describes all of them.</p>
</div>
</section>
<section id="problems" aria-labelledby="problems-title">
<h2 id="problems-title">Problems</h2>
<p>What goes wrong is told as problem details (RFC 9457). The <code>type</code> of each leads to its page, which says what
it means and what to do.</p>
${problemList('')}
</section>`;
}

/** A call that old versions of curl understand too. The address is marked, for a script may know a better one. */
function firstCall(baseUrl: string): string {
  // In single quotes a shell takes everything for itself, but a single quote.
  const base = escapeHtml(baseUrl.replaceAll("'", '%27'));
  return `curl -H 'content-type: application/json' \\
  -d '{"title":"Shopping list","body":"Milk, bread, apples"}' \\
  '<span class="base-url">${base}</span>/notes'`;
}
