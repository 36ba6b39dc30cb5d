// Real rqlite nodes whose disk is full for a while: such a node misses writes that the others carry
// out. The service answers nothing from it, and loses no acknowledged note.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { allItems } from '../support/collections.ts';
import { makeLeader, needsRqlited, startCluster } from '../support/rqlite-nodes.ts';
import { type Service, startService } from '../support/service.ts';
import { skipLoudly } from '../support/skip.ts';
import { fill, NO_MOUNT, smallDisk } from '../support/small-disk.ts';
import { assertSound, nodeFaults } from '../support/stored-data.ts';
import { until } from '../support/until.ts';

/** The parts of a node that can be full. All of its data, or the file of SQLite alone. */
const WAYS = {
  'data folder': {
    left: 100_000,
    // Its log may have become full before its data.
    mayMissNothing: true,
    partsOn: (disk: string) => ({ folder: join(disk, 'data') }),
  },
  'disk of -on-disk-path': {
    left: 0,
    mayMissNothing: false,
    partsOn: (disk: string) => ({ args: ['-on-disk-path', join(disk, 'db.sqlite')] }),
  },
} as const;

/** Enough for the log and the data of all notes, if nothing else is on the disk. */
const DISK_MIB = 64;

const BODY = 'b'.repeat(2_000);

/** Notes that were sent with a key, and the paths of those that were acknowledged. */
class Ledger {
  readonly paths = new Map<string, string>();
  #sent = 0;

  /** Sends `count` new notes to each service. */
  async write(services: readonly Service[], count: number): Promise<void> {
    await Promise.all(
      services.map(async (service) => {
        for (let place = 0; place < count; place += 1) await this.#send(service, this.#sent++);
      }),
    );
  }

  /** Sends all notes again that were not acknowledged, until they are. */
  async insist(service: Service): Promise<void> {
    for (let number = 0; number < this.#sent; number += 1)
      await until(() => this.paths.has(titleOf(number)) || this.#send(service, number));
  }

  async #send(service: Service, number: number): Promise<boolean> {
    const title = titleOf(number);
    const headers = { 'idempotency-key': `"note-${number}"` };
    const parts = { json: { title, body: BODY }, headers };
    const answer = await service.request('POST', '/notes', parts);
    if (answer.status === 201) this.paths.set(title, String(answer.headers.location));
    else assert.equal(answer.status, 503);
    return answer.status === 201;
  }

  /** Asserts that each acknowledged note is as it was, or cannot be read now. */
  async verify(service: Service): Promise<void> {
    for (const [title, path] of this.paths) {
      const { status, json } = await service.request('GET', path);
      if (status !== 503) assert.deepEqual([path, status, json.title], [path, 200, title]);
    }
  }

  /** Asserts that there are these notes and no others. */
  async verifyAll(service: Service): Promise<void> {
    const found = await allItems(service, '/notes');
    const paths = found.map(({ id, title }) => [title, `/notes/${id}`]);
    assert.deepEqual(Object.fromEntries(paths), Object.fromEntries(this.paths));
    assert.equal(found.length, this.paths.size);
  }
}

const titleOf = (number: number) => `note ${number}`;

async function fillAndFree(t: TestContext, way: keyof typeof WAYS, role: 'Leader' | 'Follower') {
  const { left, partsOn, mayMissNothing } = WAYS[way];
  const disk = smallDisk(t, DISK_MIB);
  if (!disk) return skipLoudly(t, NO_MOUNT);
  const partsOf = (place: number) => (place === 2 ? partsOn(disk) : {});
  const cluster = await startCluster(t, 3, { partsOf });
  const [first, second, third] = cluster.nodes;
  assert.ok(first && second && third);
  const { db } = cluster;
  const services = [await startService(t, { db }), await startService(t, { db })] as const;
  const [service] = services;
  const isAvailable = async () => (await service.request('GET', '/notes/1')).status === 200;
  const ledger = new Ledger();
  await makeLeader(cluster, role === 'Leader' ? third : first);
  await ledger.write(services, 30);
  const filled = fill(disk, left);
  await ledger.write(services, 30);
  rmSync(filled);
  await ledger.write(services, 30);
  const acknowledged = ledger.paths.size;

  await makeLeader(cluster, third);
  for (const each of services) await ledger.verify(each);
  await until(isAvailable);
  await ledger.insist(service);
  await ledger.verifyAll(service);
  const isNamed = service.log.some(({ level, fields }) => {
    return level === 'warn' && fields.node === third.url;
  });
  assert.ok(isNamed || mayMissNothing);
  // The services have let another node lead.
  if (isNamed) assert.notEqual(await cluster.nodeWhichIs('Leader'), third);
  t.diagnostic(`${acknowledged} notes acknowledged before; missed some: ${isNamed}`);

  const faults = await nodeFaults(db);
  assert.equal(faults.length > 0, isNamed);
  for (const line of faults) assert.ok(line.startsWith(third.url), line);
  await third.signal('SIGKILL');
  await third.joinAgain();
  await makeLeader(cluster, third);
  await until(isAvailable);
  const [found] = await Promise.all([nodeFaults(db), ledger.write(services, 10)]);
  assert.deepEqual(found, []);
  await ledger.verifyAll(service);
  await assertSound(db);
}

for (const way of Object.keys(WAYS) as (keyof typeof WAYS)[])
  for (const role of ['Follower', 'Leader'] as const)
    test(`full disks: the ${way} of the ${role}`, { skip: needsRqlited }, (t) =>
      fillAndFree(t, way, role),
    );

/** Asserts that a new service answers nothing wrong; resolves with the reason if it refuses. */
async function tryNewService(t: TestContext, db: string, ledger: Ledger): Promise<string> {
  const service = await startService(t, { db }).catch(String);
  if (typeof service === 'string') return service;
  await ledger.verify(service);
  return '';
}

test('full disks: two nodes have the snapshot of one that missed writes', {
  skip: needsRqlited,
}, async (t) => {
  const disk = smallDisk(t, DISK_MIB);
  if (!disk) return skipLoudly(t, NO_MOUNT);
  const snapshots = ['-raft-snap', '40', '-raft-snap-int', '1s'];
  const args = ['-on-disk-path', join(disk, 'db.sqlite'), ...snapshots];
  const partsOf = (place: number) => (place === 2 ? { args } : {});
  const cluster = await startCluster(t, 3, { partsOf });
  const [first, second, third] = cluster.nodes;
  assert.ok(first && second && third);
  const { db } = cluster;
  const service = await startService(t, { db });
  const ledger = new Ledger();
  await makeLeader(cluster, first);
  await ledger.write([service], 10);
  const filled = fill(disk);
  await ledger.write([service], 10);
  rmSync(filled);
  await ledger.write([service], 100);
  await ledger.insist(service);
  // Its snapshot must contain what it has missed.
  await until(async () => {
    const status = await (await fetch(`${third.url}/status`)).text();
    return Number(/"last_snapshot_index":(\d+)/.exec(status)?.[1]) > 60;
  });

  await first.signal('SIGKILL');
  await second.signal('SIGKILL');
  await second.joinAgain();
  await third.signal('SIGKILL');
  await third.restart();
  t.diagnostic(`without the sound node: ${await tryNewService(t, db, ledger)}`);
  await first.restart();
  t.diagnostic(`with the sound node: ${await tryNewService(t, db, ledger)}`);
  const faults = await nodeFaults(db);
  for (const { url } of [second, third])
    assert.ok(faults.some((line) => line.startsWith(`${url} has missed writes`)));
  assert.ok(!faults.some((line) => line.startsWith(first.url)), faults.join('\n'));

  for (const node of [second, third]) await node.signal('SIGKILL');
  for (const node of [third, second]) await node.joinAgain();
  await ledger.verifyAll(await startService(t, { db }));
  await assertSound(db);
});
