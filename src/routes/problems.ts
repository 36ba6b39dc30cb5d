// GET /problems/{slug}: the page at a problem's `type` URL, with meaning, remedy and example.
import { endpoint } from '../contract/endpoint.ts';
import { escapeHtml, PAGE_HEADERS, renderPage, SECURITY_HEADERS } from '../docs/page.ts';
import { PROBLEM_SLUGS, renderProblemList } from '../docs/problem-list.ts';
import { parseWeights } from '../http/media-type.ts';
import { Problem, type ProblemSlug, problemTitle, problemTypes } from '../http/problem.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';

/** The part of the contract that contains the example responses. */
interface Contract {
  readonly components: { readonly responses: Readonly<Record<string, ResponseObject>> };
}

interface ResponseObject {
  readonly content?: Readonly<Record<string, MediaTypeObject>>;
}

interface MediaTypeObject {
  readonly examples: Readonly<Record<string, { readonly value?: { readonly type?: string } }>>;
}

/**
 * Returns the route of the problem pages: HTML, or JSON if `accept` gives `application/json` a
 * higher weight than `text/html`. The HTML contains an example from `contract`, a JSON text; throws
 * if it lacks one.
 */
export function problemRoute(contract: string): Route {
  const examples = parseExamples(contract);
  const pages = new Map<string, { html: Reply; json: Reply }>(
    PROBLEM_SLUGS.map((slug) => {
      const example = examples.find((value) => value?.type?.endsWith(`/${slug}`));
      if (!example) {
        throw new Error(
          `components.responses of the contract has no example of the problem ${slug}`,
        );
      }
      return [slug, { html: renderHtml(slug, example), json: renderJson(slug) }];
    }),
  );

  return endpoint<{ slug: string }>('GET', '/problems/{slug}', ({ parameters, call }) => {
    const page = pages.get(parameters.slug);
    if (!page) throw new Problem('not-found', 'There is no such problem type.');
    const accepted = parseWeights(call.headers.accept);
    const prefersJson = (accepted.get('application/json') ?? 0) > (accepted.get('text/html') ?? 0);
    return prefersJson ? page.json : page.html;
  });
}

function parseExamples(contract: string) {
  const { components } = JSON.parse(contract) as Contract;
  return Object.values(components.responses)
    .map(({ content }) => content?.['application/problem+json']?.examples ?? {})
    .flatMap((examples) => Object.values(examples).map(({ value }) => value));
}

function renderHtml(slug: ProblemSlug, example: unknown): Reply {
  const { status, meaning, remedy } = problemTypes[slug];
  const title = problemTitle(slug);
  const main = `<p class="above soft">Problem <code>${slug}</code></p>
<h1><span class="status">${status}</span> ${escapeHtml(title)}</h1>
<h2>What it means</h2>
<p>${escapeHtml(meaning)}</p>
<h2>What to do</h2>
<p>${escapeHtml(remedy)}</p>
<h2>Example</h2>
<pre><code>${escapeHtml(JSON.stringify(example, null, 2))}</code></pre>
<nav aria-labelledby="all-problems">
<h2 id="all-problems">All problems</h2>
${renderProblemList('../', slug)}
</nav>`;
  const page = renderPage({ title: `${status} ${title} - notes-server`, root: '../', main });
  return { status: 200, headers: [...PAGE_HEADERS, 'vary', 'accept'], body: page };
}

function renderJson(slug: ProblemSlug): Reply {
  const { status, meaning, remedy } = problemTypes[slug];
  const description = `${meaning} ${remedy}`;
  const text = JSON.stringify({ slug, status, title: problemTitle(slug), description });
  return jsonReply(200, text, [...SECURITY_HEADERS, 'vary', 'accept']);
}
