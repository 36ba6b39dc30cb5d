// Starts the scripts of the docs page: Swagger UI with this server's own description, and the copy
// button.
import { adjustments } from './adjustments.js';
import './copy.js';
import { keyState } from './key.js';
import { requests } from './requests.js';

// The address this page came from, whatever name the reader used.
const base = new URL('.', document.baseURI).href.replace(/\/$/, '');

// Swagger UI has dark colours but leaves the choice to the page.
const dark = window.matchMedia('(prefers-color-scheme: dark)');
const followColourScheme = () =>
  document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followColourScheme);
followColourScheme();

// Swagger UI takes over links within the page to scroll smoothly, and does not move the focus. It
// leaves links with this class alone.
document.querySelector('.skip').classList.add('noZensmooth');

/** Prepares the description `spec` for Swagger UI and returns it. */
function prepare(spec) {
  // Swagger UI 5.35 does not resolve the common parameters of a path in the operation that is
  // opened first.
  for (const item of Object.values(spec.paths)) {
    const { parameters = [], ...operations } = item;
    delete item.parameters;
    for (const operation of Object.values(operations)) {
      operation.parameters = [...parameters, ...(operation.parameters ?? [])];
    }
  }
  // Swagger UI would fill in the default and send it, but no list has an offset and a key.
  delete spec.components.parameters.Offset.schema.default;
  // Calls go to the origin of the page, so that the content security policy can forbid every other
  // host.
  spec.servers = [{ url: base }];
  return spec;
}

fetch('openapi.json')
  .then((response) => response.json())
  .then((spec) => {
    window.SwaggerUIBundle({
      spec: prepare(spec),
      dom_id: '#swagger-ui',
      plugins: [adjustments, keyState, requests],
      layout: 'OperationsLayout',
      deepLinking: true,
      defaultModelsExpandDepth: 0,
      displayRequestDuration: true,
      syntaxHighlight: { theme: 'tomorrow-night' },
      tryItOutEnabled: true,
      validatorUrl: null,
    });
  })
  .catch((error) => {
    document.querySelector('#swagger-ui').textContent =
      `The description could not be loaded: ${error.message}`;
  });
