// The pages behind the `type` of a problem: GET /problems/{slug} says what the problem means and what can be done.
import { endpoint } from './contract/endpoint.ts';
import { escapeHtml, htmlPage, PAGE_HEADERS, SECURITY_HEADERS } from './docs/page.ts';
import { PROBLEM_SLUGS, problemList } from './docs/problem-list.ts';
import { weights } from './http/accept.ts';
import type { Route } from './http/dispatch.ts';
import { Problem, type ProblemSlug, problemTitle, problemTypes } from './http/problem.ts';
import { jsonReply, type Reply } from './http/reply.ts';

/** What is read of the contract: the examples of its responses. */
interface Described {
  readonly components: {
    readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>;
  };
}

interface Media {
  readonly examples: Readonly<Record<string, { readonly value?: { readonly type?: string } }>>;
}

/**
 * Returns the route of the problem pages: HTML, or JSON where `accept` names it with a higher weight. The examples are
 * those of `contract`, the OpenAPI description as JSON.
 */
export function problemRoute(contract: string): Route {
  const { components } = JSON.parse(contract) as Described;
  const examples = Object.values(components.responses)
    .flatMap(({ content = {} }) => Object.values(content['application/problem+json']?.examples ?? {}))
    .map(({ value }) => value);
  const pages = new Map<string, { html: Reply; json: Reply }>(
    PROBLEM_SLUGS.map((slug) => {
      const example = examples.find((value) => value?.type?.endsWith(`/${slug}`));
      return [slug, { html: html(slug, example), json: json(slug) }];
    }),
  );

  return endpoint<{ slug: string }>('GET', '/problems/{slug}', ({ parameters, call }) => {
    const page = pages.get(parameters.slug);
    if (!page) throw new Problem('not-found', 'There is no such problem type.');
    const asked = weights(call.headers.accept);
    return (asked.get('application/json') ?? 0) > (asked.get('text/html') ?? 0) ? page.json : page.html;
  });
}

function html(slug: ProblemSlug, example: unknown): Reply {
  const { status, meaning, remedy } = problemTypes[slug];
  const title = problemTitle(slug);
  const main = `<p class="above soft">Problem <code>${slug}</code></p>
<h1><span class="status">${status}</span> ${escapeHtml(title)}</h1>
<h2>What it means</h2>
<p>${escapeHtml(meaning)}</p>
<h2>What to do</h2>
<p>${escapeHtml(remedy)}</p>
<h2>An example</h2>
<pre><code>${escapeHtml(JSON.stringify(example, null, 2))}</code></pre>
<nav aria-labelledby="all-problems">
<h2 id="all-problems">All problems</h2>
${problemList('../', slug)}
</nav>`;
  const page = htmlPage({ title: `${status} ${title} - notes-server`, root: '../', main });
  return { status: 200, headers: [...PAGE_HEADERS, 'vary', 'accept'], body: page };
}

function json(slug: ProblemSlug): Reply {
  const { status, meaning, remedy } = problemTypes[slug];
  const text = JSON.stringify({ slug, status, title: problemTitle(slug), description: `${meaning} ${remedy}` });
  return jsonReply(200, text, [...SECURITY_HEADERS, 'vary', 'accept']);
}
