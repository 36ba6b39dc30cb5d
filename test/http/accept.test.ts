// Content negotiation: the weights of a field, and which media type a client prefers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseWeights, preferredType } from '../../src/http/accept.ts';

const weighed = (field: string | string[] | undefined) => Object.fromEntries(parseWeights(field));

test('weights: by name, from 0 to 1', () => {
  for (const [field, weights] of [
    ['gzip', { gzip: 1 }],
    ['GZip;Q=0.5', { gzip: 0.5 }],
    ['br, gzip,identity', { br: 1, gzip: 1, identity: 1 }],
    ['text/html, a/json;q=0.5, */*;q=0.001', { 'text/html': 1, 'a/json': 0.5, '*/*': 0.001 }],
    ['br;q=0,gzip ; q=0.0\t, deflate;q=1.000', { br: 0, gzip: 0, deflate: 1 }],
    ['text/html;level=1;q=0.4;x=2', { 'text/html': 0.4 }],
    ...[undefined, '', ' ', ',', ';q=1', ' , ;'].map((field) => [field, {}] as const),
    // An invalid weight counts as zero.
    ['br;q=x, gzip;q=, identity;q=0,5', { br: 0, gzip: 0, identity: 0, '5': 1 }],
  ] as const)
    assert.deepEqual(weighed(field), weights, field);
  assert.deepEqual(weighed(['br;q=0', 'gzip']), { br: 0, gzip: 1 }, 'several lines are one list');
});

const TEXTS = ['text/markdown', 'text/plain'];

/** What clients send when nobody has told them what to accept. */
const DEFAULT_ACCEPTS: Readonly<Record<string, string | undefined>> = {
  'fetch, curl, HTTPie, requests': '*/*',
  'Go, OkHttp, java.net.http': undefined,
  'HTTPie --json': 'application/json, */*;q=0.5',
  axios: 'application/json, text/plain, */*',
  HttpURLConnection: 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2',
  'RestTemplate for a text': 'text/plain, application/json, application/*+json, */*',
  'RestTemplate for an object': 'application/json, application/*+json',
  'Go, generated': 'application/json,application/problem+json',
  'Java, generated': 'application/json, text/markdown, text/plain, application/problem+json',
  Ktor: 'application/json, */*',
  ky: 'text/*',
  Firefox: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'Firefox 3': 'text/xml,application/xml,text/html;q=0.9,text/plain;q=0.8,image/png,*/*;q=0.5',
  Chromium:
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;' +
    'q=0.8,application/signed-exchange;v=b3;q=0.7',
  Safari: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  Lynx: 'text/html, text/plain, text/sgml, text/css, application/xhtml+xml, */*;q=0.01',
};

test('accept: JSON for what clients send by themselves', () => {
  for (const [client, accept] of Object.entries(DEFAULT_ACCEPTS))
    assert.equal(preferredType(accept, TEXTS), undefined, client);
});

test('accept: an exact type, by its weight and then its place', () => {
  for (const [accept, type] of [
    ['text/markdown', 'text/markdown'],
    ['TEXT/Plain ; charset=utf-8', 'text/plain'],
    ['text/plain, text/markdown', 'text/plain'],
    ['text/plain;q=0.8, text/markdown;q=0.9, application/json;q=0.1', 'text/markdown'],
    ['text/markdown, text/html, */*', 'text/markdown'],
    ['text/markdown;q=0.9, */*;q=0.8', 'text/markdown'],
    ['text/markdown, application/json', 'text/markdown'],
    ['text/plain, application/json', 'text/plain'],
    ['text/plain, application/json;q=0.9, */*;q=0.1', 'text/plain'],
    ['application/json, text/markdown', undefined],
    ['text/markdown;q=0.5, */*', undefined],
    ['text/markdown;q=0, text/plain;q=0.0', undefined],
    ['text/markdown;q=x', undefined],
    ['text/x-markdown', undefined],
    ['application/x-ndjson', undefined],
    ['', undefined],
  ] as const)
    assert.equal(preferredType(accept, TEXTS), type, accept);
});
