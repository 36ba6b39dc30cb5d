// A plugin for Swagger UI: a layout that begins with the operations, responses whose problems are
// collapsed, and names and roles for screen readers and keyboards.

/** The plugin. Swagger UI calls it with its system, which contains its React. */
export function adjustments({ React }) {
  const { createElement, Fragment, useEffect, useRef } = React;
  const nothing = () => () => null;

  /**
   * Replaces the layout of Swagger UI, which repeats the top of the page and offers a choice of one
   * server.
   */
  function OperationsLayout({ getComponent, specSelectors }) {
    const [Errors, Operations, Models, Markdown, AuthorizeBtnContainer] = [
      ...['errors', 'operations', 'Models', 'Markdown', 'AuthorizeBtnContainer'],
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
    return createElement(
      'div',
      { className: 'swagger-ui' },
      createElement(Errors),
      rules,
      createElement(
        'div',
        { className: 'key' },
        createElement(
          'p',
          null,
          'Does this service ask for a key? Give it yours for the calls from this page.',
        ),
        createElement(AuthorizeBtnContainer),
      ),
      createElement(Groups, { tags: specSelectors.tags() }),
      createElement(Operations),
      createElement(Models),
    );
  }

  function Groups({ tags }) {
    const items = tags.map((tag) => {
      const name = tag.get('name');
      return createElement(
        'li',
        { key: name },
        createElement('a', { href: `#operations-tag-${name}`, className: 'noZensmooth' }, name),
      );
    });
    return createElement(
      'nav',
      { 'aria-label': 'Groups of operations' },
      createElement('ul', { className: 'groups' }, items),
    );
  }

  const problemOf = (response) =>
    response.get('content')?.size === 1 &&
    response.getIn(['content', 'application/problem+json', 'examples'])?.first();

  /** Problems are collapsed into one line. The default ones have their list on the page. */
  const withProblemsFolded =
    (Responses, { getComponent }) =>
    (props) => {
      const Markdown = getComponent('Markdown', true);
      const problems = props.responses.filter(problemOf);
      const items = problems.entrySeq().map(([status, response]) => {
        const { type, title } = problemOf(response).get('value').toJS();
        const slug = type.slice(type.lastIndexOf('/') + 1);
        const [href, name] =
          status === 'default'
            ? ['#problems', 'Other problems']
            : [`problems/${slug}`, `${status} ${title}`];
        return createElement(
          'li',
          { key: status },
          createElement('a', { href, className: 'noZensmooth' }, name),
          createElement(Markdown, { source: response.get('description') }),
        );
      });
      const nameRegion = (element) =>
        element
          ?.querySelector('table[role]')
          ?.setAttribute('aria-label', `Answers of ${props.method} ${props.path}`);
      return createElement(
        'div',
        { ref: nameRegion },
        createElement(Responses, { ...props, responses: props.responses.filterNot(problemOf) }),
        problems.size > 0 &&
          createElement(
            'details',
            { className: 'problems' },
            createElement('summary', null, 'Problems that can be the answer instead'),
            createElement('ul', null, items),
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
      : createElement('span', { className: 'only-content-type' }, only);
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

  const asDialog = (AuthorizationPopup) => (props) => {
    const dialog = useRef(null);
    // Read during rendering: Swagger UI has moved the focus by the time effects run.
    const opener = useRef(document.activeElement);
    useEffect(() => {
      dialog.current.querySelector('input')?.focus();
      return () => opener.current.focus();
    }, []);
    const stayInside = (event) => {
      const stops = [...dialog.current.querySelectorAll('button, input')];
      const [first, last] = event.shiftKey
        ? [stops.at(-1), stops.at(0)]
        : [stops.at(0), stops.at(-1)];
      if (event.key !== 'Tab' || document.activeElement !== last) return;
      event.preventDefault();
      first.focus();
    };
    return createElement(
      'div',
      {
        ref: dialog,
        role: 'dialog',
        'aria-modal': true,
        'aria-label': 'Available authorizations',
        onKeyDown: stayInside,
      },
      createElement(AuthorizationPopup, props),
    );
  };

  return {
    components: { OperationsLayout },
    wrapComponents: {
      responses: withProblemsFolded,
      contentType: withoutChoiceOfOne,
      ExamplesSelect: labelled,
      authorizationPopup: asDialog,
      CloseIcon: (CloseIcon) => (props) =>
        createElement(
          Fragment,
          null,
          createElement(CloseIcon, props),
          createElement('span', { className: 'visually-hidden' }, 'Close'),
        ),
      // The text of a button is its name.
      Button: (Button) => (props) => createElement(Button, { ...props, 'aria-label': undefined }),
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
