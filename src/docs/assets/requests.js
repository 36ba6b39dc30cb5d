// A plugin for Swagger UI: keeps the focus on Execute, shows and announces what came of it below,
// and shows the request as code.
import { copy } from './copy.js';
import { SAMPLES } from './samples.js';

const LINES = 'application/x-ndjson';
const KEY = 'header.idempotency-key';

/** The requests that may have been carried out, by path: their inputs, and the key that was sent. */
const uncertain = new Map();

/** The plugin. Swagger UI calls it with its system, which contains its React. */
export function requests({ React }) {
  const { createElement, Fragment, useEffect, useRef, useState } = React;
  const host = document.querySelector('#swagger-ui');

  /**
   * Execute, unless the answer may not end, and what came of it. Swagger UI disables Execute while a
   * request is running, which would drop the focus, and does not render it when it refuses a body.
   */
  function Execution({ Execute, ...props }) {
    const element = useRef(null);
    const wasRunning = useRef(false);
    useEffect(() => {
      if (wasRunning.current && !props.disabled) showAnswer(element.current.firstChild);
      wasRunning.current = props.disabled;
    }, [props.disabled]);
    const ignoreWhileRunning = (event) => props.disabled && event.stopPropagation();
    return createElement(
      'div',
      { className: 'execution', ref: element, onClickCapture: ignoreWhileRunning },
      mayNotEnd(props) || createElement(Execute, { ...props, disabled: false }),
      createElement('p', { className: 'execution-status', role: 'status' }, statusOf(props)),
    );
  }

  /** The last answer, unless it is none to the inputs as they are. */
  function Answer({ path, method, getComponent, ...props }) {
    const response = props.specSelectors.responseFor(path, method);
    if (!response?.get('status') || refusalOf({ path, method, ...props })) return null;
    const headers = response.get('headers').toJS();
    const lines = Object.entries(headers).map(
      ([name, all]) => `${name}: ${[all].flat().join(', ')}`,
    );
    const body = {
      content: response.get('text'),
      // Swagger UI would take lines of JSON for one faulty JSON text.
      contentType: headers['content-type']?.replace(LINES, 'text/plain'),
    };
    return createElement(
      'div',
      { className: 'answer' },
      body.content && createElement(getComponent('responseBody'), { ...body, getComponent }),
      createElement('h5', null, 'Response headers'),
      createElement('pre', null, lines.join('\n')),
    );
  }

  /** Swagger UI would show the answer in a table below the request. */
  const withAnswerFirst =
    (Responses, { getComponent }) =>
    (props) => {
      const { path, method } = props;
      return createElement(
        Fragment,
        null,
        createElement(getComponent('Answer', true), { path, method }),
        createElement(getComponent('Samples', true), { path, method }),
        createElement(Responses, { ...props, tryItOutResponse: undefined }),
      );
    };

  /** The button disappears when it is pressed, and would take the focus with it. */
  const returningFocus = (Clear) => (props) =>
    createElement(
      'div',
      { className: 'execution', onClick: ({ target }) => executeButtonOf(target)?.focus() },
      createElement(Clear, props),
    );

  function Samples(props) {
    const [preferred, choose] = useState('curl');
    const isCommand = mayNotEnd(props);
    const chosen = isCommand ? 'curl' : preferred;
    const [copied, setCopied] = useState('');
    const code = useRef(null);
    const text = SAMPLES[chosen](requestOf(props, host.dataset.requiresKey !== undefined));
    const buttons = Object.keys(SAMPLES).map((language) => {
      const onClick = () => {
        setCopied('');
        choose(language);
      };
      const attributes = { key: language, type: 'button', 'aria-pressed': language === chosen };
      return createElement('button', { ...attributes, className: 'btn', onClick }, language);
    });
    const onCopy = async () => {
      setCopied('');
      setCopied((await copy(code.current)) ? 'Copied.' : 'The code is selected.');
    };
    return createElement(
      'details',
      { className: 'samples', open: isCommand },
      createElement('summary', null, 'Code samples'),
      isCommand ||
        createElement(
          'div',
          { role: 'group', 'aria-label': 'Language', className: 'languages' },
          buttons,
        ),
      createElement('pre', null, createElement('code', { ref: code }, text)),
      createElement('button', { type: 'button', className: 'btn', onClick: onCopy }, 'Copy code'),
      createElement('span', { className: 'soft', role: 'status' }, copied),
    );
  }

  return {
    components: { Answer, Execution, Samples },
    wrapComponents: {
      execute: (Execute, system) => (props) =>
        createElement(system.getComponent('Execution', true), { ...props, Execute }),
      clear: returningFocus,
      responses: withAnswerFirst,
    },
    statePlugins: {
      spec: {
        wrapActions: { executeRequest: withKey, setResponse: forgetKey },
        wrapSelectors: {
          // Swagger UI would send an array without items as one with an empty item.
          parameterValues:
            (select) =>
            (_state, ...args) =>
              select(...args).map((value) =>
                (value?.size ?? value?.length) === 0 ? undefined : value,
              ),
        },
      },
    },
  };
}

const executeButtonOf = (element) => element.closest('.opblock').querySelector('.execute');

const takesKey = ({ path, method, specSelectors }) =>
  specSelectors
    .specResolvedSubtree(['paths', path, method, 'parameters'])
    ?.some((each) => `${each.get('in')}.${each.get('name')}` === KEY);

/** Sends a key of its own with each request that takes one, and the same one with a repetition. */
const withKey =
  (executeRequest, { specSelectors, oas3Selectors }) =>
  (request) => {
    const { pathName: path, method, parameters } = request;
    if (parameters[KEY] || !takesKey({ path, method, specSelectors }))
      return executeRequest(request);
    const inputs = JSON.stringify([parameters, oas3Selectors.requestBodyValue(path, method)]);
    const last = uncertain.get(path);
    const key = last?.inputs === inputs ? last.key : randomKey();
    uncertain.set(path, { inputs, key });
    return executeRequest({ ...request, parameters: { ...parameters, [KEY]: key } });
  };

const randomKey = () =>
  [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join('-');

const forgetKey = (setResponse) => (path, method, response) => {
  if ((response.err?.response ?? response).status < 500) uncertain.delete(path);
  return setResponse(path, method, response);
};

/** Says what is known about a request without an answer. */
function lossOf(props) {
  if (props.method === 'get') return 'The service could not be reached.';
  const loss = 'There was no answer. The request may have been carried out.';
  if (!takesKey(props)) return loss;
  return `${loss} It had an idempotency-key, which Execute sends again: it is carried out once.`;
}

/** Scrolls as much of the answer into view as the focused button allows. */
function showAnswer(button) {
  const answer = button.closest('.opblock').querySelector('.answer');
  answer?.scrollIntoView({ block: 'nearest' });
  if (button.getBoundingClientRect().top < 0) button.scrollIntoView();
}

/** Returns the media types of a success, the default first. */
function typesOf({ path, method, specSelectors }) {
  const responses = specSelectors.specResolvedSubtree(['paths', path, method, 'responses']);
  const success = responses?.find((_, status) => status.startsWith('2'));
  return success?.get('content')?.keySeq().toArray() ?? [];
}

/** Whether the answer may be a stream, take long or have all records. */
function mayNotEnd(props) {
  const { path, method, specSelectors, oas3Selectors } = props;
  return (
    oas3Selectors.responseContentType(path, method) === 'text/event-stream' ||
    specSelectors.parameterValues([path, method]).get('query.wait') > 0 ||
    typesOf(props)[0] === LINES
  );
}

/** Says why the inputs cannot be sent, if they cannot. */
function refusalOf({ path, method, specSelectors, oas3Selectors }) {
  const errors = specSelectors.validationErrors([path, method]);
  if (errors.length > 0)
    return `Not sent. ${errors.join(' ')}`
      .replaceAll(/For '(.*?)': (Value )?/g, '$1 ')
      .replaceAll('Required field is not provided', 'is required');
  const isEmpty = oas3Selectors.requestBodyErrors(path, method)?.size > 0;
  return isEmpty && 'Not sent. The request body is empty.';
}

function statusOf(props) {
  const { path, method, disabled, specSelectors } = props;
  if (disabled) return 'Sending the request.';
  if (mayNotEnd(props))
    return 'The answer may be large, or take long to end. Ask for it by this command:';
  const refusal = refusalOf(props);
  if (refusal) return refusal;
  const response = specSelectors.responseFor(path, method);
  if (!response) return '';
  const status = response.get('status');
  if (/[^\0-\xff]/.test(specSelectors.requestFor(path, method)?.get('headers')))
    return 'Not sent. A header may only have characters up to U+00FF.';
  if (!status)
    return `${lossOf(props)} Check that the service is running and that you are connected.`;
  const text = `${status} ${response.get('statusText') ?? ''}`.trim();
  const redirected = isRedirected({ path, method, specSelectors, response });
  const origin = redirected ? `, after a redirect to ${response.get('url')}` : '';
  const duration = response.get('duration');
  return `${text}${origin}${duration === undefined ? '' : `, ${duration} ms`}`;
}

function isRedirected({ path, method, specSelectors, response }) {
  const sent = specSelectors.requestFor(path, method)?.get('url');
  const answered = response.get('url');
  return Boolean(sent && answered) && new URL(sent).href !== new URL(answered).href;
}

/** Leaves slashes as they are: some proxies refuse others. */
const encodePath = (path) => path.split('/').map(encodeURIComponent).join('/');

/** Returns the request as the inputs of the operation are now. */
function requestOf(props, requiresKey) {
  const { path, method, specSelectors, oas3Selectors } = props;
  const spec = specSelectors.specJson();
  let target = path;
  const query = new URLSearchParams();
  const headers = {};
  const values = specSelectors.parameterValues([path, method]);
  const declared = specSelectors.specResolvedSubtree(['paths', path, method, 'parameters']) ?? [];
  for (const parameter of declared) {
    const [place, name] = [parameter.get('in'), parameter.get('name')];
    const value = values.get(`${place}.${name}`);
    const items = [value?.toJS?.() ?? value].flat().filter((each) => (each ?? '') !== '');
    if (items.length === 0) continue;
    const joined = items.join();
    if (place === 'header') headers[name] = joined;
    else if (place === 'path') target = target.replace(`{${name}}`, encodePath(joined));
    else if (parameter.get('explode') === false) query.append(name, joined);
    else for (const item of items) query.append(name, item);
  }
  const search = query.size > 0 ? `?${query}`.replaceAll('%2C', ',') : '';
  const body = oas3Selectors.requestBodyValue(path, method) || undefined;
  const accept = oas3Selectors.responseContentType(path, method);
  const isOpen = spec.getIn(['paths', path, method, 'security'])?.size === 0;
  return {
    method: method.toUpperCase(),
    url: `${spec.getIn(['servers', 0, 'url'])}${target}${search}`.replaceAll("'", '%27'),
    headers: {
      ...(requiresKey && !isOpen && { authorization: 'Bearer KEY' }),
      ...(accept && accept !== typesOf(props)[0] && { accept }),
      ...(body && { 'content-type': oas3Selectors.requestContentType(path, method) }),
      ...headers,
    },
    body,
  };
}
