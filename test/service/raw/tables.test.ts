// Malformed and unusual requests, byte for byte, each with its correct answer.
import { after } from 'node:test';
import { testTable } from '../../support/raw-table.ts';
import { startService } from '../../support/service.ts';
import { CHUNKS } from './chunks.ts';
import { HEADERS } from './headers.ts';
import { HOSTS } from './hosts.ts';
import { LENGTHS } from './lengths.ts';
import { REQUEST_LINES } from './request-lines.ts';
import { TARGETS } from './targets.ts';

const TABLES = {
  chunks: CHUNKS,
  headers: HEADERS,
  hosts: HOSTS,
  lengths: LENGTHS,
  'request lines': REQUEST_LINES,
  targets: TARGETS,
};

const service = await startService({ after });
for (const [feature, tables] of Object.entries(TABLES)) {
  for (const [title, table] of Object.entries(tables)) testTable(service, feature, title, table);
}
