// The files of the guide to a year: the programs that read them accept them, where these are
// installed, and each alert fires. The endurance ring runs the commands of the guide.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { unknownVariables } from '../../src/cli/options.ts';
import { temporaryFolder } from '../support/engine.ts';
import { parseExposition } from '../support/exposition.ts';
import { startService } from '../support/service.ts';
import { skipLoudly } from '../support/skip.ts';
import { blocksIn, guide } from './documents.ts';

const files = blocksIn(guide('a-year'));

function fileAt(path: string): string {
  return files.find(({ file }) => file === path)?.code ?? assert.fail(`the guide has no ${path}`);
}

/** Runs a program in a new folder with these files, or says that it is not here. */
function accept(t: TestContext, written: Record<string, string>, command: string): void {
  const cwd = temporaryFolder(t);
  for (const [name, text] of Object.entries(written)) writeFileSync(join(cwd, name), text);
  const [program = '', ...args] = command.split(' ');
  const { error, status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  if (error) skipLoudly(t, `there is no ${program} here`);
  else assert.equal(status, 0, stdout + stderr);
}

test('a year: systemd accepts the units of the backup', (t) => {
  const [service = '', timer = ''] = ['service', 'timer'].map((kind) =>
    fileAt(`/etc/systemd/system/notes-backup.${kind}`),
  );
  const runnable = service.replace(/(?<=ExecStart=).*/, '/bin/true');
  const written = { 'notes-backup.service': runnable, 'notes-backup.timer': timer };
  accept(t, written, 'systemd-analyze verify ./notes-backup.timer');
});

test('a year: cron accepts the line for the backup', (t) => {
  // Only tables of users can be checked. They do not name a user.
  const line = fileAt('/etc/cron.d/notes-backup').replace(' root ', ' ');
  assert.match(line, /^(?:\S+ ){5}\/usr\/local\/sbin\/notes-backup$/m);
  accept(t, { table: line }, 'crontab -n table');
});

test('a year: the variables and the settings of the journal are known', (t) => {
  const dropIns = files.filter(({ file }) => file?.includes('.service.d/'));
  const names = dropIns.flatMap(({ code }) => code.match(/\bNOTES_\w+(?==)/g) ?? []);
  assert.ok(names.length > 6);
  assert.deepEqual(unknownVariables(Object.fromEntries(names.map((name) => [name, '1']))), []);
  const known = '/etc/systemd/journald.conf';
  if (!existsSync(known)) return skipLoudly(t, `there is no ${known} here`);
  for (const name of fileAt('/etc/systemd/journald.conf.d/notes.conf').match(/^\w+(?==)/gm) ?? [])
    assert.ok(readFileSync(known, 'utf8').includes(`#${name}=`), name);
});

const RULES = '/etc/prometheus/notes.rules.yml';

const JOB = '{job="notes-server"}';
const REQUESTS = 'http_server_request_duration_seconds_count';
const REFUSED = `${REQUESTS}{http_response_status_code="503",job="notes-server"}`;
const COMMITS = 'notes_batch_duration_seconds_bucket';
const PROBE = 'probe_ssl_earliest_cert_expiry{instance="https://notes.example.org/health"}';
const BACKUP = 'notes_backup_success_seconds';

/** What a sound service reports over two hours, a value each minute. */
const SOUND: Readonly<Record<string, string>> = {
  [`up${JOB}`]: '1x120',
  [`process_start_time_seconds${JOB}`]: '5x60 6x60',
  [`${REQUESTS}{http_response_status_code="200",job="notes-server"}`]: '0+6000x120',
  [REFUSED]: '0+6x120',
  // Another service, which reports the same metric.
  [`${REQUESTS}{http_response_status_code="503",job="other"}`]: '0+6000x120',
  'notes_tool_calls_total{problem="not-found"}': '0+6x120',
  [`${COMMITS}{batch="write",le="0.25"}`]: '0+60x120',
  [`${COMMITS}{batch="write",le="1"}`]: '0+60x120',
  [`${COMMITS}{batch="write",le="+Inf"}`]: '0+60x120',
  [`nodejs_eventloop_utilization_ratio${JOB}`]: '0.5x120',
  'notes_database_file_bytes{file="wal"}': '4000000x120',
  'notes_key_refusals_total{key="agent"}': '3x120',
  [BACKUP]: '0x120',
  'node_filesystem_avail_bytes{mountpoint="/"}': '40x120',
  'node_filesystem_size_bytes{mountpoint="/"}': '100x120',
  [PROBE]: '9000000x120',
};

/** What differs when an alert fires. */
const FIRING: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  NotesDown: { [`up${JOB}`]: '0x120' },
  NotesRestarts: { [`process_start_time_seconds${JOB}`]: '5+60x120' },
  NotesErrors: { [REFUSED]: '0+600x120' },
  NotesToolErrors: { 'notes_tool_calls_total{problem="service-unavailable"}': '0+6x120' },
  NotesSlowCommits: { [`${COMMITS}{batch="write",le="0.25"}`]: '0x120' },
  NotesBusy: { [`nodejs_eventloop_utilization_ratio${JOB}`]: '0.99x120' },
  NotesLogGrows: { 'notes_database_file_bytes{file="wal"}': '2000000000x120' },
  NotesKeyRefused: { 'notes_key_refusals_total{key="agent"}': '3+1x120' },
  NotesBackupOld: { [BACKUP]: '-200000x120' },
  NotesDiskFills: { 'node_filesystem_avail_bytes{mountpoint="/"}': '10x120' },
  NotesCertificateEnds: { [PROBE]: '86400x120' },
};

/** A test of promtool: exactly these alerts fire after two hours. */
function promtoolTest(series: Readonly<Record<string, string>>, alerts: readonly string[]) {
  const expr = 'count by (alertname) (ALERTS{alertstate="firing"})';
  const samples = alerts.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 }));
  return {
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [{ expr, eval_time: '2h', exp_samples: samples }],
  };
}

test('a year: each alert fires for its reason alone', (t) => {
  const rules = fileAt(RULES);
  const names = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  assert.deepEqual(names, Object.keys(FIRING));
  const { [BACKUP]: _, ...withoutBackup } = SOUND;
  const tests = [
    promtoolTest(SOUND, []),
    promtoolTest(withoutBackup, ['NotesBackupOld']),
    ...Object.entries(FIRING).map(([name, series]) =>
      promtoolTest({ ...SOUND, ...series }, [name]),
    ),
  ];
  // JSON is YAML.
  const cases = JSON.stringify({ rule_files: [basename(RULES)], evaluation_interval: '5m', tests });
  accept(t, { [basename(RULES)]: rules, cases }, 'promtool test rules cases');
});

test('a year: the service reports what the alerts read', async (t) => {
  const service = await startService(t);
  const families = parseExposition((await service.request('GET', '/metrics')).text);
  for (const series of Object.keys(SOUND)) {
    const [, name = '', label = ''] = /^(\w+)(?:\{(\w+))?/.exec(series) ?? [];
    if (/^(?:up$|node_|probe_|notes_backup_)/.test(name)) continue;
    const family = families.get(name.replace(/_(?:count|bucket)$/, ''));
    assert.ok(family, name);
    // Prometheus adds the job. Of keys, tools and requests there are no samples yet.
    const [sample] = family.samples;
    assert.ok(sample === undefined || ['', 'job', ...Object.keys(sample.labels)].includes(label));
  }
});
