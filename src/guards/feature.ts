// Who may do what: by keys, rate limits and origins; and what the key of a request allows.
import { endpoint } from '../contract/endpoint.ts';
import type { Feature } from '../feature.ts';
import type { Sender } from '../http/exchange.ts';
import { Problem } from '../http/problem.ts';
import { jsonReply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';
import { addressOf, clientNetwork } from './client-address.ts';
import { createGuard, type GuardOptions } from './guard.ts';
import type { KeyEntry, KeySource } from './key-file.ts';
import { loadKeys } from './keys.ts';
import { LocalRateLimiter } from './rate-limit.ts';

/** What the processes of a service share of keys and limits. */
export interface SharedGuards {
  /** The keys that were read for all processes; undefined if this process has to read them. */
  readonly keys?: readonly KeyEntry[] | undefined;
  readonly createLimiter?: GuardOptions['createLimiter'];
}

type Options = Omit<GuardOptions, 'keys' | 'baseUrl' | 'createLimiter'> & KeySource;

export type Guarded = Awaited<ReturnType<typeof guards>>;

/** The guards, and the description of a client's own key; rejects if the keys are unusable. */
export async function guards(
  options: Options,
  { keys: entries, createLimiter = (_, quota) => new LocalRateLimiter(quota) }: SharedGuards,
) {
  const { trustProxy } = options;
  const keys = await loadKeys(options, entries);
  return {
    requiresKey: keys !== undefined,
    routes: () => [ownKey()],
    guardAt: (baseUrl: string) => createGuard({ ...options, keys, baseUrl, createLimiter }),
    networkOf: (sender: Sender) => clientNetwork(sender, trustProxy),
    /** Returns what the log calls a client. */
    nameOf: (sender: Sender, key?: string) =>
      key === undefined ? addressOf(sender, trustProxy) : `key ${key}`,
    keyLabels: () => (keys?.entries ?? []).map(({ label }) => label),
    reloadKeys: async (given?: readonly KeyEntry[]) => (await keys?.reload(given)) ?? 0,
  } satisfies Feature & Record<string, unknown>;
}

function ownKey(): Route {
  return endpoint('GET', '/key', ({ call: { key } }) => {
    if (!key) throw new Problem('not-found', 'This service has no keys.');
    const { name, access, expiresAt } = key;
    const json = JSON.stringify({ name, access, expires_at: expiresAt });
    return jsonReply(200, json, ['cache-control', 'no-store']);
  });
}
