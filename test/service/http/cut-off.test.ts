// A write whose connection ends at any of its bytes stores nothing.
import { after, test } from 'node:test';
import { cutOff, ENDS, WRITES } from '../../support/cut-off.ts';
import { startService } from '../../support/service.ts';

const service = await startService({ after });

for (const [how, text] of Object.entries(WRITES)) {
  for (const [end, leave] of Object.entries(ENDS)) {
    test(`cut-off writes: a POST ${how}, ${end} at any byte`, () => cutOff(service, text, leave, 1));
  }
}
