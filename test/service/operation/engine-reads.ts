// How much a service has read from its engine, which shows what it has answered from memory.
import { parseExposition, sampleOf } from '../../support/exposition.ts';
import { request } from '../../support/http.ts';

/** Resolves with how many single records and pages all processes have read from the engine. */
export async function engineReads({ url }: { readonly url: string }): Promise<number> {
  const families = parseExposition((await request(url, 'GET', '/metrics')).text);
  const itemsOf = (batch: string) => sampleOf(families, 'notes_batch_items_sum', { batch });
  return itemsOf('read') + itemsOf('page');
}
