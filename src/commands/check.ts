// The command `check`: SQLite's integrity checks, and those of counters, last ids and numbers.
import { BLOCK_BITS } from '../list-extension.ts';
import { relationsIn, UNFINISHED_IMPORT } from '../pages.ts';
import { ifReachable } from '../records/text.ts';
import { type Relation, typeOf } from '../resources/relation.ts';
import type { Resource } from '../resources/resource.ts';
import { differencesIn } from '../schema/differences.ts';
import { orphansQueries } from '../schema/kept-rows.ts';
import { DatabaseUnavailable, DatabaseUnusable, type Source } from '../storage/database.ts';
import { CHANGES, LAST_NUMBER, lastIdSql } from '../storage/numbers.ts';
import { SCHEMA_VERSION, storedSchema } from '../storage/schema/migrations.ts';
import { RELATIONS } from '../storage/schema/steps.ts';
import { FileChanged, openToInspect } from './existing.ts';
import { INDEXES } from './indexes.ts';
import { kibibytesOf, type OnProgress } from './progress.ts';

const MAX_FAULTS = 25;

const GENERATION_QUERY = `
  SELECT 'notes_server_generation: there must be one generation of 8 hex digits'
  WHERE NOT (SELECT count(*) = 1 AND max(generation) GLOB '${'[0-9a-f]'.repeat(8)}'
    FROM notes_server_generation)`;

interface CheckOptions {
  readonly withWords?: boolean;
  readonly onProgress?: OnProgress;
  /** Called with what is not of the schema, but cannot affect the service. */
  readonly onHarmless?: (line: string) => void;
}

/** Resolves with a line for each fault of a database file; rejects if it is not one of ours. */
export function checkFile(path: string, options: CheckOptions = {}): Promise<string[]> {
  // If a service has begun to use the file, the second attempt is a reader beside it.
  return checkOnce(path, options).catch((error) => {
    if (error.cause instanceof FileChanged) return checkOnce(path, options);
    throw error;
  });
}

async function checkOnce(path: string, options: CheckOptions): Promise<string[]> {
  const { withWords = true, onProgress = () => {}, onHarmless = () => {} } = options;
  await using source = await openToInspect(path);
  try {
    // A check reads most pages once.
    await source.read({ sql: 'PRAGMA cache_size = -8192' });
    const size = await kibibytesOf(source);
    const onShare = (share: number) => onProgress(share * size, size);
    onShare(0);
    const schema = await storedSchema(source.read);
    const faults = schema.isUnfinished ? [UNFINISHED_IMPORT] : [];
    const differences = await differencesIn(source);
    faults.push(...differences.filter(({ isFault }) => isFault).map(({ text }) => text));
    // Above a limit of 1, SQLite may fail on unreadable data and report no fault.
    const damage = await findFaults(source, 'PRAGMA integrity_check(1)');
    faults.push(...damage);
    for (const sql of soundnessQueries(await relationsIn(source)))
      faults.push(...(await findFaults(source, sql)));
    // The next start may have the notes of an older version indexed again.
    if (withWords && damage.length === 0 && schema.version === SCHEMA_VERSION)
      faults.push(...(await findIndexFaults(source, onShare)));
    onShare(1);
    for (const { isFault, text } of differences) if (!isFault) onHarmless(text);
    return [...new Set(faults)];
  } catch (error) {
    const { message } = error as Error;
    throw new DatabaseUnusable(`cannot read the database ${path}: ${message}`, { cause: error });
  }
}

/** Resolves with the lines that a check of SQLite or of this program reports. */
export async function findFaults({ read }: Source, sql: string): Promise<string[]> {
  try {
    const rows = await read({ sql });
    const lines = rows.flatMap((row) => Object.values(row).join().split('\n'));
    // `ok` and `*** in database main ***` are no faults.
    return lines.filter((line) => line !== 'ok' && !line.startsWith('***'));
  } catch (error) {
    return reportError(error);
  }
}

async function findIndexFaults(source: Source, onShare: (share: number) => void) {
  // One snapshot, because the service may index meanwhile.
  await source.read({ sql: 'BEGIN' });
  const faults: string[] = [];
  for (const [place, index] of INDEXES.entries()) {
    const onPart = (share: number) => onShare((place + share) / INDEXES.length);
    faults.push(...(await index.findFaults(source, MAX_FAULTS, onPart).catch(reportError)));
  }
  return faults;
}

/** Returns the error as a fault, because a damaged file has many; but not if others use it. */
function reportError(error: unknown): string[] {
  if (error instanceof DatabaseUnavailable || error instanceof DatabaseUnusable) throw error;
  return [(error as Error).message];
}

/** Returns queries that return one row per fault, and none for a sound database. */
export function soundnessQueries(relations: readonly Relation[] = RELATIONS): string[] {
  const resources = relations.filter((each): each is Resource => 'path' in each);
  return [
    ...relations.flatMap(queriesForBlocks),
    GENERATION_QUERY,
    ...resources.flatMap(queriesForSequences),
    queryForUniqueness(resources),
    ...resources.map(queryForLog),
    ...relations.flatMap(orphansQueries),
  ].map((sql) => `${sql} LIMIT ${MAX_FAULTS}`);
}

/** Returns the tables that count rows by block and owner, and whether they have bounds of times. */
export function blockCountsOf(relation: Relation) {
  if ('references' in relation) {
    const { blocks: table, references } = relation;
    const [{ column: key }, owner] = references;
    return table ? [{ table, key, owner, hasBounds: false }] : [];
  }
  if ('columns' in relation) {
    const { blocks: table } = relation;
    return table ? [{ table, key: 'position', owner: undefined, hasBounds: false }] : [];
  }
  const { blocks, numberBlocks, owner } = relation;
  const byId = { table: blocks, key: 'id', owner, hasBounds: numberBlocks !== undefined };
  return numberBlocks ? [byId, { ...byId, table: numberBlocks, key: 'number' }] : [byId];
}

type BlockCounts = ReturnType<typeof blockCountsOf>[number];

/** Compares the counts by which lists find a page with the records themselves. */
function queriesForBlocks(relation: Relation): string[] {
  return blockCountsOf(relation).flatMap((counts) => [
    queryForCounts(relation, counts),
    ...(counts.hasBounds ? [queryForBounds(relation, counts)] : []),
  ]);
}

function queryForCounts(relation: Relation, { table, key, owner }: BlockCounts): string {
  const ownerId = owner?.column ?? '0';
  const ofOwner = owner ? ` of ${typeOf(owner.resource)} ` : '';
  return `
    SELECT format('${table}: block %d%s counts %d records, but there are %d',
      block, iif(owner, '${ofOwner}' || owner, ''), sum(kept), sum(found))
    FROM (SELECT ${ownerId} AS owner, block, count AS kept, 0 AS found FROM ${table}
          UNION ALL SELECT ${ownerId}, ${key} >> ${BLOCK_BITS}, 0, 1 FROM ${relation.table})
    GROUP BY owner, block HAVING sum(kept) <> sum(found)`;
}

function queryForBounds({ table: records }: Relation, { table, key }: BlockCounts): string {
  const areBeyond = ['created', 'updated'].map(
    (name) => `coalesce(${name}_from, ${name}_to) IS NOT NULL
      AND (${name}_at BETWEEN ${name}_from AND ${name}_to) IS NOT TRUE`,
  );
  return `
    SELECT format('${table}: the times of block %d do not bound those of its records', block)
    FROM ${table} JOIN ${records} ON block = ${key} >> ${BLOCK_BITS}
    WHERE ${areBeyond.join(' OR ')} GROUP BY block`;
}

function queriesForSequences({ table }: Resource): string[] {
  return [
    `SELECT format('${table}: record %d exceeds the last assigned id', max(id))
     FROM ${table} HAVING max(id) > ${lastIdSql(table)}`,
    `SELECT format('${table}: record %d has the number %d, which was never assigned', id, number)
     FROM ${table} WHERE number NOT BETWEEN 1 AND ${LAST_NUMBER}`,
  ];
}

/** Returns the query for numbers that several records have, although all share one sequence. */
export function queryForUniqueness(resources: readonly Resource[]): string {
  const numbers = resources.map(
    (each) => `SELECT number, '${typeOf(each)} ' || id AS record FROM ${each.table}`,
  );
  return `
    SELECT format('the number %d belongs to %d records, such as %s and %s',
      number, count(*), min(record), max(record))
    FROM (${numbers.join(' UNION ALL ')}) GROUP BY number HAVING count(*) > 1`;
}

function queryForLog(resource: Resource): string {
  const { table, owner } = resource;
  const type = typeOf(resource);
  // What comes back with its owner keeps its number.
  const wasRestored = owner
    ? ` AND (type <> '${type}.created' OR ${table}.number > logged.number)`
    : '';
  const isOther = `${table}.number <> logged.number${wasRestored}`;
  return `
    SELECT format('${table}: record %d has the number %d, but its last change in the log is %d, %s',
      ${table}.id, ${table}.number, logged.number, type)
    FROM (SELECT id, max(number) AS number, type FROM ${CHANGES}
          WHERE type IN ('${type}.created', '${type}.updated', '${type}.deleted')
          GROUP BY id) AS logged
    JOIN ${table} ON ${table}.id = logged.id
    WHERE (${isOther} OR type = '${type}.deleted')${ifReachable(resource)}`;
}
