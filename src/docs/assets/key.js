// A plugin for Swagger UI: the form for keys, and the page beside its button, say what the entered
// key may do and when it expires.

/** The plugin. Swagger UI calls it with its system, which contains its React. */
export function keyState({ React }) {
  const { createElement, Fragment, useEffect, useState } = React;
  // One request for both places: a wrong key counts as a guess.
  let asked = {};
  const stateOf = (key) => {
    if (asked.key !== key) asked = { key, state: describe(key) };
    return asked.state;
  };

  function KeyState({ authSelectors }) {
    const authorized = authSelectors.authorized();
    const key = authorized.getIn(['bearer', 'value']) ?? authorized.getIn(['apiKey', 'value']);
    const [text, setText] = useState('');
    useEffect(() => {
      let isShown = true;
      setText('');
      if (key) stateOf(key).then((state) => isShown && setText(state));
      return () => {
        isShown = false;
      };
    }, [key]);
    return createElement('p', { className: 'key-state', role: 'status' }, text);
  }

  return {
    components: { KeyState },
    wrapComponents: {
      // There is one for each way to send the key. Basic is for programs that need a user name.
      auths: (Auths, system) => (props) =>
        !props.definitions.has('basic') &&
        createElement(
          Fragment,
          null,
          createElement(Auths, props),
          props.definitions.has('apiKey') && createElement(system.getComponent('KeyState', true)),
        ),
    },
  };
}

/** Asks the service; resolves with a sentence. */
async function describe(key) {
  try {
    const answer = await fetch('key', { headers: { authorization: `Bearer ${key}` } });
    const { name, access, expires_at: end, detail } = await answer.json();
    if (!answer.ok) return detail;
    const label = name === null ? 'This key' : `The key ${name}`;
    const rights = access === 'read' ? 'may only read' : 'may read and write';
    return `${label} ${rights}. It ${end === null ? 'never expires' : `expires at ${end}`}.`;
  } catch (error) {
    return `The service could not be asked about the key: ${error.message}`;
  }
}
