// Proves that the tests find faults: puts one deliberate fault after the other into a copy of the
// tree, builds it, and runs tests until one fails. Run it with
// `node test/endurance/faults.mjs [--only REGEX] [--ring first|endurance|all] [--jobs N]`, with
// --list or --check to see the faults or whether they still fit, and --confirm to repeat each
// failing file without its fault; --hinted leaves out the files that a fault does not name, and
// --tree DIR takes another tree.
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/**
 * The faults: in `file`, `from` occurs exactly once and is replaced by `to`. `tests` matches the
 * paths of the test files that most likely find it.
 */
// biome-ignore format: one fault takes as few lines as it can
const FAULTS = [
  { name: 'app: the database stays open after the stop', file: 'src/app.ts', tests: /command.*stop/,
    from: 'await this.#database?.close();', to: '' },
  { name: 'app: refusals of an overloaded database go out at once', file: 'src/app.ts',
    tests: /overload/, from: '{ heldBack: true }', to: '{ heldBack: false }' },
  { name: 'main: a second signal is taken for the first', file: 'src/main.ts',
    tests: /command.*stop/, from: 'process.removeAllListeners(each);',
    to: 'process.listeners(each);' },
  { name: 'options: a public address needs no keys', file: 'src/cli/options.ts', tests: /options/,
    from: '!hasKeys && !allowAnonymous', to: '!hasKeys && allowAnonymous' },
  { name: 'command line: a database is copied onto itself', file: 'src/cli/command-line.ts',
    tests: /options/, from: 'from === to || locations', to: 'locations' },
  { name: 'library: an empty key opens the service', file: 'src/library.ts',
    tests: /service.*library/, from: 'options.apiKeys.length !== apiKeys.length',
    to: 'options.apiKeys.length > apiKeys.length' },
  { name: 'log: dropped lines are not counted', file: 'src/log/log.ts', tests: /log-writing/,
    from: 'this.#dropped += 1;', to: '' },
  { name: 'log: a terminal obeys some control characters', file: 'src/log/pretty-line.ts',
    tests: /log-format/, from: '/\\p{Cc}/gu', to: '/[\\x00-\\x1f]/gu' },
  { name: 'health: a database that hangs is waited for', file: 'src/routes/health.ts',
    tests: /health/, from: 'ANSWER_MS = 1_000', to: 'ANSWER_MS = 10_000' },
  { name: 'health: a service that stops says that it is ready', file: 'src/routes/health.ts',
    tests: /health/, from: "['shutdown', !isStopping()]", to: "['shutdown', true]" },
  { name: 'metrics: active requests only rise', file: 'src/metrics/request-metrics.ts',
    tests: /metrics/, from: 'this.#active -= 1;', to: '' },
  { name: 'metrics: a process that died takes its counters along', file: 'src/processes/metrics-collector.ts',
    tests: /endurance.metrics/, from: 'if (!this.#last.delete(member) || !last)',
    to: 'if (this.#last.delete(member) || !last)' },
  { name: 'problems: a page is JSON unless HTML is preferred', file: 'src/routes/problems.ts',
    tests: /problem/, from: 'weights.json > weights.html',
    to: 'weights.json >= weights.html' },
  { name: 'docs: the way from the root leads to another host', file: 'src/routes/docs.ts',
    tests: /docs\.|base-url/, from: ".pathname.replace(/\\/$/, '')", to: '.pathname' },
  { name: 'guards: keys differ in no letter case', file: 'src/guards/keys.ts', tests: /keys/,
    from: "hash('sha256', key, 'buffer')", to: "hash('sha256', key.toLowerCase(), 'buffer')" },
  { name: 'guards: a wrong file of keys locks everybody out', file: 'src/guards/keys.ts',
    tests: /keys/, from: 'const listed = file ===',
    to: 'this.#digests = [];\n    const listed = file ===' },
  { name: 'guards: far too many clients are remembered', file: 'src/guards/rate-limit.ts',
    tests: /rate-limit/, from: 'MAX_CLIENTS = 65_536', to: 'MAX_CLIENTS = 65_536_000' },
  { name: 'guards: paths below open ones are open', file: 'src/guards/guard.ts', tests: /keys/,
    from: '(isSingle && OPEN.has(first))', to: 'OPEN.has(first)' },
  { name: 'records: a missing note is called a comment', file: 'src/routes/records.ts',
    tests: /comments/,
    from: 'const { owner, label } = this.#resource;\n' +
      '    return notFound(owner?.resource.label ?? label,',
    to: 'return notFound(this.#resource.label,' },
  { name: 'conditions: a weak tag permits a write', file: 'src/routes/preconditions.ts',
    tests: /conditions/, from: 'textsOf(match.filter(({ isWeak }) => !isWeak))',
    to: 'textsOf(match)' },
  { name: 'conditions: a write with if-none-match * is performed',
    file: 'src/routes/preconditions.ts', tests: /conditions/,
    from: "if (noneMatch === '*') return NEVER;", to: "if (noneMatch === '*') return NEVER && null;" },
  { name: 'conditions: a known state is 304 without a tag', file: 'src/routes/preconditions.ts',
    tests: /conditions/, from: '{ status: 304, headers: stateHeaders(tag) }',
    to: '{ status: 304 }' },
  { name: 'conditions: a DELETE ignores them', file: 'src/routes/records.ts', tests: /conditions/,
    from: 'ownerId, condition)) return', to: 'ownerId)) return' },
  { name: 'patch: an empty one ignores conditions', file: 'src/routes/records.ts', tests: /patch/,
    from: 'if (!satisfies(', to: 'if (!isEmpty && !satisfies(' },
  { name: 'bulk: blank lines count', file: 'src/http/body/formats.ts', tests: /bulk|body-format/,
    from: 'start = skipSpace(bytes, end);', to: 'start = end + 1;' },
  { name: 'bulk: lines are parsed at once', file: 'src/http/body/formats.ts', tests: /body-format/,
    from: 'await pause();', to: 'void pause;' },
  { name: 'bulk: 500 lines cost as much as one request', file: 'src/routes/records.ts',
    tests: /rate-limits/, from: 'if (charge > 0) await', to: 'if (charge > 500) await' },
  { name: 'guards: a large charge is never granted', file: 'src/guards/guard.ts',
    tests: /rate-limits/, from: 'Math.min(requests, this.#size - 1)', to: 'requests' },
  { name: 'http: the media type is checked before the declared size', file: 'src/http/dispatch.ts',
    tests: /malformed/,
    from: 'checkDeclaredLength(message, this.#options.bodyLimitBytes);',
    to: 'if (route.accepts) formatOf(message, route.accepts);\n' +
      '    checkDeclaredLength(message, this.#options.bodyLimitBytes);' },
  { name: 'http: an internal error is told to the client', file: 'src/http/dispatch.ts',
    tests: /\/log\./, from: "'Something unexpected happened.'", to: 'String(cause)' },
  { name: 'http: a handler never learns that its client has gone', file: 'src/http/exchange.ts',
    tests: /threads\./, from: 'response.writableEnded || controller.abort(clientGone())',
    to: 'response.writableEnded' },
  { name: 'http: large bodies and answers that were sent still count', file: 'src/http/body/byte-budget.ts',
    tests: /overload|slow-readers/, from: '() => this.#change(0)', to: '() => {}' },
  { name: 'http: the first who waits for memory is passed', file: 'src/http/body/byte-budget.ts',
    tests: /byte-budget/, from: '> this.#maxBytes) return;', to: '> this.#maxBytes) continue;' },
  { name: 'http: a write is refused after it was carried out', file: 'src/http/dispatch.ts',
    tests: /slow-readers/, from: '!isWrite(message) &&', to: '(isWrite(message) || true) &&' },
  { name: 'http: the memory of large pages is left to the collector', file: 'src/routes/lists.ts',
    tests: /large-pages/, from: 'discard(items)', to: "discard('')" },
  { name: 'http: each chunk of a body keeps its whole read', file: 'src/http/body/read.ts',
    tests: /memory-of-bodies/, from: 'MAX_CHUNKS = 256', to: 'MAX_CHUNKS = 16_777_216' },
  { name: 'http: the fraction of a number is taken for another', file: 'src/http/body/json.ts',
    tests: /json/, from: 'index = NUMBER.lastIndex;', to: '' },
  { name: 'http: members do not count as parts', file: 'src/http/body/json.ts', tests: /json/,
    from: "} else if (character === ':') {\n      parts += 1;", to: "} else if (character === ':') {" },
  { name: 'http: a string may end in the middle', file: 'src/http/body/json.ts', tests: /json/,
    from: 'backslashes % 2 === 0', to: 'backslashes === 0' },
  { name: 'http: a second host is let pass', file: 'src/http/request-checks.ts',
    tests: /raw.tables/, from: 'hosts > 1 || ', to: '' },
  { name: 'http: a flood behind a slow request is read', file: 'src/http/connections.ts',
    tests: /pipelining/, from: 'this.#waiting.has(socket) && socket.pause()',
    to: 'this.#waiting.has(socket)' },
  { name: 'http: headers may take as long as they like', file: 'src/http/server.ts',
    tests: /time-outs/, from: 'headersTimeout: limits.headersTimeoutMs,', to: '' },
  { name: 'contract: an id is rounded to another one', file: 'src/contract/parameters.ts',
    tests: /parameters/, from: 'Number.isSafeInteger(value) ? value : 0', to: 'value' },
  { name: 'storage: commits are not synced', file: 'src/storage/sqlite/pragmas.ts', tests: /sqlite/,
    from: 'PRAGMA synchronous = FULL', to: 'PRAGMA synchronous = NORMAL' },
  { name: 'storage: the log is not folded into the file', file: 'src/storage/sqlite/engine.ts',
    tests: /sqlite/, from: 'const all = [...readers, writer]',
    to: 'const all = [writer, ...readers]' },
  { name: 'storage: a transaction that stayed open is used on',
    file: 'src/storage/sqlite/transactions.ts', tests: /nth-failure|sqlite/,
    from: 'if (this.#mayBeOpen) await this.#rollBack();',
    to: 'if (this.#mayBeOpen) this.#mayBeOpen = false;' },
  { name: 'storage: writes go to a file that was deleted',
    file: 'src/storage/sqlite/open-files.ts', tests: /storage.*place/,
    from: 'if (isSameFile(stats, now))', to: 'if (isSameFile(stats, stats))' },
  { name: 'storage: an overwritten file is written', file: 'src/storage/sqlite/open-files.ts',
    tests: /replaced-file/, from: 'if (this.#isOverwritten)', to: 'if (this.#content?.size === -1)' },
  { name: 'storage: a log is applied to an overwritten file', file: 'src/storage/sqlite/engine.ts',
    tests: /replaced-file/, from: 'leftOpen.push(...all.splice(0, 1))', to: 'leftOpen.length = 0' },
  { name: 'storage: a checkpoint is taken for another program',
    file: 'src/storage/sqlite/open-files.ts', tests: /replaced-file/,
    from: 'this.#checkpoint === checkpoint', to: 'this.#checkpoint !== checkpoint' },
  { name: 'storage: the log of another file is applied', file: 'src/storage/sqlite/foreign-log.ts',
    tests: /replaced-file/, from: 'own === birthOf(log) && main', to: 'own === main && main' },
  { name: 'storage: a crashed database loses its log', file: 'src/storage/sqlite/foreign-log.ts',
    tests: /replaced-file/, from: 'recorded !== start.hash', to: 'recorded !== undefined' },
  { name: 'storage: items of a failed batch lose their order', file: 'src/storage/batches/batcher.ts',
    tests: /batcher/, from: 'this.#queue = [...batch, ...this.#queue]',
    to: 'this.#queue = [...this.#queue, ...batch]' },
  { name: 'storage: two writes to one record share a statement', file: 'src/storage/batches/writer.ts',
    tests: /writer|table/, from: ' || (key !== undefined && current.keys.has(key))', to: '' },
  { name: 'storage: a write ignores the tags that it excludes', file: 'src/storage/records/condition.ts',
    tests: /storage.table/, from: " NOT LIKE '!%'", to: ' IS NOT NULL' },
  { name: 'storage: two requests with one key share a statement', file: 'src/storage/records/table.ts',
    tests: /storage.table/, from: 'write(keyedCreation, once.key,',
    to: 'write(keyedCreation, undefined,' },
  { name: 'storage: too few keys are kept', file: 'src/storage/records/answered-keys.ts',
    tests: /storage.table/, from: 'KEPT_KEYS = 100_000', to: 'KEPT_KEYS = 99_999' },
  { name: 'storage: a clock set forward forgets keys', file: 'src/storage/records/answered-keys.ts',
    tests: /idempotency/, from: 'jumpMs < MIN_JUMP_MS', to: 'jumpMs > MIN_JUMP_MS' },
  { name: 'storage: the cluster gets other rows of a patch', file: 'src/storage/records/writes.ts',
    tests: /foretold/, from: 'recordSql(resource, columnSql)',
    to: 'recordSql(resource, (name) => columnSql(name) && table + "." + name)' },
  { name: 'storage: a known page is read', file: 'src/storage/lists/sql.ts', tests: /storage.table/,
    from: '}, NULL, ', to: '} AND FALSE, NULL, ' },
  { name: 'lists: a deep page without counts begins at a block', file: 'src/storage/lists/sql.ts',
    tests: /service.lists/, from: "position === 'offset' || !this.#source.blocks()",
    to: "position === 'offset'" },
  { name: 'lists: an empty page has a link below all keys', file: 'src/storage/lists/sql.ts',
    tests: /service.lists/, from: '- 1, 0), 0)', to: '- 1, -1), 0)' },
  { name: 'lists: a search by id has links to offsets', file: 'src/storage/lists/sql.ts',
    tests: /service.lists/, from: 'return isSearch ||', to: 'return isSearch !== isSearch ||' },
  { name: 'lists: a page before a key is in the reverse order', file: 'src/storage/lists/sql.ts',
    tests: /service.lists/, from: "=== 'before' ? ` ORDER", to: "=== 'after' ? ` ORDER" },
  { name: 'lists: one of several tags is enough', file: 'src/storage/lists/source.ts',
    tests: /service.lists/, from: 'isLinked, links > 1)', to: 'isLinked, links > 9)' },
  { name: 'storage: a deleted tag is untagged first', file: 'src/storage/schema/steps.ts',
    tests: /storage.table/, from: "WHERE id = old.note_id AND EXISTS",
    to: "WHERE id = old.note_id OR EXISTS" },
  { name: 'commands: a check overlooks an unfinished import', file: 'src/commands/check.ts',
    tests: /commands.check/, from: 'faults.unshift(describeUnfinished(unfinished));',
    to: 'describeUnfinished(unfinished);' },
  { name: 'commands: a damaged file is repaired', file: 'src/commands/repair.ts', tests: /repair/,
    from: 'if (fault !== undefined)', to: 'if (fault === "")' },
  { name: 'commands: a failed repair leaves half an index', file: 'src/commands/repair.ts',
    tests: /repair/, from: "await connection.execute('ROLLBACK')",
    to: "await connection.execute('COMMIT')" },
  { name: 'commands: a repair indexes no notes', file: 'src/commands/repair.ts', tests: /repair/,
    from: ', 0)`', to: ', NULL)`' },
  { name: 'commands: an import takes a float for an id', file: 'src/commands/export-format.ts',
    tests: /import/, from: "parseJson(line, 'it')",
    to: "line.includes('.0,') ? JSON.parse(String(line)) : parseJson(line, 'it')" },
  { name: 'commands: an import counts lines wrongly after blank ones',
    file: 'src/commands/export-reader.ts', tests: /import/,
    from: 'firstLine: this.#lineNumber - records.length',
    to: 'firstLine: this.#lineNumber - records.length - 1' },
  { name: 'commands: a check overlooks counts that are too large', file: 'src/commands/check.ts',
    tests: /commands.check/, from: 'HAVING sum(kept) <> sum(found)',
    to: 'HAVING sum(kept) < sum(found)' },
  { name: 'commands: a failed backup leaves its file behind', file: 'src/commands/whole-file.ts',
    tests: /backup/,
    from: 'if (await isAt(file, unfinished)) await rm(unfinished, { force: true });', to: '' },
  { name: 'commands: an old log stays beside the restored file', file: 'src/commands/restore.ts',
    tests: /restore/, from: 'of await logsOf(target))',
    to: 'of [] as string[])' },
  { name: 'commands: a copy skips pages that are there', file: 'src/commands/copy.ts',
    tests: /commands.copy/, from: 'if (wanted !== found) yield',
    to: "if (wanted !== found && found === '[]') yield" },
  { name: 'commands: an import gives ids a second time', file: 'src/commands/records.ts',
    tests: /commands.import/, from: 'Math.max(given[table] ?? 0, lastIds[table] ?? 0)',
    to: 'lastIds[table] ?? 0' },
  { name: 'storage: a write that was refused stays under way',
    file: 'src/storage/sqlite/connection.ts', tests: /sqlite/,
    from: 'if (error) statement.reset(() => reject(this.#translate(error)));',
    to: 'if (error) reject(this.#translate(error));' },
  { name: 'storage: two services cannot make one file together', file: 'src/storage/schema/migrations.ts',
    tests: /migrations/,
    from: 'if (now.version === version) throw error;',
    to: 'if (now.version >= 0) throw error;' },
  { name: 'rqlite: the rows of a batch are read from a stale node',
    file: 'src/storage/rqlite/engine.ts', tests: /rqlite/,
    from: 'parameter: batchId })', to: "parameter: batchId }, 'weak')" },
  { name: 'rqlite: a leader that is gone is asked again', file: 'src/storage/rqlite/cluster.ts',
    tests: /rqlite/, from: 'this.#leader = undefined;', to: '' },
  { name: 'concurrency: unlock wakes nobody', file: 'src/concurrency/sync.ts',
    tests: /concurrency.sync/,
    from: 'if (state === CONTENDED) Atomics.notify(cells, LOCK, 1);', to: '' },
  { name: 'concurrency: release overlooks the only sleeper', file: 'src/concurrency/sync.ts',
    tests: /concurrency.sync/, from: 'Atomics.load(cells, SLEEPERS) > 0',
    to: 'Atomics.load(cells, SLEEPERS) > 1' },
  { name: 'concurrency: a barrier opens before it is ready again', file: 'src/concurrency/sync.ts',
    tests: /concurrency.sync/,
    from: 'Atomics.store(cells, ARRIVED, 0);\n' +
      '      end(generation, (generation + 1) & MAX_GENERATION);',
    to: 'end(generation, (generation + 1) & MAX_GENERATION);\n' +
      '      Atomics.store(cells, ARRIVED, 0);' },
  { name: 'concurrency: a queue that times out keeps a permit', file: 'src/concurrency/sync.ts',
    tests: /concurrency.sync/, from: 'permits.release();\n', to: '' },
  { name: 'concurrency: one thread too many', file: 'src/concurrency/thread-pool.ts',
    tests: /thread-pool\./,
    from: 'this.#alive.size < this.#options.maxThreads',
    to: 'this.#alive.size <= this.#options.maxThreads' },
  { name: 'concurrency: small requests wait behind one that was refused',
    file: 'src/concurrency/thread-pool.ts', tests: /thread-pool\./,
    from: 'than this one.\n          this.#distribute();', to: 'than this one.' },
  { name: 'concurrency: threads stay after their job', file: 'src/concurrency/thread-pool.ts',
    tests: /thread-pool-(ends|idle)/,
    from: 'setImmediate(() => threads.forEach((thread) => void thread.dismiss()));', to: '' },
  { name: 'concurrency: the counter is read before the lock', file: 'src/concurrency/counter.ts',
    tests: /demonstrations/, from: 'mutex.lock();',
    to: 'const seen = counter[VALUE] ?? 0;\n      mutex.lock();\n      counter[VALUE] = seen;' },
  { name: 'concurrency: tasks count before they have a permit',
    file: 'src/concurrency/semaphore.ts', tests: /concurrency.semaphore/,
    from: 'semaphore.acquire();\n' +
      '      raise(progress, PEAK, Atomics.add(progress, RUNNING, 1) + 1);',
    to: 'raise(progress, PEAK, Atomics.add(progress, RUNNING, 1) + 1);\n' +
      '      semaphore.acquire();' },
  { name: 'concurrency: an idle thread that died is given away',
    file: 'src/concurrency/thread-pool.ts', tests: /thread-pool-(idle|ends)/,
    from: 'this.#alive.delete(thread);\n    this.#idle.delete(thread);',
    to: 'this.#alive.delete(thread);' },
  { name: 'concurrency: a surrogate pair counts twice', file: 'src/concurrency/event.ts',
    tests: /demonstrations/, from: '[...payload].length', to: 'payload.length' },
  { name: 'processes: calls wait for a process that has ended', file: 'src/processes/channel.ts',
    tests: /channel/,
    from: 'for (const { reject } of this.#callers.values()) reject(processEnded());', to: '' },
  { name: 'processes: a message that comes with the lease is lost',
    file: 'src/processes/write-lease.ts', tests: /lease/,
    from: 'this.#isWanted ||= othersWait;', to: 'this.#isWanted = othersWait;' },
  { name: 'processes: a connection hangs when its process dies', file: 'src/processes/child.ts',
    tests: /processes\.test/, from: 'closeHandedOver();', to: 'void closeHandedOver;' },
  { name: 'commands: a bar goes on after its end', file: 'src/commands/progress.ts',
    tests: /progress/, from: 'if (ended) return;', to: '' },
  { name: 'lists: the tag of a search does not name the changes in the index',
    file: 'src/storage/lists/sql.ts', tests: /storage.search-index/,
    from: 'if (!isSearch) return', to: 'if (!isSearch || isSearch) return' },
  { name: 'lists: a walk of notes with a tag delays quick reads', file: 'src/storage/lists/request.ts',
    tests: /storage.table/, from: "links > 1 || (links > 0 && order.endsWith('updated'))",
    to: "links > 1 || (links > 2 && order.endsWith('updated'))" },
  { name: 'lists: a page at a key never seems to have long records', file: 'src/storage/lists/pages.ts',
    tests: /storage.table/, from: 'items.length / Number(count)', to: 'items.length / 1e9' },
  { name: 'lists: an empty page at a key has no link back', file: 'src/storage/lists/sql.ts',
    tests: /storage.table|lists.links/, from: '- 1, 0), 0)`]', to: '- 1, 0), NULL)`]' },
  { name: 'lists: a note with one of two tags has both', file: 'src/storage/lists/source.ts',
    tests: /storage.table|lists/, from: 'WHERE NOT $', to: 'WHERE FALSE AND NOT $' },
  { name: 'links: an unknown tag is left out', file: 'src/storage/records/compound-writes.ts',
    tests: /tags-on-notes|storage.table/, from: 'isComplete: `NOT EXISTS (SELECT 1',
    to: 'isComplete: `EXISTS (SELECT 1 UNION ALL SELECT 1' },
  { name: 'links: writes with links share a statement', file: 'src/storage/records/table.ts',
    tests: /storage/, from: 'write(this.#linked.creation, ALONE,',
    to: 'write(this.#linked.creation, undefined,' },
  { name: 'search: a change in the middle of a step is lost', file: 'src/storage/index/steps.ts',
    tests: /storage.search-index/, from: 'number: isFull ? Number(row.taken_to) : end',
    to: 'number: end' },
  { name: 'search: a step that comes too late takes effect',
    file: 'src/storage/index/steps.ts', tests: /storage.search-index/,
    from: 'IS NOT NULL AND $', to: 'IS NOT NULL OR FALSE AND $' },
  { name: 'search: the index writes after its end', file: 'src/storage/index/search-index.ts',
    tests: /storage.search-index/, from: 'while (!this.#isClosing) {', to: 'while (true) {' },
  { name: 'search: a snippet begins at the first match that is seen', file: 'src/search/snippet.ts',
    tests: /search.snippet/, from: 'known >= first + longest', to: 'known >= first' },
  { name: 'search: a snippet lacks the matches of its next piece', file: 'src/search/snippet.ts',
    tests: /search.snippet/, from: 'folded.startOf(folded.length - longest) >= span.end', to: 'true' },
  { name: 'search: a mark in the next piece is passed over', file: 'src/search/folded-text.ts',
    tests: /search.snippet/, from: 'this.#length : this.#length - 1', to: 'this.#length : this.#length' },
  { name: 'search: all records share their snippets unequally', file: 'src/routes/snippets.ts',
    tests: /lists.snippets/, from: 'units / (lines.length - index)', to: 'units + 0 * index' },
  { name: 'search: a client with many slow reads goes first', file: 'src/storage/lists/slow-reads.ts',
    tests: /slow-lane/, from: 'last.turn + 1', to: 'last.turn' },
  { name: 'search: one client holds all places', file: 'src/storage/lists/slow-reads.ts',
    tests: /slow-lane/, from: 'places / 2', to: 'places' },
  { name: 'search: the estimate of the index is a constant', file: 'src/storage/index/search-index.ts',
    tests: /lists.search/, from: 'ms / 1_000', to: 'ms / 1e9' },
  { name: 'memory: texts outlive a change', file: 'src/storage/batches/fresh-memory.ts',
    tests: /fresh-memory|operation.memory/,
    from: 'if (this.#entries.size > 0) this.#entries = this.#createEntries();', to: '' },
  { name: 'memory: finds texts of another revision', file: 'src/storage/batches/fresh-memory.ts',
    tests: /fresh-memory/,
    from: 'this.check() !== undefined;', to: 'this.check() !== "";' },
  { name: 'memory: checks once and for all', file: 'src/storage/batches/fresh-memory.ts',
    tests: /fresh-memory/, from: 'this.#wasFresh = undefined;', to: '' },
  { name: 'memory: keeps what was read while others wrote', file: 'src/storage/batches/fresh-memory.ts',
    tests: /fresh-memory/, from: ' || this.check() !== revision) return;', to: ') return;' },
  { name: 'memory: keeps a page for the revision after it was read',
    file: 'src/storage/batches/fresh-memory.ts', tests: /fresh-memory/,
    from: 'this.keep(revision, VOLATILE', to: 'this.keep(revision && this.check(), VOLATILE' },
  { name: 'memory: keeps a record for the revision after it was read', file: 'src/storage/records/reads.ts',
    tests: /storage.never-stale/, from: 'memory.keep(revision, table, kept);',
    to: 'memory.keep(memory.check(), table, kept);' },
  { name: 'memory: is emptied by each transaction of its own', file: 'src/storage/batches/fresh-memory.ts',
    tests: /fresh-memory/, from: ' && !this.#isCommitting', to: ' && [true, this.#isCommitting][0]' },
  { name: 'memory: takes a write without an effect for a commit',
    file: 'src/storage/batches/fresh-memory.ts', tests: /fresh-memory|operation.memory/,
    from: 'if (changes.length === 0) return;', to: '' },
  { name: 'memory: takes a tag that was there for a commit', file: 'src/storage/records/links.ts',
    tests: /operation.memory/, from: '(hasChanged(before) ? [[table]] : [])',
    to: '(hasChanged(before) || true ? [[table]] : [])' },
  { name: 'memory: takes the commits of others for its own', file: 'src/storage/batches/fresh-memory.ts',
    tests: /fresh-memory|operation.memory/, from: 'if (!isNext ||',
    to: 'if (isNext === undefined ||' },
  { name: 'memory: goes on where commits do not show', file: 'src/storage/batches/fresh-memory.ts',
    tests: /fresh-memory/, from: 'if (after === before) this.#freshness = undefined;', to: '' },
  { name: 'memory: pages outlive a commit', file: 'src/storage/batches/fresh-memory.ts',
    tests: /fresh-memory|operation.memory/, from: 'this.#renew(VOLATILE);', to: '' },
  { name: 'memory: areas outlive their change', file: 'src/storage/batches/fresh-memory.ts',
    tests: /fresh-memory|operation.memory/, from: '        this.#renew(area);\n', to: '' },
  { name: 'memory: a record outlives its removal', file: 'src/storage/batches/fresh-memory.ts',
    tests: /fresh-memory|operation.memory/,
    from: 'else this.#entries.delete(name);', to: '' },
  { name: 'memory: a record outlives its replacement', file: 'src/storage/batches/fresh-memory.ts',
    tests: /fresh-memory|operation.memory/, from: 'if (now) this.#set(name, now);',
    to: 'if (now) continue;' },
  { name: 'memory: a note leaves its comments behind', file: 'src/storage/records/writes.ts',
    tests: /operation.memory/, from: 'Number(row?.[1])], ...owned]',
    to: 'Number(row?.[1])], ...owned.slice(9)]' },
  { name: 'memory: a comment is found under each note', file: 'src/storage/records/reads.ts',
    tests: /operation.memory/, from: '(!owned || known.text.startsWith(beginningOf(key)))',
    to: 'known.text.startsWith("{")' },
  { name: 'memory: pages of all queries are one', file: 'src/routes/lists.ts',
    tests: /service.lists/, from: '{call.query}`, load', to: '{call.query && path}`, load' },
  { name: 'memory: a database in memory never changes', file: 'src/storage/sqlite/engine.ts',
    tests: /operation.memory|memory-database/, from: 'revision += 1;', to: 'revision += 0;' },
  { name: 'memory: two commits are one step', file: 'src/storage/sqlite/wal-index.ts',
    tests: /wal-index|operation.memory/,
    from: 'changesIn(after) === (changesIn(before) + 1) % 2 ** 32',
    to: 'changesIn(after) !== changesIn(before)' },
  { name: 'memory: the count of commits never starts again',
    file: 'src/storage/sqlite/wal-index.ts', tests: /wal-index/, from: ' % 2 ** 32', to: '' },
  { name: 'memory: a recovery repeats revisions', file: 'src/storage/sqlite/wal-index.ts',
    tests: /wal-index/, from: 'HEADER_BYTES = 48', to: 'HEADER_BYTES = 16' },
  { name: 'memory: half a header is a revision', file: 'src/storage/sqlite/wal-index.ts',
    tests: /wal-index/, from: 'read === HEADER_BYTES ?', to: 'read > 0 ?' },
  { name: 'memory: counts checkpoints', file: 'src/storage/sqlite/wal-index.ts',
    tests: /wal-index/, from: 'CHANGES_AT = 8', to: 'CHANGES_AT = 16' },
  { name: 'memory: texts do not count', file: 'src/storage/batches/fresh-memory.ts',
    tests: /fresh-memory/, from: ' + characterBytes * text.length', to: ' + characterBytes' },
  { name: 'memory: a Japanese character takes one byte', file: 'src/storage/batches/fresh-memory.ts',
    tests: /fresh-memory/, from: 'isAscii(text) ? 1 : 2',
    to: 'isAscii(text) ? 1 : 1' },
  { name: 'memory: links between pages do not count', file: 'src/storage/batches/fresh-memory.ts',
    tests: /fresh-memory/, from: ' + JSON.stringify(rest).length',
    to: ' + 0 * JSON.stringify(rest).length' },
  { name: 'memory: a tag keeps the text of its batch', file: 'src/storage/records/reads.ts',
    tests: /memory-bound/, from: 'tag: detached(record.tag)', to: 'tag: record.tag' },
  { name: 'memory: each process takes the whole of it', file: 'src/app.ts',
    tests: /operation.memory/, from: '(cacheSizeMib * MIB) / processes', to: 'cacheSizeMib * MIB + 0 * processes' },
  { name: 'memory: --cache-size has no effect', file: 'src/app.ts',
    tests: /operation.memory/, from: 'cacheSizeMib * MIB', to: '64 * (cacheSizeMib > 0 ? MIB : MIB)' },
  { name: 'changes: a reload of keys leaves a page waiting', file: 'src/routes/changes.ts',
    tests: /http.streams/, from: 'if (this.#feed.term !== term) return',
    to: 'if (this.#feed.term === term + 2) return' },
  { name: 'bodies: one that is here already may exceed the limit', file: 'src/http/body/read.ts',
    tests: /bodies|http.body/, from: 'if (bytes.length > limitBytes) throw', to: 'if (bytes.length < 0) throw' },
  { name: 'streams: a client that does not read stays connected', file: 'src/http/stream.ts',
    tests: /endurance.streams/,
    from: 'if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();', to: '' },
  { name: 'streams: a chunk ends the connection if it is long', file: 'src/http/stream.ts',
    tests: /http.stream/, from: 'if (hasMore || bytes.length > MAX_UNREAD_BYTES)', to: 'if (hasMore)' },
  { name: 'streams: a request waits behind a stream', file: 'src/http/stream.ts',
    tests: /http.streams/, from: "socket?.once('pause'", to: "socket?.once('paused'" },
  { name: 'streams: comments come too late', file: 'src/routes/changes.ts',
    tests: /endurance.streams/, from: 'commentMs: 15_000', to: 'commentMs: 150_000' },
  { name: 'changes: the change at the cursor comes again', file: 'src/storage/changes/changes.ts',
    tests: /storage.changes\./, from: 'WHERE number > (SELECT', to: 'WHERE number >= (SELECT' },
  { name: 'changes: what a limit leaves out is skipped', file: 'src/storage/changes/changes.ts',
    tests: /storage.changes\./, from: 'const next = lastId === undefined ? last',
    to: 'const next = lastId === undefined || limit > 0 ? last' },
  { name: 'changes: a record that is too long holds up the others', file: 'src/storage/changes/changes.ts',
    tests: /storage.changes\./, from: 'WHERE before < $', to: 'WHERE before + size < $' },
  { name: 'changes: a cursor of another generation is valid', file: 'src/storage/changes/changes.ts',
    tests: /storage.changes\./, from: `generation = ?1 ->> '$[0]' AND`, to: '' },
  { name: 'changes: a stream gets what another got before', file: 'src/storage/changes/feed.ts',
    tests: /storage.changes\./, from: 'this.#readInRound.clear();', to: '' },
  { name: 'changes: a write just before the wait wakes nobody', file: 'src/storage/changes/feed.ts',
    tests: /storage.changes\./, from: 'if (round !== this.round || ',
    to: 'if (round < 0 || ' },
  { name: 'changes: only the first write of others wakes anybody',
    file: 'src/storage/changes/feed.ts', tests: /storage.changes\./,
    from: 'this.#nextLook = undefined;', to: '' },
  { name: 'changes: the file is looked at for nobody', file: 'src/storage/changes/feed.ts',
    tests: /storage.changes\./, from: 'this.#waiting.size === 0', to: 'this.#waiting.size < 0' },
  { name: 'changes: a reconnection begins where the first connection did',
    file: 'src/routes/changes.ts', tests: /records.changes/,
    from: "headers['last-event-id'] ?? since", to: "since ?? headers['last-event-id']" },
  { name: 'changes: events for clients that prefer JSON', file: 'src/routes/changes.ts',
    tests: /records.changes/, from: 'weight >= (weights', to: 'weight + 1 >= (weights' },
  { name: 'changes: a stream outlives its key', file: 'src/routes/changes.ts',
    tests: /http.streams/, from: 'this.#feed.term !== term || ', to: 'term < 0 || ' },
  { name: 'changes: a stream skips what it does not read at once', file: 'src/routes/changes.ts',
    tests: /records.changes/, from: '{ ...request, after: next }',
    to: '{ ...request, after: { ...next, number: next.number + Number(hasMore) } }' },
  { name: 'changes: a stream never ends', file: 'src/http/stream.ts', tests: /http.streams/,
    from: 'response.end();', to: '' },
];

/** How long a test file may take that a fault names, and any other: one that hangs has found it. */
const HINTED_MS = 120_000;
const OTHER_MS = 600_000;
const BUILD_MS = 120_000;

/** How long to wait for what a command wrote before it ended. */
const LAST_OUTPUT_MS = 1_000;

const RINGS = {
  first: (path) => !path.includes('/endurance/'),
  endurance: (path) => path.includes('/endurance/'),
  all: () => true,
};

/** The copies that exist, and the process groups that run. */
const folders = new Set();
const groups = new Set();

const { values: options } = parseArgs({
  options: {
    tree: { type: 'string', default: fileURLToPath(new URL('../..', import.meta.url)) },
    ring: { type: 'string', default: 'all' },
    only: { type: 'string', default: '' },
    jobs: { type: 'string', default: '1' },
    list: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    hinted: { type: 'boolean', default: false },
    confirm: { type: 'boolean', default: false },
  },
});
const tree = resolve(options.tree);
const isInRing = RINGS[options.ring];
if (!isInRing) throw new Error(`--ring takes one of ${Object.keys(RINGS).join(', ')}`);
const wanted = FAULTS.filter(({ name }) => new RegExp(options.only).test(name));

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));
process.on('exit', cleanUp);

if (options.list) for (const { name, file } of wanted) console.log(`${name} (${file})`);
else if (options.check) check();
else await runAll();

/** Tells which faults no longer fit their files. */
function check() {
  const stale = wanted.filter((fault) => mutated(tree, fault) === undefined);
  for (const { name } of stale) console.log(`${'stale'.padEnd(16)}${name}`);
  console.log(`${wanted.length} faults, ${stale.length} of them stale`);
  if (stale.length > 0) process.exitCode = 1;
}

async function runAll() {
  const queue = [...wanted];
  const counts = {};
  await Promise.all(Array.from({ length: Number(options.jobs) }, work));
  const told = Object.entries(counts).map(([verdict, count]) => `${count} ${verdict}`);
  console.log(`${wanted.length} faults: ${told.join(', ')}`);
  const isFound = (verdict) => verdict === 'caught' || verdict === 'does not build';
  if (!Object.keys(counts).every(isFound)) process.exitCode = 1;

  /** Takes faults from the queue, one after the other, and tries them in a copy of its own. */
  async function work() {
    if (queue.length === 0) return;
    const copy = copyOfTree();
    for (let fault = queue.shift(); fault; fault = queue.shift()) {
      const since = performance.now();
      const { verdict, by = '' } = await tryFault(copy, fault);
      const seconds = Math.round((performance.now() - since) / 1_000);
      console.log(`${verdict.padEnd(16)}${fault.name}${by} (${seconds} s)`);
      counts[verdict] = (counts[verdict] ?? 0) + 1;
    }
    empty(dirname(copy));
    folders.delete(dirname(copy));
  }
}

/** Copies what git would, and links the packages. */
function copyOfTree() {
  const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { status, stdout } = spawnSync('git', ['-C', tree, ...listed], { maxBuffer: 2 ** 28 });
  if (status !== 0) throw new Error(`git cannot list the files of ${tree}`);
  const folder = fs.mkdtempSync(join(tmpdir(), 'notes-server-faults-'));
  folders.add(folder);
  // Some tests run as another user, who needs access too.
  fs.chmodSync(folder, 0o755);
  const copy = join(folder, 'tree');
  for (const path of stdout.toString().split('\0')) {
    const source = join(tree, path);
    // What was deleted and not committed is listed all the same.
    if (path === '' || !fs.existsSync(source)) continue;
    fs.mkdirSync(dirname(join(copy, path)), { recursive: true });
    fs.cpSync(source, join(copy, path), { verbatimSymlinks: true });
  }
  fs.symlinkSync(join(tree, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** The text of the file with the fault, undefined if the fault does not fit the file. */
function mutated(folder, { file, from, to }) {
  const path = join(folder, file);
  const parts = fs.existsSync(path) ? fs.readFileSync(path, 'utf8').split(from) : [];
  return parts.length === 2 ? parts.join(to) : undefined;
}

async function tryFault(copy, fault) {
  const text = mutated(copy, fault);
  if (text === undefined) return { verdict: 'stale' };
  const path = join(copy, fault.file);
  const original = fs.readFileSync(path);
  try {
    fs.writeFileSync(path, text);
    if (!(await build(copy))) return { verdict: 'does not build' };
    const failed = await firstFailure(copy, fault);
    if (!failed) return { verdict: 'NOT CAUGHT' };
    const by = `  by ${relative(join(copy, 'dist/test'), failed.file)}: ${failed.test}`;
    fs.writeFileSync(path, original);
    const isSure = !options.confirm || (await passes(copy, failed));
    return { verdict: isSure ? 'caught' : 'flaky', by };
  } finally {
    fs.writeFileSync(path, original);
  }
}

/** Whether the file passes without the fault. */
async function passes(copy, { file, limitMs }) {
  return (await build(copy)) && (await failureOf(copy, file, limitMs)) === undefined;
}

async function build(copy) {
  const { status } = await run(copy, 'npm', ['run', 'build'], BUILD_MS);
  return status === 0;
}

/** Runs the files that the fault names and then the others, up to the first that fails. */
async function firstFailure(copy, { tests }) {
  const root = join(copy, 'dist/test');
  const names = fs.readdirSync(root, { recursive: true }).map((name) => `/${name}`);
  const files = names.filter((name) => name.endsWith('.test.js') && isInRing(name)).sort();
  const hinted = files.filter((name) => tests.test(name));
  const others = options.hinted ? [] : files.filter((name) => !tests.test(name));
  for (const name of [...hinted, ...others]) {
    const limitMs = hinted.includes(name) ? HINTED_MS : OTHER_MS;
    const test = await failureOf(copy, join(root, name), limitMs);
    if (test !== undefined) return { file: join(root, name), test, limitMs };
  }
  return undefined;
}

/** Runs a test file until a test fails; returns its name, undefined if none did. */
async function failureOf(copy, file, limitMs) {
  const words = ['--test', '--test-concurrency=2', '--test-reporter=tap', file];
  const { status, output } = await run(copy, process.execPath, words, limitMs, /^ *not ok .*\n/m);
  if (status === 0) return undefined;
  const names = [...output.matchAll(/^ *not ok \d+ - (.*)$/gm)].map(([, name]) => name);
  if (names.length === 0 && status === null) return 'did not end in time';
  return names.find((name) => basename(name) !== basename(file)) ?? 'ended without a failed test';
}

/**
 * Runs a command in a process group of its own, until its output matches `enough`; the status is
 * null where that, or the time-out, ended it.
 */
async function run(copy, command, words, limitMs, enough = /$^/) {
  const temporary = join(dirname(copy), 'temporary');
  fs.mkdirSync(temporary, { recursive: true });
  fs.chmodSync(temporary, 0o1777);
  // A run of tests must not take itself for a part of the one that started it.
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env;
  const env = { ...inherited, TMPDIR: temporary };
  const stdio = ['ignore', 'pipe', 'ignore'];
  const child = spawn(command, words, { cwd: copy, env, detached: true, stdio });
  groups.add(child.pid);
  const timer = setTimeout(() => kill(-child.pid), limitMs);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
    if (enough.test(output)) kill(-child.pid);
  });
  const closed = new Promise((done) => child.once('close', done));
  const status = await new Promise((done) => child.once('exit', done).once('error', () => done(1)));
  clearTimeout(timer);
  kill(-child.pid);
  groups.delete(child.pid);
  // What outlives the command may hold its output open.
  await Promise.race([closed, delay(LAST_OUTPUT_MS)]);
  child.stdout.destroy();
  for (const id of leftIn(dirname(copy))) kill(id);
  empty(temporary);
  return { status, output };
}

/** The processes that work in the folder or were told of it, where the system shows them. */
function leftIn(folder) {
  if (!fs.existsSync('/proc/self')) return [];
  const ids = fs.readdirSync('/proc').map(Number);
  return ids.filter((id) => {
    if (Number.isNaN(id) || id === process.pid) return false;
    try {
      if (fs.readlinkSync(`/proc/${id}/cwd`).startsWith(folder)) return true;
      const told = (name) => fs.readFileSync(`/proc/${id}/${name}`, 'utf8');
      return ['cmdline', 'environ'].some((name) => told(name).includes(folder));
    } catch {
      return false;
    }
  });
}

function kill(id) {
  try {
    process.kill(id, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

/** Ends what runs in the folder, unmounts what is mounted there, and removes it. */
function empty(folder) {
  for (const id of leftIn(folder)) kill(id);
  const mounts = fs.existsSync('/proc/mounts') ? fs.readFileSync('/proc/mounts', 'utf8') : '';
  for (const [, place = ''] of mounts.split('\n').map((line) => line.split(' '))) {
    if (place.startsWith(folder)) spawnSync('umount', ['--lazy', place]);
  }
  try {
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    console.error(`${folder} stays: ${error.message}`);
  }
}

/** Leaves neither processes nor folders behind, however the program ends. */
function cleanUp() {
  for (const id of groups) kill(-id);
  for (const folder of folders) empty(folder);
}
