// The hints that a terminal shows after the service has started on a port.
import { resolve } from 'node:path';
import { requiresKey } from '../guards/keys.ts';
import { escapeControls } from '../log/pretty-line.ts';
import type { Options } from './options.ts';

/** Returns four lines: the documentation, the data, a first request, and how to stop. */
export function firstSteps(options: Options, address: string): string {
  const { baseUrl = address, db } = options;
  const data = db.kind === 'file' ? resolve(db.name) : db.name;
  const key = requiresKey(options) ? "-H 'authorization: Bearer KEY' " : '';
  const note = `--json '{"title":"Hello","body":"World"}'`;
  return [
    `docs  ${baseUrl}/docs`,
    `data  ${data}`,
    `try   curl ${key}${note} ${address}/notes`,
    'stop  Ctrl-C',
  ]
    .map((line) => `  ${escapeControls(line)}\n`)
    .join('');
}
