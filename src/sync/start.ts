// Reads what the command line asks for, and starts runs.
import { lstatSync, readFileSync, realpathSync } from 'node:fs';
import { posix } from 'node:path';
import { createCall, listen } from './client.ts';
import type { Watched } from './folder.ts';
import { follow } from './follow.ts';
import { lock } from './lock.ts';
import { checkPlaces, clearPlaces, makePlaces, metaPath } from './places.ts';
import { createReport, type Output } from './report.ts';
import { runOnce } from './run.ts';
import { State } from './state.ts';

const FORGOTTEN =
  'is of another folder, or damaged: nothing is deleted, and where texts differ, both stay.';

/** What the command line says, and the key in the environment. */
export interface Input {
  readonly operands: readonly string[];
  readonly flags: Readonly<Record<string, unknown>>;
  readonly key: string | undefined;
}

/** Where the command writes to. */
export interface Streams extends Output {
  /** From the call on, a signal aborts the result instead of ending the process. */
  readonly stopOnSignal: () => AbortSignal;
}

/** Carries the command out; resolves with its status. Rejects if nothing was done. */
export async function startSync(input: Input, streams: Streams): Promise<number> {
  const { url, key, isDry, isFollowing, prefix, extensions, ...allowed } = optionsIn(input);
  const stop = streams.stopOnSignal();
  const client = { url, key, isPatient: isFollowing, warn: streams.warn, stop };
  const folder = { root: realpathSync.native(input.operands[0] ?? ''), prefix, extensions };
  const inode = inodeOf(folder.root);
  if (isDry) checkPlaces(folder);
  else makePlaces(folder);
  using held = isDry ? undefined : lock(metaPath(folder, 'lock'));
  const state = new State(metaPath(folder, 'state'), `${inode} ${prefix}`, !isDry);
  if (state.isOther) streams.warn(`${metaPath(folder, 'state')} ${FORGOTTEN}`);
  const report = createReport(streams);
  const call = createCall(client);
  const run = async (watched: Watched) => {
    // A folder that was moved away must not be made anew.
    if (inodeOf(folder.root) !== inode) throw new Error(`${folder.root} is another folder by now`);
    if (held) makePlaces(folder);
    held?.hold();
    if (held) clearPlaces(folder);
    if (state.isReplaced) {
      watched.listings.clear();
      state.load();
    }
    const parts = { isDry, call, state, report, stop, watched, again: new Set<number>() };
    return runOnce({ ...folder, ...allowed, ...parts });
  };
  if (!isFollowing) {
    await run({ listings: new Map(), watch() {} }).catch((error) => {
      if (stop.aborted) return;
      if (!report.hasDone()) throw error;
      report.left('the rest', error.message);
    });
    return stop.aborted || report.hasLeft() ? 1 : 0;
  }
  const at = (each: string) => posix.join(folder.root, each);
  const listenTo = (onChange: () => void) => listen(client, onChange);
  await follow({ at, run, listen: listenTo, warn: streams.warn, stop });
  return 0;
}

function inodeOf(root: string): bigint {
  return lstatSync(root, { bigint: true }).ino;
}

function optionsIn({ operands: [, address = ''], flags, key }: Input) {
  const isSet = (name: string) => flags[name] === true;
  const textOf = (name: string) => String(flags[name] ?? '');
  const file = textOf('key-file');
  const maxDelete = textOf('max-delete');
  const sent = file === '' ? key : readFileSync(file, 'utf8').trim();
  // An error of a request would quote it.
  if (sent !== undefined && !/^[!-~]+$/.test(sent))
    throw new Error('the key must be one word of visible ASCII characters, and nothing else');
  if (!/^https?:\/\/[^?#@]+$/i.test(address) || !URL.canParse(address))
    throw new Error('URL must be that of a service, such as http://127.0.0.1:3000');
  if (isSet('push') && isSet('pull')) throw new Error('--push and --pull exclude each other');
  if (!/^\d*$/.test(maxDelete)) throw new Error('--max-delete takes a whole number');
  const extensions = (textOf('ext') || 'md,markdown,txt').toLowerCase().split(',');
  const folder = textOf('folder').normalize().replace(/\/+$/, '');
  return {
    url: new URL(address).href.replace(/\/+$/, ''),
    key: sent,
    prefix: folder === '' ? '' : `${folder}/`,
    extensions: new Set(extensions.map((each) => each.trim().replace(/^\.?/, '.'))),
    writesHere: !isSet('push'),
    writesThere: !isSet('pull'),
    isDry: isSet('dry-run'),
    isFollowing: isSet('follow'),
    maxDeletions: maxDelete === '' ? undefined : Number(maxDelete),
  };
}
