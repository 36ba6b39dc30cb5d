// The list of the guides, and its HTML. Their texts are in guides/*.md.
import { escapeHtml } from './page.ts';

/** A guide: its text is guides/{name}.md, its page /docs/guides/{name}. */
export type Guide = Readonly<Record<'name' | 'title' | 'description', string>>;

const DESCRIPTIONS = {
  scripting: 'Notes from curl, an editor, cron and other programs.',
  assistants: 'Notes as tools of Claude, Cursor, VS Code and others.',
  options: 'Every option of the command, and its rules.',
  access: 'Keys, rate limits, proxies and browsers.',
  data: 'What requests contain, and when a write is safe.',
  'safe-writes': 'Lost updates, retries, patches, many records at once.',
  'finding-notes': 'Tags on notes, order, pages, filters, search.',
  undoing: 'The trash, earlier texts, and how to erase both.',
  'following-changes': 'What has changed since you last looked.',
  problems: 'Every error response, and what to do.',
  backups: 'Backup, restore, export and import.',
  operation: 'Health, stopping, log, limits, overload.',
  metrics: 'What /metrics reports, and how to read it.',
  deployment: 'As a systemd service or container.',
  processes: 'When to run several processes.',
  cluster: 'Data on several machines, with rqlite.',
  threads: 'Six demonstrations of threads at work.',
  'testing-clients': 'The service in your tests.',
  changing: 'Recipes: a field, a filter, an operation, an option.',
  benchmarks: 'The speed, compared with others.',
  releasing: 'Tests, dependencies, release steps.',
};

/** All guides, in reading order. The title is the name in words. */
export const GUIDES: readonly Guide[] = Object.entries(DESCRIPTIONS).map(([name, description]) => {
  const words = name.replaceAll('-', ' ');
  return { name, title: words.charAt(0).toUpperCase() + words.slice(1), description };
});

/** Returns links to all guides as HTML. `root` is as for pages; `current` is the guide shown. */
export function renderGuideList(root: string, current?: Guide): string {
  const items = GUIDES.map((guide) => {
    const here = guide === current ? ' aria-current="page"' : '';
    const link = `<a href="${root}docs/guides/${guide.name}"${here}>${escapeHtml(guide.title)}</a>`;
    return `<li>${link} <span class="soft">${escapeHtml(guide.description)}</span></li>`;
  });
  return `<ul class="guide-list">\n${items.join('\n')}\n</ul>`;
}
