// Writes a request as code: the first call on /docs, and every operation in the browser.

/** A request to the service. `url` contains no single quote, `body` is JSON or lines of JSON. */
export interface SampleRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** The functions that write a request as code, by the language. */
export const SAMPLES = { curl: writeCurl, JavaScript: writeJavaScript, Python: writePython };

/** Of a curl command that is written in one line. */
const MAX_COLUMNS = 120;

function writeCurl({ method, url, headers, body }: SampleRequest): string {
  const isImplied = method === (body === undefined ? 'GET' : 'POST');
  // curl reads what begins with @ from a file.
  const isJson = headers['content-type'] === 'application/json' && /^[^@]/.test(body ?? '');
  const own = Object.entries(headers).filter(([name]) => !isJson || name !== 'content-type');
  const options = [
    ...(headers.accept === 'text/event-stream' ? ['-N'] : []),
    ...(isImplied ? [] : [`-X ${method}`]),
    ...own.map(([name, value]) => `-H ${shellText(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`${isJson ? '--json' : '--data-raw'} ${shellText(body)}`]),
  ];
  const parts = [...options, `'${url}'`];
  const line = `curl ${parts.join(' ')}`;
  return line.length > MAX_COLUMNS || line.includes('\n') ? `curl ${parts.join(' \\\n  ')}` : line;
}

function shellText(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function writeJavaScript({ method, url, headers, body }: SampleRequest): string {
  const members = writeMembers(headers);
  const list = writeLines('  ', [
    method !== 'GET' && `method: '${method}'`,
    members !== '' && `headers: { ${members} }`,
    body !== undefined && `body: ${javaScriptBody(body)}`,
  ]);
  return `const response = await fetch('${url}'${list && `, {\n${list}}`});
console.log(response.status, await response.text());`;
}

function writePython({ method, url, headers, body }: SampleRequest): string {
  const members = writeMembers(headers);
  const list = writeLines('    ', [
    `'${url}'`,
    method !== 'GET' && `method='${method}'`,
    members !== '' && `headers={${members}}`,
    body !== undefined && `data=${pythonText(body)}.encode()`,
  ]);
  return `from urllib.request import Request, urlopen

request = Request(
${list})
with urlopen(request) as response:
    print(response.status, response.read().decode())`;
}

function writeLines(indent: string, parts: readonly (string | false)[]): string {
  return parts.map((part) => (part === false ? '' : `${indent}${part},\n`)).join('');
}

/** Returns headers in the syntax that objects in JavaScript and dictionaries in Python share. */
function writeMembers(headers: SampleRequest['headers']): string {
  const textOf = (value: string) => (/['\\]/.test(value) ? JSON.stringify(value) : `'${value}'`);
  return Object.entries(headers)
    .map(([name, value]) => `'${name}': ${textOf(value)}`)
    .join(', ');
}

/** Returns JSON as an object to stringify, and any other text as a string, raw if possible. */
function javaScriptBody(body: string): string {
  try {
    JSON.parse(body);
    // JSON has no line breaks inside strings.
    return `JSON.stringify(${body.replaceAll('\n', '\n  ')})`;
  } catch {
    return /[`\r]|\$\{|\\$/.test(body) ? JSON.stringify(body) : `String.raw\`${body}\``;
  }
}

/** Returns a string literal, raw if possible, so that the JSON stays readable. */
function pythonText(body: string): string {
  return /'''|\r|['\\]$/.test(body) ? JSON.stringify(body) : `r'''${body}'''`;
}
