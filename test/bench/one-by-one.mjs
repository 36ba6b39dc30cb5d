// Loaded before the service: a batch is never more than one call.
import { BATCH_LIMITS } from '../../dist/src/storage/backlog-limit.js';

BATCH_LIMITS.batchItems = 1;
