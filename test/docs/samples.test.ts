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
  assert.equal(curl, `curl -X DELETE \\\n  '${url}'`);
  assert.ok(JavaScript?.includes("\n  method: 'DELETE',\n"));
  assert.ok(Python?.includes("\n    method='DELETE',\n"));
  assert.ok(!samplesOf({ method: 'POST', url, headers: {}, body: '{}' }).curl?.includes('POST'));
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
    assert.ok(curl?.includes(`  --data-raw ${shell} \\\n`), curl);
    assert.ok(JavaScript?.includes(`  body: ${script},\n`), JavaScript);
    assert.ok(Python?.includes(`    data=${python}.encode(),\n`), Python);
  }
});

test('code samples: headers are quoted in each language', () => {
  const headers = { 'if-match': `"it's"` };
  const { curl, JavaScript, Python } = samplesOf({ method: 'PATCH', url, headers, body: '{}' });
  assert.ok(curl?.includes(`-X PATCH \\\n  -H 'if-match: "it'\\''s"' \\\n`), curl);
  assert.ok(JavaScript?.includes(`  headers: { 'if-match': "\\"it's\\"" },\n`), JavaScript);
  assert.ok(Python?.includes(`    headers={'if-match': "\\"it's\\""},\n`), Python);
});
