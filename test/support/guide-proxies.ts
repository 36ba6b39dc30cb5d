// The configurations of proxies in the guide to deployment, in front of a service on a socket, with
// a port and without TLS.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { guide } from '../project/documents.ts';
import { type Command, startCommand } from './command.ts';
import { temporaryFolder } from './engine.ts';
import { lastingPort } from './ports.ts';
import { nginxWith, type Program, startProxy } from './proxies.ts';

/** The URL of the guide. */
export const BASE = 'https://notes.example.org';
/** The headers of requests with the key. */
export const HEADERS = { host: 'notes.example.org', 'x-api-key': 'key' };

const deployment = guide('deployment');

function configuration(start: string, path: string): string {
  const [, code = ''] =
    new RegExp(`\`\`\`(?:nginx|apache)\\n(${start}[\\s\\S]*?)\`\`\``).exec(deployment) ?? [];
  assert.ok(code.includes('/run/notes-server/notes.sock'));
  return code.replace('/run/notes-server/notes.sock', path);
}

/** The arguments of the guide, with the socket in `folder` and other keys and rate. */
function guideArguments(folder: string, rate: number): string[] {
  const [, line = ''] = /```sh\nnotes-server (--socket[\s\S]*?)\n```/.exec(deployment) ?? [];
  assert.match(line, /--socket \S+ .*--rate-limit 600 --api-keys-file keys$/s);
  const args = line.replace('\\\n', '').split(/\s+/);
  const values: Record<string, string> = {
    '--socket': join(folder, 'notes.sock'),
    '--rate-limit': String(rate),
  };
  return args.map((arg, index) => values[args[index - 1] ?? ''] ?? arg);
}

/** A proxy, and the service behind it with its socket. */
export interface Both {
  readonly url: string;
  readonly command: Command;
  readonly socketPath: string;
}

type Configure = (folder: string, port: number, edit: (site: string) => string) => Program;

/** How each proxy is configured. */
export const PROXIES: Readonly<Record<string, Configure>> = {
  nginx(folder, port, edit) {
    const site = edit(configuration('upstream ', join(folder, 'notes.sock')))
      .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
      .replace(/^ +ssl_.*\n/gm, '');
    return nginxWith(folder, site);
  },
  caddy(folder, port) {
    const site = configuration('notes.example.org ', join(folder, 'notes.sock')).replace(
      /^notes\.example\.org/,
      `http://notes.example.org:${port}`,
    );
    writeFileSync(join(folder, 'Caddyfile'), `{\n\tadmin off\n}\n${site}`);
    return ['caddy', ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')]];
  },
  apache(folder, port) {
    const site = configuration('<VirtualHost ', join(folder, 'notes.sock'))
      .replace('*:443', `127.0.0.1:${port}`)
      .replace(/^ +SSL.*\n/gm, '');
    const modules = ['mpm_event', 'authz_core', 'unixd', 'proxy', 'proxy_http'].map((name) => {
      const file = `/usr/lib/apache2/modules/mod_${name}.so`;
      return existsSync(file) ? `LoadModule ${name}_module ${file}` : '';
    });
    // Apache does not serve as root, but its group may use the socket.
    const user = process.getuid?.() === 0 ? ['User nobody', 'Group #0'] : [];
    chmodSync(folder, 0o750);
    const files = [`PidFile ${folder}/pid`, `ErrorLog ${folder}/error.log`, `ServerRoot ${folder}`];
    const lines = [...modules, ...user, ...files, `Listen 127.0.0.1:${port}`, site];
    const file = join(folder, 'apache.conf');
    writeFileSync(file, `${lines.join('\n')}\n`);
    return ['apache2', ['-X', '-f', file]];
  },
};

/** Resolves with undefined without the proxy; `edit` changes the configuration of nginx. */
export async function startBoth(
  t: TestContext,
  name: string,
  edit = (site: string) => site,
  rate = 20,
): Promise<Both | undefined> {
  const [folder, port] = [temporaryFolder(t), await lastingPort()];
  writeFileSync(join(folder, 'keys'), 'key\n');
  chmodSync(join(folder, 'keys'), 0o600);
  const program = PROXIES[name]?.(folder, port, edit) ?? assert.fail(name);
  const command = startCommand(t, guideArguments(folder, rate), { folder });
  await command.ready();
  const url = await startProxy(t, program, folder, port);
  return url === undefined ? undefined : { url, command, socketPath: join(folder, 'notes.sock') };
}
