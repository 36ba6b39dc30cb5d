// The command `check` for a cluster: compares the data of the nodes with each other.
import { keysOf, type Relation, rowColumnsOf, typeOf } from '../resources/resource.ts';
import { RELATIONS } from '../resources/resources.ts';
import type { ParsedCluster } from '../storage/location.ts';
import { CHANGE_COLUMNS } from '../storage/numbers.ts';
import { openNodes, type StorageOptions } from '../storage/open.ts';
import { REMEDY } from '../storage/rqlite/history.ts';
import type { Node, Nodes } from '../storage/rqlite/nodes.ts';
import { isOnPage, LOWEST, type Page, pagesOf } from './pages.ts';

const MAX_FAULTS = 25;

/** How often a page is compared again while its records are being written. */
const MAX_ROUNDS = 10;

/** Resolves with a line for each fault. A node can only miss writes: those with most are right. */
export async function checkNodes(
  cluster: ParsedCluster,
  options: StorageOptions,
): Promise<string[]> {
  using nodes = await openNodes(cluster, options);
  const standings = await nodes.standings();
  const most = Math.max(...standings.map((each) => each?.number ?? 0));
  const chains = standings.flatMap((each) => (each?.number === most ? [each.chain] : []));
  const chain = mostCommon(chains);
  const faults = nodes.all.flatMap(({ url }, place) => {
    const standing = standings[place];
    if (!standing) return [`${url} does not answer, is far behind, or has no room`];
    if (standing.number < most) return [`${url} has missed writes: ${REMEDY}`];
    return standing.chain === chain ? [] : [`${url} has other writes than another node`];
  });
  const present = nodes.all.filter((_, place) => standings[place] !== undefined);
  const sound = new Set(nodes.all.filter((_, place) => standings[place]?.chain === chain));
  for (const relation of RELATIONS)
    for await (const bounds of commonPages(present, relation)) {
      faults.push(...(await comparePage(nodes, present, sound, relation, bounds)));
      if (faults.length >= MAX_FAULTS) return faults.slice(0, MAX_FAULTS);
    }
  return faults;
}

/** Yields the bounds of pages that are small on every node, without the records added meanwhile. */
async function* commonPages(
  nodes: readonly Node[],
  relation: Relation,
): AsyncGenerator<Page['bounds']> {
  const sql = `SELECT CAST(max(${keysOf(relation)[0]}) AS TEXT) AS last FROM ${relation.table}`;
  const [end] = (await Promise.all(nodes.map(({ read }) => read({ sql }))))
    .flatMap(([row]) => (row?.last == null ? [] : [BigInt(String(row.last))]))
    .sort((a, b) => (a > b ? -1 : 1));
  for (let after = LOWEST; end !== undefined && BigInt(after) < end; ) {
    const pages = await Promise.all(nodes.map((node) => pagesOf(node, relation, after).next()));
    const ends = pages.flatMap(({ value }) => (value ? [BigInt(value.bounds[1])] : []));
    if (ends.length === 0) return;
    const last = String(ends.reduce((least, each) => (each < least ? each : least)));
    yield [after, last];
    after = last;
  }
}

/** Compares a page until what differs has stayed the same while the nodes caught up. */
async function comparePage(
  nodes: Nodes,
  present: readonly Node[],
  sound: ReadonlySet<Node>,
  relation: Relation,
  bounds: Page['bounds'],
): Promise<string[]> {
  const isSound = (node: Node | undefined) => node !== undefined && sound.has(node);
  let before = new Map<string, string>();
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const records = await Promise.all(present.map((node) => recordsOn(node, relation, bounds)));
    const keys = new Set(records.flatMap((each) => [...each.keys()]));
    const now = new Map<string, string>();
    const faults: string[] = [];
    for (const key of keys) {
      const versions = records.map((each) => each.get(key));
      if (new Set(versions).size === 1) continue;
      now.set(key, JSON.stringify(versions));
      if (before.get(key) !== now.get(key)) continue;
      const right = mostCommon(versions.filter((_, place) => isSound(present[place])));
      const differing = present.filter((_, place) => versions[place] !== right);
      // Of two sound nodes, nobody can tell which is right.
      const isTie = 2 * differing.filter(isSound).length >= sound.size;
      for (const { url } of isTie ? present : differing)
        faults.push(`${url} differs in ${typeOf(relation)} ${key}`);
    }
    if (now.size === 0 || faults.length > 0) return faults;
    before = now;
    await nodes.standings(present);
  }
  return [];
}

/** Resolves with the records on a page by their keys, as texts. */
async function recordsOn({ read }: Node, relation: Relation, bounds: Page['bounds']) {
  const changes = 'references' in relation ? [] : CHANGE_COLUMNS;
  const sql = `
    SELECT ${keysOf(relation).join(` || ' ' || `)} || '' AS key,
      json_array(${[...rowColumnsOf(relation), ...changes].join(', ')}) AS record
    FROM ${relation.table} WHERE ${isOnPage(relation)}`;
  const rows = await read({ sql, parameter: JSON.stringify(bounds) });
  return new Map(rows.map(({ key, record }) => [String(key), String(record)]));
}

/** Returns what most of the values are. */
function mostCommon(values: readonly (string | undefined)[]): string | undefined {
  const count = (each: string | undefined) => values.filter((other) => other === each).length;
  return values.reduce((most, each) => (count(each) > count(most) ? each : most), undefined);
}
