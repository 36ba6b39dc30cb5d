// A plugin for Swagger UI: a layout that begins with the operations, responses whose problems are
// collapsed, and names and roles for screen readers and keyboards.

import { wordsOf } from './description.js';

/** The plugin. Swagger UI calls it with its system, which contains its React. */
export function adjustments({ React }) {
  const { createElement, useEffect, useRef } = React;
  const nothing = () => () => null;
  const { requiresKey } = document.querySelector('#swagger-ui').dataset;

  /**
   * Replaces the layout of Swagger UI, which repeats the top of the page and offers a choice of one
   * server.
   */
  function OperationsLayout({ getComponent, specSelectors, layoutSelectors, layoutActions }) {
    const [Errors, Operations, Models, Markdown, KeyForm] = [
      ...['errors', 'operations', 'Models', 'Markdown', 'KeyForm'],
    ].map((name) => getComponent(name, true));
    // The text above the first heading is on the page already.
    const [, ...sections] = specSelectors.info().get('description').split(/^## /m);
    const rules = sections.map((section) => {
      const [heading, ...lines] = section.split('\n');
      return createElement(
        'details',
        { className: 'rules', key: heading },
        createElement('summary', null, heading),
        createElement(Markdown, { source: lines.join('\n') }),
      );
    });
    const phrase = layoutSelectors.currentFilter() || '';
    const groups = specSelectors.taggedOperations();
    const count = groups.reduce((sum, group) => sum + group.get('operations').size, 0);
    const all = specSelectors.operations().size;
    const { updateFilter } = layoutActions;
    return createElement(
      'div',
      { className: 'swagger-ui' },
      createElement(Errors),
      rules,
      requiresKey !== undefined && createElement(KeyForm),
      createElement(Groups, { names: specSelectors.operationsWithTags().keySeq(), updateFilter }),
      createElement(
        'div',
        { id: 'list', tabIndex: -1 },
        createElement(Filter, { phrase, count, all, updateFilter }),
        count > 0 && createElement(Operations),
      ),
      count > 0 && createElement(Models),
    );
  }

  function Filter({ phrase, count, all, updateFilter }) {
    const found =
      count === 0 ? 'No operation has all these words.' : `${count} of ${all} operations`;
    return createElement(
      'div',
      { className: 'field' },
      createElement(
        'label',
        null,
        'Filter operations',
        createElement('input', {
          type: 'search',
          placeholder: 'such as search, etag or /trash',
          value: phrase,
          onChange: ({ target }) => updateFilter(target.value),
        }),
      ),
      createElement('span', { className: 'soft', role: 'status' }, phrase && found),
    );
  }

  /** Keeps the operations that have each part of the phrase, from the beginning of a word. */
  function opsFilter(groups, phrase) {
    const parts = phrase.split(' ').map(wordsOf);
    const matches = (each) =>
      parts.every((part) => each.getIn(['operation', 'x-words']).includes(part));
    return groups
      .map((group) => group.update('operations', (all) => all.filter(matches)))
      .filter((group) => group.get('operations').size > 0);
  }

  /** Links to all groups; they end the filter, which may hide the group. */
  function Groups({ names, updateFilter }) {
    const onClick = () => updateFilter('');
    const items = names.map((name) =>
      createElement(
        'li',
        { key: name },
        createElement(
          'a',
          { href: `#operations-tag-${name}`, className: 'noZensmooth', onClick },
          name,
        ),
      ),
    );
    return createElement(
      'nav',
      { 'aria-label': 'Groups of operations' },
      createElement('ul', { className: 'groups' }, items),
    );
  }

  /** Names the button of each group after it; Swagger UI calls all "Collapse operation". */
  const withNamedButton = (OperationTag) => (props) => {
    const element = useRef(null);
    useEffect(() => {
      const button = element.current.querySelector('.expand-operation');
      const isOpen = button.getAttribute('aria-expanded') === 'true';
      button.title = `${isOpen ? 'Collapse' : 'Expand'} ${props.tag}`;
    });
    return createElement('div', { ref: element }, createElement(OperationTag, props));
  };

  const problemsOf = (response) =>
    response.get('content')?.size === 1
      ? (response.getIn(['content', 'application/problem+json', 'examples'])?.valueSeq().toJS() ??
        [])
      : [];

  /** Every operation can answer with many problems, so these are collapsed into one line. */
  const withProblemsFolded =
    (Responses, { getComponent }) =>
    (props) => {
      const Markdown = getComponent('Markdown', true);
      const isProblem = (response) => problemsOf(response).length > 0;
      const items = new Map();
      for (const response of props.responses.filter(isProblem).values()) {
        for (const { value, description = response.get('description') } of problemsOf(response)) {
          const { type, status, title } = value;
          const slug = type.slice(type.lastIndexOf('/') + 1);
          if (items.has(slug)) continue;
          const item = createElement(
            'li',
            { key: slug },
            createElement('a', { href: `problems/${slug}` }, `${status} ${title}`),
            createElement(Markdown, { source: description }),
          );
          items.set(slug, item);
        }
      }
      const nameRegion = (element) =>
        element
          ?.querySelector('table[role]')
          ?.setAttribute('aria-label', `Answers of ${props.method} ${props.path}`);
      return createElement(
        'div',
        { ref: nameRegion },
        createElement(Responses, { ...props, responses: props.responses.filterNot(isProblem) }),
        items.size > 0 &&
          createElement(
            'details',
            { className: 'problems' },
            createElement('summary', null, `${items.size} possible errors`),
            createElement('ul', null, [...items.values()]),
          ),
      );
    };

  /**
   * Replaces a list of one media type by its text, and reports the choice to Swagger UI as the list
   * would.
   */
  const withoutChoiceOfOne = (ContentType) => (props) => {
    const only = props.contentTypes?.size === 1 ? props.contentTypes.first() : undefined;
    useEffect(() => {
      if (only !== undefined && only !== props.value) props.onChange(only);
    });
    return only === undefined
      ? createElement(ContentType, props)
      : createElement('span', null, only);
  };

  const labelled = (ExamplesSelect) => (props) =>
    createElement(
      'label',
      { className: 'examples-label' },
      createElement(
        'span',
        { className: props.showLabels === false ? 'visually-hidden' : undefined },
        'Example',
      ),
      createElement(ExamplesSelect, { ...props, showLabels: false }),
    );

  /** Names the list of values of a parameter. A choice of several needs no "--" for none. */
  const namedSelect = (Select) => (props) => {
    const nameSelect = (element) => {
      const name = element?.closest('tr')?.dataset.paramName;
      if (name) element.querySelector('select').setAttribute('aria-label', name);
    };
    const allowEmptyValue = props.allowEmptyValue && !props.multiple;
    return createElement(
      'div',
      { ref: nameSelect },
      createElement(Select, { ...props, allowEmptyValue }),
    );
  };

  /** Shows examples of lines as lines; Swagger UI would show an array or a text in quotes. */
  function writeLines() {
    const { jsonSchema202012 } = this.fn;
    const { getJsonSampleSchema } = jsonSchema202012;
    jsonSchema202012.getJsonSampleSchema = (schema, config, type, example) => {
      const sample = getJsonSampleSchema(schema, config, type, example);
      if (type !== 'application/x-ndjson') return sample;
      const lines = [JSON.parse(sample)].flat();
      return lines
        .map((each) => (schema.type === 'string' ? each : JSON.stringify(each)))
        .join('\n');
    };
  }

  return {
    afterLoad: writeLines,
    components: { OperationsLayout },
    fn: { opsFilter },
    wrapComponents: {
      OperationTag: withNamedButton,
      responses: withProblemsFolded,
      contentType: withoutChoiceOfOne,
      ExamplesSelect: labelled,
      // The text of a button is its name, except for the minus sign beside an item of an array.
      Button: (Button) => (props) =>
        createElement(Button, {
          ...props,
          'aria-label': /item-remove/.test(props.className) ? 'Remove this item' : undefined,
        }),
      Select: namedSelect,
      TextArea: (TextArea) => (props) =>
        createElement(TextArea, { 'aria-label': 'Request body', ...props }),
      // Swagger UI wraps the lines of responses only; it recognises a response by this class.
      SyntaxHighlighter: (SyntaxHighlighter) => (props) =>
        createElement(
          'div',
          { className: 'highlight-code' },
          createElement(SyntaxHighlighter, props),
        ),
      // A link inside a button cannot be reached by keyboard or screen reader.
      DeepLink:
        () =>
        ({ text }) =>
          createElement('span', null, text),
      // Each operation would show a lock, a button that copies its path, and one that ends the
      // trying out.
      authorizeOperationBtn: nothing,
      CopyToClipboardBtn: nothing,
      TryItOutButton: nothing,
    },
  };
}
