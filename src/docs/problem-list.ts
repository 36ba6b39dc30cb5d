// The list of all problem types as HTML.
import { problems } from '../contract/generated.js';
import type { ProblemSlug } from '../http/problem.ts';
import { escapeHtml } from './page.ts';

/** Returns links to all types as HTML. `root` is as in PageParts; `current` is the type shown. */
export function renderProblemList(root: string, current?: ProblemSlug): string {
  const items = problems.map(({ slug, status, title }) => {
    const here = slug === current ? ' aria-current="page"' : '';
    const text = `<span class="status">${status}</span> ${escapeHtml(title)}`;
    return `<li><a href="${root}problems/${slug}"${here}>${text}</a></li>`;
  });
  return `<ul class="problem-list">\n${items.join('\n')}\n</ul>`;
}
