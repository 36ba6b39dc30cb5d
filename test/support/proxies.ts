// Starts proxies of others, such as nginx, in front of a service.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { openSocket } from './raw.ts';
import { skipLoudly } from './skip.ts';
import { until } from './until.ts';

/** A program with its arguments. */
export type Program = readonly [name: string, args: readonly string[]];

/** Writes a configuration with this `site` into `folder`; returns the nginx that uses it. */
export function nginxWith(folder: string, site: string): Program {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  // Workers of another user could neither write into the folder nor reach a socket in it.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const [file, errors] = [join(folder, 'nginx.conf'), join(folder, 'error.log')];
  const lines = [
    `daemon off; ${user} pid ${folder}/pid; error_log ${errors}; events {}`,
    `http { access_log off; ${temporary.join(' ')}\n${site}\n}`,
  ];
  writeFileSync(file, lines.join('\n'));
  return ['nginx', ['-p', folder, '-c', file, '-e', errors]];
}

/** Starts a proxy that listens at `port`; resolves with its URL, undefined if it is not there. */
export async function startProxy(
  t: TestContext,
  [name, args]: Program,
  folder: string,
  port: number,
): Promise<string | undefined> {
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin`, HOME: folder };
  if (spawnSync(name, ['version'], { env }).error) {
    skipLoudly(t, `there is no ${name} here`);
    return undefined;
  }
  const proxy = spawn(name, args, { env, stdio: 'ignore' });
  const ended = once(proxy, 'close');
  t.after(async () => {
    proxy.kill();
    await ended;
  });
  await until(async () => {
    assert.equal(proxy.exitCode, null, `${name} has ended`);
    return openSocket({ port }).then(
      (socket) => Boolean(socket.destroy()),
      () => false,
    );
  });
  return `http://127.0.0.1:${port}`;
}
