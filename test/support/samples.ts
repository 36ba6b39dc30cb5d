// Valid requests as bytes, made from the examples of the contract.
import { at, contract, resolve } from './contract.ts';

/** Valid requests. Each character of a text is a byte. */
export interface Samples {
  readonly bare: readonly string[];
  readonly withBodies: readonly string[];
  readonly demonstrations: readonly string[];
}

interface Operation {
  readonly parameters?: readonly unknown[];
  readonly requestBody?: unknown;
  readonly tags?: readonly string[];
}

/** A name as it is, and with segments in the forms that clients send. */
const FORMS = ['{name}', '{name}/K\xc3\xbcche.md', '{name}%2FK%C3%BCche.md'];

const formsOf = (template: string) =>
  template.includes('{name}') ? FORMS.map((form) => template.replace('{name}', form)) : [template];

/** Returns requests for every operation of the contract, and HEAD and OPTIONS for every path. */
export function samplesOfContract(): Samples {
  const bare: string[] = [];
  const withBodies: string[] = [];
  const demonstrations: string[] = [];
  for (const [template, item] of Object.entries(contract.paths)) {
    // The client of raw bytes reads no chunks.
    if (template === '/export') continue;
    const place = `/paths/${template.replaceAll('/', '~1')}`;
    const paths = formsOf(template).map((form) => filled(form, `${place}/parameters`));
    bare.push(...paths.map((path) => sample('OPTIONS', path)));
    const operations = Object.entries(item as Record<string, Operation>).flatMap((each) =>
      each[0] === 'parameters' ? [] : paths.map((path) => [...each, path] as const),
    );
    for (const [method, operation, path] of operations) {
      const target = filled(path, `${place}/${method}/parameters`);
      const name = method.toUpperCase();
      if (operation.requestBody === undefined) {
        bare.push(sample(name, target));
        if (name === 'GET')
          bare.push(sample('HEAD', target), sample('GET', `${target}?limit=5&offset=1`));
      } else {
        const found = bodies(`${place}/${method}/requestBody`).flatMap((body) =>
          withBody(name, target, body),
        );
        (/\/(?:run|sync|increment)$/.test(template) ? demonstrations : withBodies).push(...found);
      }
    }
  }
  return { bare, withBodies, demonstrations };
}

function filled(template: string, pointer: string): string {
  const declared = Object.keys((at(pointer) ?? []) as object).map(
    (index) => at(resolve(`${pointer}/${index}`) ?? '') as { name: string; example?: unknown },
  );
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const parameter = declared.find((each) => each.name === name);
    return parameter ? String(parameter.example) : whole;
  });
}

function bodies(pointer: string): string[] {
  const examples = `${resolve(pointer)}/content/application~1json/examples`;
  return Object.keys(at(examples) as object).map((name) => {
    const { value } = at(resolve(`${examples}/${name}`) ?? '') as { value: unknown };
    return Buffer.from(JSON.stringify(value)).toString('latin1');
  });
}

function sample(method: string, target: string, headers = '', body = ''): string {
  return `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n${headers}\r\n${body}`;
}

function withBody(method: string, target: string, body: string): string[] {
  const type = 'Content-Type: application/json\r\n';
  const half = Math.floor(body.length / 2);
  const chunks = [body.slice(0, half), body.slice(half)].map(
    (part) => `${part.length.toString(16)}\r\n${part}\r\n`,
  );
  return [
    sample(method, target, `${type}Content-Length: ${body.length}\r\n`, body),
    sample(method, target, `${type}Transfer-Encoding: chunked\r\n`, `${chunks.join('')}0\r\n\r\n`),
  ];
}
