// Starts what needs a script on the docs page: Swagger UI on this server's own description, and the button that copies.
import { adjustments } from './adjustments.js';
import { makeCopyable } from './copy.js';

// Where this page came from, whatever name the server is reached by.
const base = new URL('.', document.baseURI).href.replace(/\/$/, '');

// Swagger UI has dark colours, and leaves it to the page to ask for them.
const dark = window.matchMedia('(prefers-color-scheme: dark)');
const followColourScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followColourScheme);
followColourScheme();

// Swagger UI takes over what leads to another place of the page, to scroll softly, and leaves the focus where it was. It
// spares what has this class.
document.querySelector('.skip').classList.add('noZensmooth');

/** Returns the description `spec` as Swagger UI is to show it. */
function prepare(spec) {
  // Swagger UI 5.35 does not resolve a path's common parameters in the operation that is opened first.
  for (const item of Object.values(spec.paths)) {
    const { parameters = [], ...operations } = item;
    delete item.parameters;
    for (const operation of Object.values(operations)) {
      operation.parameters = [...parameters, ...(operation.parameters ?? [])];
    }
  }
  // Calls go to where the page came from, so that the content security policy can forbid every other host.
  spec.servers = [{ url: base }];
  return spec;
}

makeCopyable(base);
fetch('openapi.json')
  .then((response) => response.json())
  .then((spec) => {
    window.SwaggerUIBundle({
      spec: prepare(spec),
      dom_id: '#swagger-ui',
      plugins: [adjustments],
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
    document.querySelector('#swagger-ui').textContent = `The description could not be loaded: ${error.message}`;
  });
