// A plugin for Swagger UI: keeps the focus on Execute, shows and announces what came of it, and
// shows the request as code.
import { copy } from './copy.js';
import { SAMPLES } from './samples.js';

/** The plugin. Swagger UI calls it with its system, which contains its React. */
export function requests({ React }) {
  const { createElement, useEffect, useRef, useState } = React;
  const host = document.querySelector('#swagger-ui');

  /** Swagger UI disables Execute while a request is running, which would drop the focus. */
  const withStatus = (Execute, system) => (props) => {
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
      createElement(Execute, { ...props, disabled: false }),
      createElement(system.getComponent('ExecutionStatus', true), props),
    );
  };

  /** Follows the state itself: Swagger UI does not rerender Execute when it refuses a body. */
  const ExecutionStatus = (props) =>
    createElement('p', { className: 'execution-status', role: 'status' }, statusOf(props));

  /** The button disappears when it is pressed, and would take the focus with it. */
  const returningFocus = (Clear) => (props) =>
    createElement(
      'div',
      { className: 'execution', onClick: ({ target }) => executeButtonOf(target).focus() },
      createElement(Clear, props),
    );

  function Samples(props) {
    const [chosen, choose] = useState(SAMPLES[0]);
    const [copied, setCopied] = useState('');
    const code = useRef(null);
    const text = chosen.write(requestOf(props, host.dataset.requiresKey !== undefined));
    const buttons = SAMPLES.map((sample) => {
      const isChosen = sample === chosen;
      const onClick = () => {
        setCopied('');
        choose(sample);
      };
      const attributes = { key: sample.language, type: 'button', 'aria-pressed': isChosen };
      return createElement('button', { ...attributes, className: 'btn', onClick }, sample.language);
    });
    const onCopy = async () => {
      setCopied('');
      setCopied((await copy(code.current)) ? 'Copied.' : 'The code is selected.');
    };
    return createElement(
      'details',
      { className: 'samples' },
      createElement('summary', null, 'Code samples'),
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
    components: { ExecutionStatus, Samples },
    wrapComponents: {
      execute: withStatus,
      clear: returningFocus,
      // The samples have this command too.
      curl: () => () => null,
    },
    statePlugins: {
      spec: {
        wrapSelectors: {
          // Swagger UI would send an array without items as one with an empty item.
          parameterValues:
            (select) =>
            (_state, ...args) =>
              select(...args).map((value) =>
                (value?.size ?? value?.length) === 0 ? undefined : value,
              ),
        },
        wrapActions: {
          // Swagger UI calls this when it refuses an input: the last answer is no answer to it.
          clearValidateParams:
            (clear, { specActions }) =>
            ([path, method]) => {
              specActions.clearResponse(path, method);
              return clear([path, method]);
            },
        },
      },
    },
  };
}

const executeButtonOf = (element) => element.closest('.opblock').querySelector('.execute');

/** Scrolls as much of the answer into view as the focused button allows. */
function showAnswer(button) {
  const answer = button.closest('.opblock').querySelector('.live-responses-table');
  answer?.scrollIntoView({ block: 'nearest' });
  if (button.getBoundingClientRect().top < 0) button.scrollIntoView();
}

function statusOf({ path, method, disabled, specSelectors, oas3Selectors }) {
  if (disabled) return 'Sending the request.';
  const errors = specSelectors.validationErrors([path, method]);
  if (errors.length > 0) return `Not sent. ${errors.join('. ')}`;
  if (oas3Selectors.requestBodyErrors(path, method)?.size > 0)
    return 'Not sent. The request body is empty.';
  const response = specSelectors.responseFor(path, method);
  if (!response) return '';
  const status = response.get('status');
  if (!status) return 'There was no response.';
  const text = `${status} ${response.get('statusText') ?? ''}`.trim();
  const redirected = isRedirected({ path, method, specSelectors, response });
  return redirected ? `${text}, after a redirect to ${response.get('url')}` : text;
}

function isRedirected({ path, method, specSelectors, response }) {
  const sent = specSelectors.requestFor(path, method)?.get('url');
  const answered = response.get('url');
  return Boolean(sent && answered) && new URL(sent).href !== new URL(answered).href;
}

/** Returns the request as the inputs of the operation are now. */
function requestOf({ path, method, specSelectors, oas3Selectors }, requiresKey) {
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
    else if (place === 'path') target = target.replace(`{${name}}`, encodeURIComponent(joined));
    else if (parameter.get('explode') === false) query.append(name, joined);
    else for (const item of items) query.append(name, item);
  }
  const search = query.size > 0 ? `?${query}`.replaceAll('%2C', ',') : '';
  const body = oas3Selectors.requestBodyValue(path, method) || undefined;
  const isOpen = spec.getIn(['paths', path, method, 'security'])?.size === 0;
  return {
    method: method.toUpperCase(),
    url: `${spec.getIn(['servers', 0, 'url'])}${target}${search}`.replaceAll("'", '%27'),
    headers: {
      ...(requiresKey && !isOpen && { authorization: 'Bearer KEY' }),
      ...(body && { 'content-type': oas3Selectors.requestContentType(path, method) }),
      ...headers,
    },
    body,
  };
}
