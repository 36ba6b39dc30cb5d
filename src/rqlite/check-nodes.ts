// The command `check` for a cluster: compares the data of the nodes with each other.
import { isDeepStrictEqual } from 'node:util';
import { isOnPage, LOWEST, pagesOf, type RowRange, relationsIn } from '../pages.ts';
import { columnsOf, keysOf, type Relation, typeOf } from '../resources/relation.ts';
import { differencesIn } from '../schema/differences.ts';
import { DatabaseUnusable, type Source } from '../storage/database.ts';
import { CHANGE_COLUMNS } from '../storage/numbers.ts';
import { storedSchema } from '../storage/schema/migrations.ts';
import { Batches, REMEDY, type Standing, type Standings } from './batches.ts';
import { Cluster, type ClusterAddress } from './cluster.ts';
import { readerOf, toStep } from './engine.ts';

const MAX_FAULTS = 25;

/** A node, whose own copy of the data is read. */
interface Node extends Source {
  readonly url: string;
  /** What is wrong with the node; empty if no fault is known. */
  readonly fault: string;
}

/** Resolves with a line for each fault. A node can only miss writes: those with most are right. */
export async function checkNodes(address: ClusterAddress): Promise<string[]> {
  using cluster = new Cluster(address);
  // Before the first batch, so that data of another version does not change.
  await storedSchema(readerOf(cluster));
  const standings = await standingsOf(cluster, cluster.nodes);
  const most = Math.max(1, ...standings.map((each) => each?.number ?? 0));
  const leading = standings.filter((each) => each?.number === most);
  const chain = majorityOf(leading.map((each) => each?.chain));
  const nodes = cluster.nodes.map((url, place): Node => {
    const fault = faultOf(standings[place], most, chain);
    return { url, fault, read: (statement) => cluster.ask(url, toStep(statement)) };
  });
  const faults = nodes.flatMap(({ url, fault }) => (fault ? [`${url} ${fault}`] : []));
  const present = nodes.filter((_, place) => standings[place]);
  const model = present.find(({ fault }) => !fault) ?? present[0];
  for (const { url, ...node } of present)
    for (const { isFault, text } of await differencesIn(node))
      if (isFault) faults.push(`${url}: ${text}`);
  for (const relation of model ? await relationsIn(model) : [])
    for await (const bounds of commonPages(present, relation)) {
      faults.push(...(await comparePage(cluster, present, relation, bounds)));
      if (faults.length >= MAX_FAULTS) return faults.slice(0, MAX_FAULTS);
    }
  return faults;
}

/** Returns what is wrong with a node, if those without faults have carried out `most` batches. */
function faultOf(standing: Standing | undefined, most: number, chain: number | undefined) {
  if (!standing) return 'does not answer, is far behind, or has no room';
  if (standing.number < most) return `has missed writes: ${REMEDY}`;
  return standing.chain === chain ? '' : 'has other writes than another node';
}

/** Adds an empty batch; resolves with the standings of nodes at it. */
async function standingsOf(cluster: Cluster, nodes: readonly string[]): Promise<Standings> {
  const batches = new Batches(cluster);
  const { id, error } = await batches.sendEmpty();
  if (error?.startsWith('no such table')) throw new DatabaseUnusable('it is empty');
  if (error !== undefined) throw new DatabaseUnusable(`its leader fails: ${error}`);
  return batches.standings(id, nodes, (found) => !found.includes(undefined));
}

/** Yields the bounds of pages that are small on every node, without the records added meanwhile. */
async function* commonPages(nodes: readonly Node[], relation: Relation) {
  const sql = `SELECT CAST(max(${keysOf(relation)[0]}) AS TEXT) AS last FROM ${relation.table}`;
  const [end] = (await Promise.all(nodes.map(({ read }) => read({ sql }))))
    .flatMap(([row]) => (row?.last == null ? [] : [BigInt(String(row.last))]))
    .sort((a, b) => (a > b ? -1 : 1));
  for (let after = LOWEST; end !== undefined && BigInt(after) < end; ) {
    const pages = await Promise.all(nodes.map((node) => pagesOf(node, relation, after).next()));
    const ends = pages.flatMap(({ value }) => (value ? [BigInt(value.bounds[1])] : []));
    if (ends.length === 0) return;
    const last = String(ends.reduce((least, each) => (each < least ? each : least)));
    yield [after, last] as const;
    after = last;
  }
}

/** Reads a page again when the nodes have caught up: what was written meanwhile is no fault. */
async function comparePage(
  cluster: Cluster,
  nodes: readonly Node[],
  relation: Relation,
  bounds: RowRange['bounds'],
): Promise<string[]> {
  const urls = nodes.map(({ url }) => url);
  const read = () => Promise.all(nodes.map((node) => recordsOn(node, relation, bounds)));
  const before = await read();
  if (before.every((records) => isDeepStrictEqual(records, before[0]))) return [];
  await standingsOf(cluster, urls);
  const now = await read();
  const keys = new Set(now.flatMap((records) => [...records.keys()]));
  return [...keys].flatMap((key) => {
    const versions = now.map((records) => records.get(key) ?? '');
    const isSettled = before.every((records, node) => (records.get(key) ?? '') === versions[node]);
    if (!isSettled || new Set(versions).size === 1) return [];
    // Without a majority of the sound nodes, nobody can tell which is right.
    const right = majorityOf(versions.filter((_, place) => !nodes[place]?.fault));
    const wrong = urls.filter((_, place) => versions[place] !== right);
    return wrong.map((url) => `${url} differs in ${typeOf(relation)} ${key}`);
  });
}

/** Resolves with the records on a page by their keys, as texts. */
async function recordsOn({ read }: Node, relation: Relation, bounds: RowRange['bounds']) {
  const changes = 'path' in relation ? CHANGE_COLUMNS : [];
  const sql = `
    SELECT ${keysOf(relation).join(` || ' ' || `)} || '' AS key,
      json_array(${[...columnsOf(relation), ...changes].join(', ')}) AS record
    FROM ${relation.table} WHERE ${isOnPage(relation)}`;
  const rows = await read({ sql, parameter: JSON.stringify(bounds) });
  return new Map(rows.map(({ key, record }) => [String(key), String(record)]));
}

function majorityOf<Value>(values: readonly Value[]): Value | undefined {
  return values.find((each) => 2 * values.filter((other) => other === each).length > values.length);
}
