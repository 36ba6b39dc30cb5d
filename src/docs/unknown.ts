// The answer where no page is: browsers get a page with the way back, other clients the problem.
import { type Bases, basePath } from '../http/paths.ts';
import { type Problem, problemReply } from '../http/problem.ts';
import type { Reply } from '../http/reply.ts';
import type { Call, Route } from '../http/route.ts';
import { escapeHtml, PAGE_HEADERS, renderPage } from './page.ts';
import { VARY, weightsOf } from './problems.ts';

/** Returns `routes`, which answer a 404 by a page for browsers; `/` does so for unknown paths. */
export function withPagesForUnknown(bases: Bases, routes: readonly Route[]): Route[] {
  // Relative URLs would depend on the depth of the path.
  const root = escapeHtml(`${basePath(bases)}/`);

  function refuse(problem: Problem, call: Call): Reply | undefined {
    const isRead = call.method === 'GET' || call.method === 'HEAD';
    if (!isRead || problem.slug !== 'not-found') return undefined;
    const reply = problemReply(problem, bases.problemBase);
    const { html, json } = weightsOf(call);
    if (html <= json) return { ...reply, headers: [...(reply.headers ?? []), ...VARY] };
    const headers = [...PAGE_HEADERS, 'cache-control', 'no-store', ...VARY];
    return { status: 404, headers, body: renderUnknown(root, problem.message) };
  }
  return routes.map((route) => ({ ...route, refuse }));
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
