// Preloaded into the service: limits every batch to one item.
import { BATCH_LIMITS } from '../../dist/src/storage/batches/backlog-limit.js';

BATCH_LIMITS.batchItems = 1;
