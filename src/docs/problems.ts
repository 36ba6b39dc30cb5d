// The page at a problem's `type` URL, with meaning, remedy and example, and the list at /problems.

import { endpoint } from '../contract/endpoint.ts';
import { type ProblemType, problems } from '../contract/generated.js';
import { parseWeights } from '../http/accept.ts';
import { Problem } from '../http/problem.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import type { Call, Route } from '../http/route.ts';
import { escapeHtml, PAGE_HEADERS, renderPage, SECURITY_HEADERS } from './page.ts';

/** The header of all that depends on `accept`, flat. */
export const VARY = ['vary', 'accept'];
/** The forms of a page, rendered at the start: neither depends on a request. */
type Forms = Readonly<Record<'html' | 'json', Reply>>;

/** Returns the routes of the problem pages: JSON if `accept` names it, unless it prefers HTML. */
export function problemRoutes(problemBase: string): Route[] {
  const pages = new Map<string, Forms>(
    problems.map((problem) => [
      problem.slug,
      { html: renderHtml(problem, problemBase), json: renderJson(explain(problem)) },
    ]),
  );
  const list = { html: renderList(), json: renderJson({ items: problems.map(explain) }) };

  return [
    endpoint('GET', '/problems', ({ call }) => choose(list, call)),
    endpoint<{ slug: string }>('GET', '/problems/{slug}', ({ parameters, call }) => {
      const page = pages.get(parameters.slug);
      if (!page) throw new Problem('not-found', 'There is no such problem type.');
      return choose(page, call);
    }),
  ];
}

function choose({ html, json }: Forms, call: Call): Reply {
  const weights = weightsOf(call);
  return weights.json > 0 && weights.json >= weights.html ? json : html;
}

/** Returns the weights of the two forms in `accept`; wildcards such as `text/*` do not count. */
export function weightsOf({ headers }: Call): { html: number; json: number } {
  const accepted = parseWeights(headers.accept);
  const weightOf = (type: string) => accepted.get(type) ?? 0;
  const json = Math.max(weightOf('application/json'), weightOf('application/problem+json'));
  return { html: weightOf('text/html'), json };
}

function renderHtml(problem: ProblemType, problemBase: string): Reply {
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
  return pageReply(`${status} ${title}`, '../', main);
}

function renderList(): Reply {
  const main = `<h1>Problems</h1>
<p>Error responses are problem details (RFC 9457). The <code>type</code> of each leads to its page,
which says what it means and what to do.</p>
<ul class="problem-rows">
${problems.map(renderRow).join('\n')}
</ul>`;
  return pageReply('Problems', '', main, '<link rel="stylesheet" href="docs/problems.css">\n');
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

function pageReply(title: string, root: string, main: string, head = ''): Reply {
  const body = renderPage({ title: `${title} - notes-server`, root, head, main });
  return { status: 200, headers: [...PAGE_HEADERS, ...VARY], body };
}

function explain({ slug, status, title, meaning, remedy }: ProblemType) {
  return { slug, status, title, description: `${meaning} ${remedy.replaceAll('`', '')}` };
}

function renderJson(value: unknown): Reply {
  return jsonReply(200, JSON.stringify(value), [...SECURITY_HEADERS, ...VARY]);
}
