// Data in a cluster of rqlite nodes. What opens and checks it is loaded when it is needed.
import { parseCluster } from './address.ts';
import type { Warn } from './history.ts';

/** Returns the cluster at an address; undefined if the text is none. */
export function clusterAt(text: string) {
  const address = parseCluster(text);
  if (!address) return undefined;
  const { level, ...nodes } = address;
  return {
    /** Only a service reads as the address says: to copy all, each read must be linearizable. */
    async open(use: 'serve' | 'import' | 'export', password: string | undefined, warn?: Warn) {
      const { openRqlite } = await import('./engine.ts');
      const parts = { toRead: use === 'export', ...(warn && { warn }) };
      return openRqlite({ ...nodes, password }, use === 'serve' ? level : 'linearizable', parts);
    },
    async check(password: string | undefined): Promise<string[]> {
      const { checkNodes } = await import('./check-nodes.ts');
      return checkNodes({ ...nodes, password });
    },
  };
}
