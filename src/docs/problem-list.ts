// The list of all problem types as HTML.
import { type ProblemSlug, problemTitle, problemTypes } from '../http/problem.ts';
import { escapeHtml } from './page.ts';

/** All problem types, in the order of their status. */
export const PROBLEM_SLUGS = Object.keys(problemTypes) as ProblemSlug[];

/** Returns links to all types as HTML. `root` is as in PageParts; `current` is the type shown. */
export function renderProblemList(root: string, current?: ProblemSlug): string {
  const items = PROBLEM_SLUGS.map((slug) => {
    const here = slug === current ? ' aria-current="page"' : '';
    const status = `<span class="status">${problemTypes[slug].status}</span>`;
    const title = escapeHtml(problemTitle(slug));
    return `<li><a href="${root}problems/${slug}"${here}>${status} ${title}</a></li>`;
  });
  return `<ul class="problem-list">\n${items.join('\n')}\n</ul>`;
}
