// GET /problems/{slug}: the page at a problem's `type` URL, with meaning, remedy and example.
// GET /problems lists them.
import { endpoint } from '../contract/endpoint.ts';
import {
  escapeHtml,
  PAGE_HEADERS,
  type PageParts,
  renderPage,
  SECURITY_HEADERS,
} from '../docs/page.ts';
import { PROBLEM_SLUGS, renderProblemList } from '../docs/problem-list.ts';
import { parseWeights } from '../http/body/media-type.ts';
import { Problem, type ProblemSlug, problemTitle, problemTypes } from '../http/problem.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import type { Call, Route } from '../http/route.ts';

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

/** A page in its two forms. */
interface Page {
  readonly html: Reply;
  readonly json: Reply;
}

/**
 * Returns the routes of the problem pages: HTML, or JSON if `accept` gives it a higher weight. The
 * HTML contains an example from `contract`, a JSON text; throws if it lacks one.
 */
export function problemRoutes(contract: string): Route[] {
  const examples = parseExamples(contract);
  const pages = new Map<string, Page>(
    PROBLEM_SLUGS.map((slug) => {
      const example = examples.find((value) => value?.type?.endsWith(`/${slug}`));
      if (!example) {
        throw new Error(
          `components.responses of the contract has no example of the problem ${slug}`,
        );
      }
      return [slug, { html: renderHtml(slug, example), json: renderJson(explain(slug)) }];
    }),
  );
  const list = { html: renderList(), json: renderJson({ items: PROBLEM_SLUGS.map(explain) }) };
  const unknown = renderUnknown();

  return [
    endpoint('GET', '/problems', ({ call }) => choose(list, call)),
    endpoint<{ slug: string }>('GET', '/problems/{slug}', ({ parameters, call }) => {
      const page = pages.get(parameters.slug);
      if (page) return choose(page, call);
      // Browsers name text/html in `accept`; other clients get a problem, as they do everywhere.
      const { html, json } = weightsOf(call);
      if (html > json) return unknown;
      throw new Problem('not-found', 'There is no such problem type.', { headers: VARY });
    }),
  ];
}

const VARY = ['vary', 'accept'];

function choose({ html, json }: Page, call: Call): Reply {
  const weights = weightsOf(call);
  return weights.json > weights.html ? json : html;
}

/** Returns the weights of the two forms in `accept`; wildcards such as `text/*` do not count. */
function weightsOf({ headers }: Call): { html: number; json: number } {
  const accepted = parseWeights(headers.accept);
  const weightOf = (type: string) => accepted.get(type) ?? 0;
  const json = Math.max(weightOf('application/json'), weightOf('application/problem+json'));
  return { html: weightOf('text/html'), json };
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
<p>${markCode(remedy)}</p>
<h2>Example</h2>
<pre><code>${escapeHtml(JSON.stringify(example, null, 2))}</code></pre>
<nav aria-labelledby="all-problems">
<h2 id="all-problems">All problems</h2>
${renderProblemList('../', slug)}
</nav>`;
  return pageReply(200, { title: `${status} ${title} - notes-server`, root: '../', main });
}

function renderList(): Reply {
  const main = `<h1>Problems</h1>
<p>Error responses are problem details (RFC 9457). The <code>type</code> of each leads to its page,
which says what it means and what to do.</p>
${renderProblemList('')}`;
  return pageReply(200, { title: 'Problems - notes-server', root: '', main });
}

function renderUnknown(): Reply {
  const main = `<h1><span class="status">404</span> Not Found</h1>
<p>There is no such problem type. These are all:</p>
${renderProblemList('../')}`;
  const parts = { title: '404 Not Found - notes-server', root: '../', main };
  return pageReply(404, parts, ['cache-control', 'no-store']);
}

function pageReply(status: number, parts: PageParts, headers: readonly string[] = []): Reply {
  return { status, headers: [...PAGE_HEADERS, ...VARY, ...headers], body: renderPage(parts) };
}

function explain(slug: ProblemSlug) {
  const { status, meaning, remedy } = problemTypes[slug];
  const description = `${meaning} ${remedy.replaceAll('`', '')}`;
  return { slug, status, title: problemTitle(slug), description };
}

function renderJson(value: unknown): Reply {
  return jsonReply(200, JSON.stringify(value), [...SECURITY_HEADERS, ...VARY]);
}

/** Returns text as HTML; what is between backticks becomes code. */
function markCode(text: string): string {
  return escapeHtml(text).replace(/`([^`]*)`/g, '<code>$1</code>');
}
