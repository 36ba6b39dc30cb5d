// The keys of requests that must not be carried out twice, however often they are sent.
import type { Feature } from '../feature.ts';
import { KeyClock } from './key-clock.ts';

/** The clock of the keys: they outlive a clock that is set forward. */
export function retries(): Feature {
  return { commits: new KeyClock() };
}
