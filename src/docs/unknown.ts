// The answer where no page is: browsers get a page with the way back, other clients the problem.
import { STATUS_CODES } from 'node:http';
import { parseTarget } from '../http/message.ts';
import { type Bases, basePath } from '../http/paths.ts';
import { type Problem, problemReply } from '../http/problem.ts';
import type { Reply } from '../http/reply.ts';
import type { Call, Route } from '../http/route.ts';
import { Router } from '../http/router.ts';
import { escapeHtml, PAGE_HEADERS, renderPage } from './page.ts';
import { VARY, weightsOf } from './problems.ts';

/** Returns `routes`, which answer a 404 by a page for browsers; `/` does so for unknown paths. */
export function withPagesForUnknown(
  bases: Bases,
  routes: readonly Route[],
  all: () => readonly Route[],
): Route[] {
  // Relative URLs would depend on the depth of the path.
  const root = escapeHtml(`${basePath(bases)}/`);
  let router: Router | undefined;

  /** Whether nothing is there; without a key, unknown paths are refused like all others. */
  function isUnknown({ slug }: Problem, call: Call): boolean {
    if (slug !== 'unauthorized') return slug === 'not-found';
    router ??= new Router(all());
    return !router.find(parseTarget(call).segments);
  }

  function refuse(problem: Problem, call: Call): Reply | undefined {
    const isRead = call.method === 'GET' || call.method === 'HEAD';
    if (!isRead || !isUnknown(problem, call)) return undefined;
    const reply = problemReply(problem, bases.problemBase);
    const { html, json } = weightsOf(call);
    if (html <= json) return { ...reply, headers: [...(reply.headers ?? []), ...VARY] };
    const { headers = [] } = problem.extras;
    const all = [...PAGE_HEADERS, 'cache-control', 'no-store', ...VARY, ...headers];
    return { status: reply.status, headers: all, body: renderUnknown(root, problem) };
  }
  return routes.map((route) => ({ ...route, refuse }));
}

function renderUnknown(root: string, { status, message }: Problem): string {
  const hint =
    status === 404 ? ' Check the path: a slash at its end makes it a different path.' : '';
  const title = STATUS_CODES[status];
  return renderPage({
    title: `${status} ${title} - notes-server`,
    root,
    main: `<h1><span class="status">${status}</span> ${title}</h1>
<p>${escapeHtml(message)}${hint}</p>
<ul class="guide-list">
<li><a href="${root}docs">Documentation</a> <span class="soft">Operations, first steps.</span></li>
<li><a href="${root}docs/guides">Guides</a> <span class="soft">How to use and run it.</span></li>
<li><a href="${root}problems">Problems</a> <span class="soft">What each error means.</span></li>
</ul>`,
  });
}
