// The hints that a terminal shows after the service has started.
import { resolve } from 'node:path';
import { shellText } from '../docs/samples.ts';
import { requiresKey } from '../guards/keys.ts';
import { escapeControls } from '../log/pretty-line.ts';
import type { Options } from './options.ts';

/** Returns four lines: the documentation, the data, a first request, and how to stop. */
export function firstSteps(options: Options, address: string): string {
  const { baseUrl, db, socket } = options;
  const socketFlag = socket === undefined ? '' : `--unix-socket ${shellText(socket)} `;
  const base = socket === undefined ? address : 'http://localhost';
  const docs =
    socket === undefined || baseUrl !== undefined
      ? `${baseUrl ?? address}/docs`
      : `${base}/docs, through a proxy (set --base-url to its address)`;
  const data = {
    file: resolve(db.name),
    memory: 'in memory, lost when the service stops',
    cluster: db.name,
  }[db.kind];
  const key = requiresKey(options) ? "-H 'authorization: Bearer KEY' " : '';
  const note = `--json '{"title":"Hello","body":"World"}'`;
  return [
    `docs  ${docs}`,
    `data  ${data}`,
    `try   curl ${socketFlag}${key}${note} ${base}/notes`,
    'stop  Ctrl-C',
  ]
    .map((line) => `  ${escapeControls(line)}\n`)
    .join('');
}
