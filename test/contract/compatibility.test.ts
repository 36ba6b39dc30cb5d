// Later contracts keep what released ones promised, as the guide to releasing says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contract } from '../support/contract.ts';
import { breaksOf } from '../support/contract-breaks.ts';
import { RELEASES } from '../support/released.ts';

// biome-ignore lint/suspicious/noExplicitAny: the build verifies its shape.
type Json = any;
type Edit = (contract: Json) => void;

for (const release of RELEASES)
  test(`compatibility: the contract keeps what that of ${release.version} promised`, () => {
    assert.deepEqual(breaksOf(release.contract, contract), []);
  });

const parametersOf = ({ components }: Json) => components.parameters;
const schemasOf = ({ components }: Json) => components.schemas;
const answerOf = ({ paths }: Json) => paths['/notes'].post.responses['201'];
const bodyOf = ({ components }: Json) => components.requestBodies.NoteCreateRequest;
const schemaIn = (contract: Json) => schemasOf(contract).NoteInput;
const OPEN = { type: 'object', properties: { a: { type: 'integer', maximum: 5 } } };

/** Changes that break a promise, each with what is found: that, and nothing else. */
const BREAKS: Readonly<Record<string, readonly [found: RegExp, edit: Edit]>> = {
  'a path': [/^\/trash is gone$/, ({ paths }) => delete paths['/trash']],
  'an operation': [/^DELETE \/trash is gone$/, ({ paths }) => delete paths['/trash'].delete],
  'the id of an operation': [
    /: its id is no longer createNote$/,
    ({ paths }) => {
      paths['/notes'].post.operationId = 'addNote';
    },
  ],
  'a requirement of keys': [
    /^GET \/livez: no longer admits \{\}$/,
    ({ paths }) => {
      paths['/livez'].get.security = [{ bearerKey: [] }];
    },
  ],

  'a parameter': [
    /no longer takes the query parameter folder$/,
    ({ paths, components }) => {
      for (const path of ['/notes', '/tags/{tag_id}/notes'])
        paths[path].get.parameters = paths[path].get.parameters.filter(
          ({ $ref }: Json) => nameAt(components, $ref) !== 'folder',
        );
    },
  ],
  'a new required parameter': [
    /^GET \/tags: requires the header parameter x-tenant$/,
    ({ paths }) => {
      const parameter = { name: 'x-tenant', in: 'header', required: true, schema: {} };
      paths['/tags'].get.parameters.push(parameter);
    },
  ],
  'a parameter that becomes required': [
    /requires the query parameter limit$/,
    (contract) => {
      parametersOf(contract).Limit.required = true;
    },
  ],
  'another default of a parameter': [
    /the query parameter limit has another default$/,
    (contract) => {
      schemasOf(contract).PageLimit.default = 50;
      parametersOf(contract).Limit.schema = { ...schemasOf(contract).PageLimit, default: 50 };
    },
  ],
  'a lower maximum of a parameter': [
    /the query parameter limit has a narrower maximum$/,
    (contract) => {
      const { Limit } = parametersOf(contract);
      Limit.schema = { allOf: [Limit.schema], maximum: 50 };
    },
  ],
  'another way to write a parameter': [
    /the query parameter tag_id is written in another way$/,
    (contract) => {
      const { TagIdFilter } = parametersOf(contract);
      TagIdFilter.explode = TagIdFilter.explode === false;
    },
  ],
  'a value of a parameter': [
    /the query parameter order \S* ?may not be "-id"$/,
    (contract) => {
      for (const name of ['Order', 'NoteOrder']) {
        const { schema } = parametersOf(contract)[name];
        schema.enum = schema.enum.filter((value: string) => value !== '-id');
      }
    },
  ],

  'a member of a request': [
    /has no tag_ids$/,
    (contract) => {
      delete schemaIn(contract).properties.tag_ids;
    },
  ],
  'a member of a request that becomes required': [
    /requires tags$/,
    (contract) => {
      schemaIn(contract).required.push('tags');
    },
  ],
  'a lower bound of a request': [
    /title has a narrower maxLength$/,
    (contract) => {
      schemasOf(contract).NoteTitle.maxLength = 400;
    },
  ],
  'a higher bound of a request': [
    /title has a narrower minLength$/,
    (contract) => {
      schemasOf(contract).NoteTitle.minLength = 2;
    },
  ],
  'a new bound of a request': [
    /\.tags has a narrower minItems$/,
    (contract) => {
      schemasOf(contract).TagNames.minItems = 1;
    },
  ],
  'fewer lines of a request': [
    /its application\/x-ndjson has a narrower maxItems$/,
    (contract) => {
      schemasOf(contract).NoteLines.maxItems = 100;
    },
  ],
  'fewer tags in a request': [
    /takes fewer tags$/,
    (contract) => {
      bodyOf(contract)['x-bounds'].tags = 500;
    },
  ],
  'another pattern of a request': [
    /title has another pattern$/,
    (contract) => {
      schemasOf(contract).NoteTitle.pattern = '^[a-z]*$';
    },
  ],
  'a type of a request': [
    /\.tags may not be null$/,
    (contract) => {
      schemaIn(contract).properties.tags = { ...schemasOf(contract).TagNames, type: 'array' };
    },
  ],
  'an enumeration in a request': [
    /title may not be any value$/,
    (contract) => {
      schemasOf(contract).NoteTitle.enum = ['a'];
    },
  ],
  'a media type of a request': [
    /no longer takes text\/markdown$/,
    (contract) => {
      delete bodyOf(contract).content['text/markdown'];
    },
  ],
  'members that were ignored': [
    /^POST \/mcp: its application\/json may have no other members$/,
    (contract) => {
      schemasOf(contract).McpMessage.additionalProperties = false;
    },
  ],
  'a rule for a member that was ignored': [
    /^POST \/mcp: its application\/json \.a (?:may not be|has a narrower)/,
    (contract) => {
      Object.assign(schemasOf(contract).McpMessage, OPEN);
    },
  ],
  'a body that becomes required': [
    /requires a body$/,
    (contract) => {
      contract.paths['/trash'].delete.requestBody = { required: true, content: {} };
    },
  ],

  'a status': [/: no longer answers with 412$/, ({ paths }) => deleteStatus(paths, '412')],
  'a media type of an answer': [
    /^POST \/notes: its 201 is never application\/x-ndjson$/,
    (contract) => {
      delete answerOf(contract).content['application/x-ndjson'];
    },
  ],
  'a header of an answer': [
    /^POST \/notes: its 201 has no header location$/,
    (contract) => {
      delete answerOf(contract).headers.location;
    },
  ],
  'a header of an answer that becomes optional': [
    /may have no header location$/,
    ({ components }) => {
      components.headers.Location.required = false;
    },
  ],
  'a member of an answer': [
    / has no total$/,
    (contract) => {
      const { properties } = schemasOf(contract).NoteList;
      delete properties.total;
    },
  ],
  'a member of an answer that becomes optional': [
    / may have no total$/,
    (contract) => {
      const { NoteList } = schemasOf(contract);
      NoteList.required = NoteList.required.filter((name: string) => name !== 'total');
    },
  ],
  'a further type of a member of an answer': [
    /\.total may be null$/,
    (contract) => {
      const { NoteList, Count } = schemasOf(contract);
      NoteList.properties.total = { ...Count, type: ['integer', 'null'] };
    },
  ],
  'another format of a member of an answer': [
    / \.type has another format$/,
    (contract) => {
      delete schemasOf(contract).Problem.properties.type.format;
    },
  ],
  'another kind of items of an answer': [
    / \.items \[\] (?:may be string|(?:may have|has) no \w+)$/,
    (contract) => {
      schemasOf(contract).NoteList.properties.items.items = { type: 'string' };
    },
  ],
  'a type of changes': [
    /(?:is never|may not be) "note\.tagged"$/,
    (contract) => {
      const { ChangeType } = schemasOf(contract);
      ChangeType.enum = ChangeType.enum.filter((type: string) => type !== 'note.tagged');
    },
  ],
  'the slug of a problem': [
    /^the problem precondition-failed is gone$/,
    ({ components }) => {
      const text = JSON.stringify(components.responses);
      components.responses = JSON.parse(text.replaceAll('/precondition-failed"', '/stale"'));
    },
  ],
  'a further kind of answer': [
    /its 422 application\/problem\+json .*may /,
    (contract) => {
      schemasOf(contract).Violation.required = [];
    },
  ],
};

/** Changes that a minor version may bring. */
const ADDITIONS: Readonly<Record<string, Edit>> = {
  'a path': ({ paths }) => {
    paths['/of-a-later-version'] = structuredClone(paths['/key']);
  },
  'an operation': ({ paths }) => {
    paths['/key'].post = structuredClone(paths['/key'].get);
  },
  'an optional parameter': ({ paths }) => {
    paths['/tags'].get.parameters.push({ name: 'color', in: 'query', schema: { enum: ['red'] } });
  },
  'an optional member': (contract) => {
    for (const name of ['NoteInput', 'NotePatch', 'NotePart'])
      schemasOf(contract)[name].properties.of_a_later_version = { type: 'boolean' };
  },
  'wider bounds of requests': (contract) => {
    schemasOf(contract).NoteTitle.maxLength = 1_000;
    schemasOf(contract).NoteTitle.minLength = 0;
    delete schemasOf(contract).NoteTitle.pattern;
    delete schemasOf(contract).NoteLines.maxItems;
  },
  'a value of a parameter': (contract) => {
    parametersOf(contract).NoteOrder.schema.enum.push('title');
  },
  'a type of changes': (contract) => {
    schemasOf(contract).ChangeType.enum.push('binder.created');
  },
  'a media type, a header and a status': (contract) => {
    bodyOf(contract).content['text/html'] = { schema: { type: 'string' } };
    answerOf(contract).content['text/html'] = { schema: { type: 'string' } };
    answerOf(contract).headers['x-cost'] = { schema: { type: 'integer' } };
    contract.paths['/notes'].post.responses['418'] = { description: 'Tea.' };
  },
  'other texts, examples and tools': (contract) => {
    contract.info.description = 'other';
    schemasOf(contract).NoteTitle.description = 'other';
    schemasOf(contract).NoteTitle.examples = ['other'];
    delete contract.paths['/notes'].post['x-tool'];
  },
  'a schema in place of a reference': (contract) => {
    const { NoteInput, NoteTitle } = schemasOf(contract);
    NoteInput.properties.title = { allOf: [{ type: 'string' }, NoteTitle] };
  },
};

function nameAt(components: Json, $ref: string): string {
  return components.parameters[$ref.split('/').at(-1) ?? '']?.name;
}

function deleteStatus(paths: Json, status: string): void {
  for (const item of Object.values(paths) as Json[])
    for (const { responses } of Object.values(item) as Json[]) delete responses?.[status];
}

function edited(edit: Edit): Json {
  const copy = structuredClone(contract);
  edit(copy);
  return copy;
}

for (const [what, [found, edit]] of Object.entries(BREAKS))
  test(`compatibility: a break: ${what}`, () => {
    const breaks = breaksOf(contract, edited(edit));
    assert.ok(breaks.length > 0);
    assert.deepEqual(
      breaks.filter((line) => !found.test(line)),
      [],
    );
  });

for (const [what, edit] of Object.entries(ADDITIONS))
  test(`compatibility: no break: ${what}`, () => {
    assert.deepEqual(breaksOf(contract, edited(edit)), []);
  });
