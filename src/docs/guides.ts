// The list of the guides, and its HTML. Their texts are in guides/*.md.
import { escapeHtml } from './page.ts';

/** A guide: its text is guides/{name}.md, its page /docs/guides/{name}. */
export interface Guide {
  readonly name: string;
  readonly title: string;
  /** One line about what the guide answers. */
  readonly description: string;
}

/** All guides, in reading order. */
export const GUIDES: readonly Guide[] = [
  { name: 'options', title: 'Options', description: 'Every option of the command, and its rules.' },
  { name: 'access', title: 'Access', description: 'Keys, rate limits, proxies and browsers.' },
  { name: 'data', title: 'Data', description: 'What requests contain, and when a write is safe.' },
  {
    name: 'safe-writes',
    title: 'Safe writes',
    description: 'Lost updates, retries, patches, many records at once.',
  },
  {
    name: 'finding-notes',
    title: 'Finding notes',
    description: 'Tags on notes, order, pages, filters, search.',
  },
  {
    name: 'following-changes',
    title: 'Following changes',
    description: 'What has changed since you last looked.',
  },
  { name: 'problems', title: 'Problems', description: 'Every error response, and what to do.' },
  { name: 'backups', title: 'Backups', description: 'Backup, restore, export and import.' },
  {
    name: 'operation',
    title: 'Operation',
    description: 'Health, stopping, log, limits, overload.',
  },
  { name: 'metrics', title: 'Metrics', description: 'What /metrics reports, and how to read it.' },
  { name: 'deployment', title: 'Deployment', description: 'As a systemd service or container.' },
  { name: 'processes', title: 'Processes', description: 'When to run several processes.' },
  { name: 'cluster', title: 'Cluster', description: 'Data on several machines, with rqlite.' },
  { name: 'threads', title: 'Threads', description: 'Six demonstrations of threads at work.' },
  { name: 'testing-clients', title: 'Testing clients', description: 'The service in your tests.' },
  { name: 'benchmarks', title: 'Benchmarks', description: 'The speed, compared with others.' },
  { name: 'releasing', title: 'Releasing', description: 'Tests, dependencies, release steps.' },
];

/** Returns links to all guides as HTML. `root` is as in PageParts; `current` is the guide shown. */
export function renderGuideList(root: string, current?: Guide): string {
  const items = GUIDES.map((guide) => {
    const here = guide === current ? ' aria-current="page"' : '';
    const link = `<a href="${root}docs/guides/${guide.name}"${here}>${escapeHtml(guide.title)}</a>`;
    return `<li>${link} <span class="soft">${escapeHtml(guide.description)}</span></li>`;
  });
  return `<ul class="guide-list">\n${items.join('\n')}\n</ul>`;
}
