// Carries out the guide to a year: every command in order, with the packed service, below a folder
// that stands for the root of a machine.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { blocksIn, guide, textOf } from '../project/documents.ts';
import { clusterAddress, temporaryFolder } from '../support/engine.ts';
import { request } from '../support/http.ts';
import { lastingPorts } from '../support/ports.ts';
import { RQLITED, startNodes } from '../support/rqlite-nodes.ts';
import { fill, NO_MOUNT, smallDisk } from '../support/small-disk.ts';
import { root as project } from '../support/sources.ts';
import { startRegistry } from './registry.ts';

const registry = await startRegistry({ after });
const [PORT = 0, SPARE = 0, HTTPS = 0] = await lastingPorts(3);

const FOLDERS = 'bin run opt root usr/local/bin usr/local/sbin var/lib var/log var/tmp';
const PROGRAMS = ['nginx', 'caddy', 'promtool', 'logrotate', 'systemd-analyze'];
const PATH = `${process.env.PATH}:/usr/sbin`;
const missing = PROGRAMS.filter((name) => spawnSync(name, ['-v'], { env: { PATH } }).error);

const HEALTH = `http://127.0.0.1:${PORT}/health`;

const { version: VERSION } = JSON.parse(textOf('package.json'));
const NEXT = '99.0.0';
const year = guide('a-year').replaceAll('1.1.0', NEXT).replaceAll('1.0.0', VERSION);
const blocks = blocksIn(year);
const deployment = blocksIn(guide('deployment')).map(({ code }) => code);

function fromDeployment(pattern: RegExp): string {
  return deployment.find((code) => pattern.test(code)) ?? assert.fail(`no block has ${pattern}`);
}

const AGED = '/var/backups/notes-server/notes-aged.db';

/** Prints what cannot be tried here, because the report does not show it. */
function sayNotTested(what: string): void {
  process.stderr.write(`\n*** NOT TESTED: a year: ${what} ***\n\n`);
}

for (const name of missing) sayNotTested(`there is no ${name} here`);

/** A folder that stands for the root of a machine. */
class Machine {
  cluster = '';
  readonly #root: string;
  readonly #path: string;

  constructor(root: string) {
    this.#root = root;
    this.#path = `${root}/bin:${root}/usr/local/bin:${PATH}`;
    for (const folder of FOLDERS.split(' ')) mkdirSync(this.at(folder), { recursive: true });
    const manager = fileURLToPath(new URL('test/support/service-manager.sh', project));
    this.addProgram('systemctl', `exec sh '${manager}' "$@"`);
    this.addProgram('journalctl', `cat '${root}/journal'`);
    this.addProgram('sudo', 'exec "$@"');
    for (const name of missing) this.addProgram(name, 'exit 0');
  }

  at(path: string): string {
    return join(this.#root, path);
  }

  read(path: string): string {
    return readFileSync(this.at(path), 'utf8');
  }

  write(path: string, text: string, mode = 0o644): void {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    writeFileSync(this.at(path), this.translate(text), { mode });
  }

  addProgram(name: string, commands: string): void {
    this.write(`bin/${name}`, `#!/bin/sh\n${commands}\n`, 0o755);
  }

  /** Returns a text of a guide with the paths, the addresses and the dates of this test. */
  translate(text: string): string {
    return text
      .replace(/(?<![\w./])\/(?=(?:etc|opt|run|usr\/local|var)\/)/g, `${this.#root}/`)
      .replaceAll('/usr/bin/node', process.execPath)
      .replaceAll('https://notes.example.org/health', missing.includes('nginx') ? HEALTH : '$&')
      .replaceAll('127.0.0.1:3000', `127.0.0.1:${PORT}`)
      .replaceAll('3001', String(SPARE))
      .replace('chown prometheus', 'chown "$(id -u)"')
      .replace(/rqlite:\/\/10\.[\d.:,]+/g, this.cluster)
      .replace(/(?<=--expires )20\d\d/g, '2999');
  }

  /** Runs commands of a guide; resolves with what they print. */
  async run(code: string): Promise<string> {
    const own = {
      ROOT: this.#root,
      HOME: this.at('root'),
      NOTES_PORT: `${PORT}`,
      PATH: this.#path,
    };
    const options = { cwd: this.at('root'), env: { ...registry, ...own } };
    const ended = promisify(execFile)('sh', ['-ec', this.translate(code)], options);
    const { stdout, stderr } = await ended;
    return stdout + stderr;
  }

  /** Sends a request with the first key of a file. */
  ask(method: string, path: string, json?: object, file = '/etc/notes-server/keys') {
    const [key = ''] = this.read(file).trim().split(' ');
    const parts = { headers: { 'x-api-key': key }, json };
    return request(`http://127.0.0.1:${PORT}`, method, path, parts);
  }

  async add(title: string): Promise<void> {
    assert.equal((await this.ask('POST', '/notes', { title, body: 'b' })).status, 201, title);
  }

  /** Asserts the titles of all notes. */
  async has(...titles: string[]): Promise<void> {
    const { items } = (await this.ask('GET', '/notes')).json;
    const found = items.map(({ title }: { title: string }) => title);
    assert.deepEqual(found, titles);
  }
}

/** Makes a certificate, and the files of nginx and Caddy with the sites of the deployment guide. */
async function configureProxies(machine: Machine): Promise<void> {
  const site = fromDeployment(/^upstream/);
  const [certificate = '', key = ''] = site.match(/\/etc\/ssl\/[^;]*/g) ?? [];
  await machine.run(`mkdir -p /etc/ssl/certs /etc/ssl/private
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 60 \\
      -subj /CN=notes.example.org -addext subjectAltName=DNS:notes.example.org \\
      -keyout ${key} -out ${certificate} 2>&1`);
  const names = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const temporary = names.map((name) => `${name}_temp_path /run/${name};`).join(' ');
  const socket = 'unix:/run/notes-server/notes.sock';
  const here = site.replace(socket, '127.0.0.1:3000').replace('443', `127.0.0.1:${HTTPS}`);
  const main = `daemon off; pid /run/nginx/pid; events {}\nhttp { access_log off; ${temporary}`;
  machine.write('/etc/nginx/nginx.conf', `${main}\n${here}}`);
  machine.write('/run/nginx/pid', '');
  if (!missing.includes('nginx')) {
    machine.addProgram('nginx', 'exec /usr/sbin/nginx -c /etc/nginx/nginx.conf -e /run/error "$@"');
    machine.write('/etc/systemd/system/nginx.service', `ExecStart=${machine.at('bin/nginx')}\n`);
  }
  const caddyfile = fromDeployment(/reverse_proxy/);
  machine.write(
    '/etc/caddy/Caddyfile',
    caddyfile.replace('unix//run/notes-server/notes.sock', '127.0.0.1:3000'),
  );
  const curl = `connect-to = notes.example.org:443:127.0.0.1:${HTTPS}\ncacert = ${certificate}\n`;
  machine.write('/root/.curlrc', curl);
}

/** Packs the next version, whose schema has one step more. */
async function packNewVersion(machine: Machine): Promise<void> {
  await machine.run(`mkdir new && tar -xzf notes-server-${VERSION}.tgz -C new && cd new/package
    sed -i 's/"version": .*/"version": "${NEXT}",/' package.json
    sed -i "s/join('')]/join(''), 'CREATE TABLE more (id INTEGER)']/" \\
      dist/src/storage/schema/steps.js
    cd ../.. && tar -czf notes-server-${NEXT}.tgz -C new package`);
}

/** Without systemd: a service that appends its log to a file, while logrotate truncates this. */
async function rotateLog(machine: Machine): Promise<void> {
  const health = 'curl -fsS --retry 9 --retry-connrefused http://127.0.0.1:3001/health';
  await machine.run(`notes-server --db :memory: --port 3001 2>> /var/log/notes-server.log &
    ${health}
    logrotate --force --state "$HOME/state" /etc/logrotate.d/notes-server
    ${health}
    kill "$!"; wait "$!"`);
  if (missing.includes('logrotate')) return;
  assert.match(await machine.run('zcat /var/log/notes-server.log.1.gz'), /"listening"/);
  assert.match(machine.read('/var/log/notes-server.log'), /^\{.*"route":"\/health"/);
}

async function fillDisk(machine: Machine, disk: string): Promise<void> {
  const old = '/var/backups/notes-server/notes-old.db';
  await machine.run(`mv ${fill(disk)} ${old} && touch -d '10 days ago' ${old}`);
  const large = { title: 'a', body: 'b'.repeat(10_000) };
  const { status, json } = await machine.ask('POST', '/notes', large);
  assert.equal(status, 503);
  assert.match(json.detail, /^The disk is full/);
  await machine.has('first');
}

test('a year: every command of the guide works, in order', { timeout: 180_000 }, async (t) => {
  // Before the hooks that remove the folders.
  t.after(async () => {
    for (const machine of [old, next]) await machine.run('systemctl stop notes-server nginx');
    await cluster?.stop();
  });
  const [root, newRoot] = [temporaryFolder(t), temporaryFolder(t)];
  const disk = smallDisk(t, 64);
  if (disk) symlinkSync(disk, join(root, 'var'));
  else sayNotTested(NO_MOUNT);
  const cluster = RQLITED ? await startNodes(1) : undefined;
  if (!cluster) sayNotTested('NOTES_TEST_RQLITED names no rqlited');
  const old = new Machine(root);
  const next = new Machine(newRoot);
  if (cluster) next.cluster = clusterAddress(cluster.nodes.map(({ url }) => url));
  const tarball = `notes-server-${VERSION}.tgz`;
  const packed = await fetch(`${registry.npm_config_registry}${tarball}`);
  writeFileSync(old.at(`root/${tarball}`), Buffer.from(await packed.arrayBuffer()));
  await old.run(fromDeployment(/^npm pack/).replace('npm pack', ''));
  old.write('/etc/systemd/system/notes-server.service', fromDeployment(/^\[Unit\]/));
  mkdirSync(old.at('var/lib/prometheus/node-exporter'), { recursive: true });
  old.addProgram('scp', `target=\${2#*:}; cp "$1" "${newRoot}\${target#${root}}"`);
  let machine = old;
  let printed = '';

  /** What happens before the first block with a text, in the order of the guide. */
  const between: Record<string, () => unknown> = {
    'nginx -t\n': () => configureProxies(old),
    'Copies the notes': () => old.run('/etc/letsencrypt/renewal-hooks/deploy/nginx'),
    'systemctl start notes-backup': async () => {
      await old.add('first');
      await old.run(`mkdir -p /var/backups/notes-server && touch -d '40 days ago' ${AGED}`);
    },
    'mkdir -m 700 /var/tmp/rehearsal': async () => {
      assert.ok(!existsSync(old.at(AGED)));
      await old.add('second');
    },
    '--force\n': () => assert.match(printed, /"items":\[\{"id":1,"title":"first"/),
    'journalctl -u': () => old.has('first'),
    promtool: () => rotateLog(old),
    [`--prefix /opt/notes-server-${NEXT}`]: async () => {
      const key = '/etc/prometheus/notes-key';
      assert.match(old.read(key), /^\S+\n$/);
      assert.equal((await old.ask('GET', '/metrics', undefined, key)).status, 200);
      await packNewVersion(old);
    },
    [`ln -sfn notes-server-${VERSION}`]: async () => {
      assert.equal((await old.run('notes-server --version')).split(/[ \n]/, 1)[0], NEXT);
      await old.add('with the next version');
    },
    'sed -n': () => old.has('first'),
    '--name agent-2': () => assert.equal(printed, '2999-12-31 name=agent \n'),
    'df -h': () => disk && fillDisk(old, disk),
    'disable --now': () => old.add('last'),
    '# On the new machine': async () => {
      machine = next;
      await next.run(`cd "$ROOT" && cp -r ${root}/etc . && ln -s ${root}/opt/* opt
        cp -P ${root}/usr/local/bin/* usr/local/bin
        sed -i 's|${root}|${newRoot}|g' etc/systemd/system/*.service`);
    },
    'rm /etc/systemd/system/notes-server.service.d/processes': () => next.has('first', 'last'),
    'import --db /var/lib': () => next.add('in the cluster'),
  };
  const due = Object.keys(between);
  const withoutNumbers = (text: string) => text.replace(/\d+/g, 'N');
  for (const { heading, file, code } of blocks) {
    if (heading === 'Month 12: a cluster' && !cluster) continue;
    if (due[0] !== undefined && code.includes(due[0])) await between[due.shift() ?? '']?.();
    if (file) machine.write(file, code);
    else if (code.startsWith('notes-server: '))
      assert.ok(withoutNumbers(old.read('journal')).includes(withoutNumbers(old.translate(code))));
    else printed = await machine.run(code);
  }
  assert.ok(existsSync(old.at('/var/lib/notes-server/notes.db.replaced-1')));
  const metrics = '/var/lib/prometheus/node-exporter/notes.prom';
  assert.match(old.read(metrics), /^\w+ \d+\n$/);
  // The exporter is another user.
  assert.equal(statSync(old.at(metrics)).mode & 0o777, 0o644);
  if (!cluster) return;
  assert.deepEqual(due, []);
  await next.has('first', 'last', 'in the cluster');
});
