// A plugin for Swagger UI: a form for the key to try operations with, which says what the key may do
// and when it expires.

/** The plugin. Swagger UI calls it with its system, which contains its React. */
export function keyForm({ React }) {
  const { createElement, useState } = React;

  function KeyForm({ authActions, specSelectors }) {
    const [state, setState] = useState('');
    const onSubmit = async (event) => {
      event.preventDefault();
      const key = event.target.elements.key.value.trim();
      setState('');
      if (key === '') return authActions.logout(['bearer']);
      const schema = specSelectors.securityDefinitions().get('bearer');
      authActions.authorize({ bearer: { name: 'bearer', schema, value: key } });
      setState(await describe(key));
    };
    return createElement(
      'form',
      { className: 'field', onSubmit },
      createElement(
        'label',
        null,
        'API key, which this service requires',
        createElement('input', { name: 'key', autoComplete: 'off', spellCheck: false }),
      ),
      createElement('button', { className: 'btn' }, 'Use this key'),
      createElement('span', { className: 'soft', role: 'status' }, state),
    );
  }

  return { components: { KeyForm } };
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
