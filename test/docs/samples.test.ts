// Code samples: each is written so that it can be pasted, whatever the body contains. That they run
// is tested in test/endurance/browser-docs.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SAMPLES, type SampleRequest } from '../../src/docs/samples.ts';

const url = 'http://127.0.0.1:3000/notes/1';
const json = { 'content-type': 'application/json' };

/** Returns the samples of a request by their language. */
const samplesOf = (request: SampleRequest): Record<string, string> =>
  Object.fromEntries(Object.entries(SAMPLES).map(([name, write]) => [name, write(request)]));

test('code samples: a request without a body is short', () => {
  const { curl, JavaScript, Python } = samplesOf({ method: 'GET', url, headers: {} });
  assert.equal(curl, `curl '${url}'`);
  assert.ok(JavaScript?.startsWith(`const response = await fetch('${url}');\n`));
  assert.ok(Python?.includes(`request = Request(\n    '${url}',\n)\n`));
});

test('code samples: the method is named unless it is implied', () => {
  const { curl, JavaScript, Python } = samplesOf({ method: 'DELETE', url, headers: {} });
  assert.equal(curl, `curl -X DELETE '${url}'`);
  assert.ok(JavaScript?.includes("\n  method: 'DELETE',\n"));
  assert.ok(Python?.includes("\n    method='DELETE',\n"));
  assert.ok(!samplesOf({ method: 'POST', url, headers: {}, body: '{}' }).curl?.includes('POST'));
});

test('code samples: a long curl command has a line for each part', () => {
  const headers = { 'if-match': 'x'.repeat(100), 'content-type': 'text/plain' };
  const { curl } = samplesOf({ method: 'PUT', url, headers, body: 'a' });
  const parts = [
    '-X PUT',
    `-H 'if-match: ${headers['if-match']}'`,
    "-H 'content-type: text/plain'",
  ];
  assert.equal(curl, `curl ${[...parts, "--data-raw 'a'", `'${url}'`].join(' \\\n  ')}`);
  const { curl: lines } = samplesOf({ method: 'POST', url, headers: json, body: '{\n}' });
  assert.equal(lines, `curl --json '{\n}' \\\n  '${url}'`);
});

test('code samples: bodies are quoted in each language', () => {
  for (const [body, shell, script, python] of [
    [
      `{\n"a":"it's"}`,
      `'{\n"a":"it'\\''s"}'`,
      `JSON.stringify({\n  "a":"it's"})`,
      `r'''{\n"a":"it's"}'''`,
    ],
    [
      `{"a":"'''"}`,
      `'{"a":"'\\'''\\'''\\''"}'`,
      `JSON.stringify({"a":"'''"})`,
      `"{\\"a\\":\\"'''\\"}"`,
    ],
    ["it's '", `'it'\\''s '\\'''`, "String.raw`it's '`", `"it's '"`],
    [
      '{}\n{"a":"\\n"}',
      `'{}\n{"a":"\\n"}'`,
      'String.raw`{}\n{"a":"\\n"}`',
      `r'''{}\n{"a":"\\n"}'''`,
    ],
    ['`\n', "'`\n'", '"`\\n"', "r'''`\n'''"],
    ['\\', `'\\'`, '"\\\\"', '"\\\\"'],
    // Python would take the line break for another.
    ['@a\r', "'@a\r'", '"@a\\r"', '"@a\\r"'],
  ] as const) {
    const { curl, JavaScript, Python } = samplesOf({ method: 'PUT', url, headers: json, body });
    const option = body.startsWith('@') ? '--data-raw' : '--json';
    assert.ok(curl?.includes(` ${option} ${shell} `), curl);
    assert.equal(curl?.includes('content-type'), body.startsWith('@'));
    assert.ok(JavaScript?.includes(`  body: ${script},\n`), JavaScript);
    assert.ok(Python?.includes(`    data=${python}.encode(),\n`), Python);
  }
});

test('code samples: headers are quoted in each language', () => {
  const headers = { 'if-match': `"it's"` };
  const { curl, JavaScript, Python } = samplesOf({ method: 'PATCH', url, headers, body: '{}' });
  assert.ok(curl?.startsWith(`curl -X PATCH -H 'if-match: "it'\\''s"' --data-raw '{}' `), curl);
  assert.ok(JavaScript?.includes(`  headers: { 'if-match': "\\"it's\\"" },\n`), JavaScript);
  assert.ok(Python?.includes(`    headers={'if-match': "\\"it's\\""},\n`), Python);
});
