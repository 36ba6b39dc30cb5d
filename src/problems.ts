// The pages behind the `type` of a problem: GET /problems/{slug} says what the problem means.
import { endpoint } from './contract/endpoint.ts';
import { escapeHtml, htmlPage, PAGE_HEADERS, SECURITY_HEADERS } from './docs/page.ts';
import { weights } from './http/accept.ts';
import type { Route } from './http/dispatch.ts';
import { Problem, type ProblemSlug, problemTitle, problemTypes } from './http/problem.ts';
import { jsonReply, type Reply } from './http/reply.ts';

/** Returns the route of the problem pages: HTML, or JSON where `accept` names it with a higher weight. */
export function problemRoute(): Route {
  const slugs = Object.keys(problemTypes) as ProblemSlug[];
  const pages = new Map<string, { html: Reply; json: Reply }>(
    slugs.map((slug) => [slug, { html: html(slug), json: json(slug) }]),
  );

  return endpoint<{ slug: string }>('GET', '/problems/{slug}', ({ parameters, call }) => {
    const page = pages.get(parameters.slug);
    if (!page) throw new Problem('not-found', 'There is no such problem type.');
    const asked = weights(call.headers.accept);
    return (asked.get('application/json') ?? 0) > (asked.get('text/html') ?? 0) ? page.json : page.html;
  });
}

function html(slug: ProblemSlug): Reply {
  const { status, description } = problemTypes[slug];
  const title = problemTitle(slug);
  const body = `<main class="frame">
<p class="soft"><code>${slug}</code></p>
<h1>${status} ${escapeHtml(title)}</h1>
<p>${escapeHtml(description)}</p>
<p><a href="../docs">The documentation of this service</a></p>
</main>`;
  const page = htmlPage({ title: `${status} ${title}`, root: '../', body });
  return { status: 200, headers: [...PAGE_HEADERS, 'vary', 'accept'], body: page };
}

function json(slug: ProblemSlug): Reply {
  const { status, description } = problemTypes[slug];
  const text = JSON.stringify({ slug, status, title: problemTitle(slug), description });
  return jsonReply(200, text, [...SECURITY_HEADERS, 'vary', 'accept']);
}
