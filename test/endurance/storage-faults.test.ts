// Faults of the storage in full: every kind of fault at every call of the driver, and disks that are really full.
import { test } from 'node:test';
import { CASES, failEachCall } from '../service/storage/failing-calls.ts';

for (const kind of CASES) {
  test(`driver faults: ${kind.code} (${kind.manner}) at every call`, (t) => failEachCall(t, () => kind));
}
