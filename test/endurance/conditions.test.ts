// Entity tags and conditional requests on tags, as on the other records.
import { testConditions } from '../service/records/conditions-suite.ts';
import { COLLECTIONS } from '../support/collections.ts';

for (const each of COLLECTIONS) if (each.label === 'Tag') testConditions(each);
