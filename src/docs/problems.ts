// The pages of problems: of each at its `type` URL, of all at /problems, and where no page is.

import { endpoint } from '../contract/endpoint.ts';
import { type ProblemType, problems } from '../contract/generated.js';
import { parseWeights } from '../http/accept.ts';
import { type Bases, basePath } from '../http/paths.ts';
import { Problem, problemReply } from '../http/problem.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import type { Call, Route } from '../http/route.ts';
import { escapeHtml, PAGE_HEADERS, renderPage, SECURITY_HEADERS } from './page.ts';

/** The header of all that depends on `accept`, flat. */
const VARY = ['vary', 'accept'];
const NO_STORE = ['cache-control', 'no-store', ...VARY];
/** The forms of a page, rendered at the start: neither depends on a request. */
type Forms = Readonly<Record<'html' | 'json', Reply>>;

/** Returns the routes of the problem pages: JSON if `accept` names it, unless it prefers HTML. */
export function problemRoutes({ baseUrl, problemBase }: Bases): Route[] {
  const pages = new Map<string, Forms>(
    problems.map((problem) => [
      problem.slug,
      { html: renderHtml(problem, baseUrl, problemBase), json: renderJson(explain(problem)) },
    ]),
  );
  const list = { html: renderList(baseUrl), json: renderJson({ items: problems.map(explain) }) };

  return [
    endpoint('GET', '/problems', ({ call }) => choose(list, call)),
    endpoint<{ slug: string }>('GET', '/problems/{slug}', ({ parameters, call }) => {
      const page = pages.get(parameters.slug);
      if (!page) throw new Problem('not-found', 'There is no such problem type.');
      return choose(page, call);
    }),
  ];
}

/**
 * Returns `routes`, whose answer to browsers where no page is has the way back; other clients get
 * the problem. The route of `/` answers for unknown paths.
 */
export function withPagesForUnknown(bases: Bases, routes: readonly Route[]): Route[] {
  // Relative URLs would depend on the depth of the path.
  const root = escapeHtml(`${basePath(bases)}/`);

  function refuse(problem: Problem, call: Call): Reply | undefined {
    const isRead = call.method === 'GET' || call.method === 'HEAD';
    if (!isRead || problem.slug !== 'not-found') return undefined;
    const reply = problemReply(problem, bases.problemBase);
    const { html, json } = weightsOf(call);
    if (html <= json) return { ...reply, headers: [...(reply.headers ?? []), ...VARY] };
    const body = renderUnknown(root, problem.message);
    return { status: 404, headers: [...PAGE_HEADERS, ...NO_STORE], body };
  }
  return routes.map((route) => ({ ...route, refuse }));
}

function choose({ html, json }: Forms, call: Call): Reply {
  const weights = weightsOf(call);
  return weights.json > 0 && weights.json >= weights.html ? json : html;
}

/** Returns the weights of the two forms in `accept`; wildcards such as `text/*` do not count. */
function weightsOf({ headers }: Call): { html: number; json: number } {
  const accepted = parseWeights(headers.accept);
  const weightOf = (type: string) => accepted.get(type) ?? 0;
  const json = Math.max(weightOf('application/json'), weightOf('application/problem+json'));
  return { html: weightOf('text/html'), json };
}

function renderHtml(problem: ProblemType, baseUrl: string, problemBase: string): Reply {
  const { slug, status, title, meaning, remedy } = problem;
  const example = { ...problem.example, type: `${problemBase}/${slug}` };
  const main = `<p class="above soft">Problem <code>${slug}</code></p>
<h1><span class="status">${status}</span> ${escapeHtml(title)}</h1>
<h2>What it means</h2>
<p>${renderSentences(meaning)}</p>
<h2>What to do</h2>
<p>${renderSentences(remedy)}</p>
<h2>Example</h2>
<pre><code>${escapeHtml(JSON.stringify(example, null, 2))}</code></pre>`;
  return pageReply({
    title: `${status} ${title}`,
    path: `problems/${slug}`,
    baseUrl,
    root: '../',
    main,
  });
}

function renderList(baseUrl: string): Reply {
  const main = `<h1>Problems</h1>
<p>Error responses are problem details (RFC 9457). The <code>type</code> of each leads to its page,
which says what it means and what to do.</p>
<ul class="problem-rows">
${problems.map(renderRow).join('\n')}
</ul>`;
  const head = '<link rel="stylesheet" href="docs/problems.css">\n';
  return pageReply({ title: 'Problems', path: 'problems', baseUrl, root: '', head, main });
}

function renderRow({ slug, status, title, meaning }: ProblemType): string {
  const [firstSentence = ''] = meaning.split(/(?<=\.) /);
  return `<li>
<span class="status">${status}</span>
<p><a href="problems/${slug}"><code>${slug}</code></a>
<span class="soft">${escapeHtml(title)}</span></p>
<p>${renderSentences(firstSentence)}</p>
</li>`;
}

function renderSentences(text: string): string {
  return escapeHtml(text).replace(/`([^`]*)`/g, '<code>$1</code>');
}

function pageReply(parts: Parameters<typeof renderPage>[0]): Reply {
  const body = renderPage({ ...parts, title: `${parts.title} - notes-server` });
  return { status: 200, headers: [...PAGE_HEADERS, ...NO_STORE], body };
}

function explain({ slug, status, title, meaning, remedy }: ProblemType) {
  return { slug, status, title, description: `${meaning} ${remedy.replaceAll('`', '')}` };
}

function renderJson(value: unknown): Reply {
  return jsonReply(200, JSON.stringify(value), [...SECURITY_HEADERS, ...NO_STORE]);
}

function renderUnknown(root: string, message: string): string {
  return renderPage({
    title: '404 Not Found - notes-server',
    root,
    main: `<h1><span class="status">404</span> Not Found</h1>
<p>${escapeHtml(message)} Check the path: a slash at its end makes it a different path.</p>
<ul class="guide-list">
<li><a href="${root}docs">Documentation</a> <span class="soft">Operations, first steps.</span></li>
<li><a href="${root}docs/guides">Guides</a> <span class="soft">How to use and run it.</span></li>
<li><a href="${root}problems">Problems</a> <span class="soft">What each error means.</span></li>
</ul>`,
  });
}
