// The list of the guides, and its HTML. Their texts are in guides/*.md.
import { escapeHtml, renderPage } from './page.ts';

/** A guide: its text is guides/{name}.md, its page /docs/guides/{name}. */
export type Guide = readonly [name: string, title: string, description: string];

/** The guides by group, in reading order. */
export const GROUPS: Readonly<Record<string, readonly Guide[]>> = {
  'To use it': [
    ['scripting', 'Scripting notes', 'Notes from curl, an editor, cron and other programs.'],
    ['folder', 'A folder of notes', 'Files in your editor and notes of the service, in step.'],
    ['finding-notes', 'Finding notes', 'Tags on notes, order, pages, filters, search.'],
    ['assistants', 'Assistants', 'Notes as tools of Claude, Cursor, VS Code and others.'],
    ['data', 'Data', 'What requests contain, and when a write is safe.'],
    ['safe-writes', 'Safe writes', 'Lost updates, retries, patches, many records at once.'],
    ['undoing', 'Undoing', 'The trash, earlier texts, and how to erase both.'],
    ['following-changes', 'Following changes', 'What has changed since you last looked.'],
    ['problems', 'Problems', 'Every error response, and what to do.'],
    ['testing-clients', 'Testing clients', 'The service in your tests.'],
    ['threads', 'Threads', 'Six demonstrations of threads at work.'],
  ],
  'To operate it': [
    ['deployment', 'Deployment', 'As a systemd service or container.'],
    ['a-year', 'A year of it', 'What an operator meets, with every command.'],
    ['options', 'Options', 'Every option of the command, and its rules.'],
    ['access', 'Access', 'Keys, rate limits, proxies and browsers.'],
    ['operation', 'Operation', 'Health, stopping, log, limits, overload.'],
    ['metrics', 'Metrics', 'What /metrics reports, and how to read it.'],
    ['backups', 'Backups', 'Backup, restore, export and import.'],
    ['processes', 'Processes', 'When to run several processes.'],
    ['cluster', 'Cluster', 'Data on several machines, with rqlite.'],
  ],
  'To change it': [
    ['changing', 'Changing', 'Recipes: a field, a filter, an operation, an option.'],
    ['benchmarks', 'Benchmarks', 'The speed, compared with others.'],
    ['releasing', 'Releasing', 'Tests, dependencies, release steps.'],
  ],
};

export const GUIDES: readonly Guide[] = Object.values(GROUPS).flat();

/** Returns links to all guides as HTML, each group with a heading of this level. */
export function renderGuideList(root: string, level: 2 | 3): string {
  const groups = Object.entries(GROUPS).map(([name, guides]) => {
    const items = guides.map((guide) => {
      const [, , description] = guide;
      const line = `<span class="soft">${escapeHtml(description)}</span>`;
      return `<li>${renderLink(root, guide)} ${line}</li>`;
    });
    const list = `<ul class="guide-list">\n${items.join('\n')}\n</ul>`;
    return `<h${level}>${name}</h${level}>\n${list}`;
  });
  return groups.join('\n');
}

/** The field of the search, which its script shows. */
const SEARCH = `<div class="find" role="search" hidden>
<label>Search all guides <input type="search" autocomplete="off" spellcheck="false"></label>
<p class="soft" role="status"></p>
<ol></ol>
</div>`;

/** Returns the script of the search as HTML. */
export function renderSearchScript(root: string): string {
  return `<script src="${root}docs/guides.js" type="module"></script>\n`;
}

/**
 * Returns the links to the `sections` of the guide shown, `current`, and to all guides as HTML,
 * folded on a narrow screen.
 */
export function renderGuideMenu(root: string, current: Guide, sections: readonly string[]): string {
  const groups = Object.entries(GROUPS).map(([name, guides]) => {
    const items = guides.map((guide) => `<li>${renderLink(root, guide, current)}</li>`);
    return `<li><b>${name}</b>\n<ul>\n${items.join('\n')}\n</ul>\n</li>`;
  });
  return `<details>
<summary>Contents and all guides</summary>
${SEARCH}
<ul>
<li><b>On this page</b>
<ul class="contents">
${sections.map((link) => `<li>${link}</li>`).join('\n')}
</ul>
</li>
${groups.join('\n')}
</ul>
</details>`;
}

/** Returns the page that lists all guides, as HTML. */
export function renderGuidesPage(baseUrl: string): string {
  const root = '../';
  const main = `<h1>Guides</h1>\n${SEARCH}\n${renderGuideList(root, 2)}`;
  const [title, path, head] = ['Guides - notes-server', 'docs/guides', renderSearchScript(root)];
  return renderPage({ title, path, baseUrl, root, head, main });
}

function renderLink(root: string, guide: Guide, current?: Guide): string {
  const [name, title] = guide;
  const here = guide === current ? ' aria-current="page"' : '';
  return `<a href="${root}docs/guides/${name}"${here}>${escapeHtml(title)}</a>`;
}
