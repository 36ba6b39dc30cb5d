// Starts Swagger UI on this server's own description.

// Swagger UI has dark colours, and leaves it to the page to ask for them.
const dark = window.matchMedia('(prefers-color-scheme: dark)');
const followColourScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followColourScheme);
followColourScheme();

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
  // Calls go to wherever this page came from, whatever name the server is reached by, so that the content security
  // policy can forbid every other host.
  spec.servers = [{ url: new URL('.', document.baseURI).href.replace(/\/$/, '') }];
  return spec;
}

fetch('openapi.json')
  .then((response) => response.json())
  .then((spec) => {
    window.SwaggerUIBundle({
      spec: prepare(spec),
      dom_id: '#swagger-ui',
      layout: 'BaseLayout',
      deepLinking: true,
      defaultModelsExpandDepth: 0,
      displayRequestDuration: true,
      tryItOutEnabled: true,
      validatorUrl: null,
    });
  })
  .catch((error) => {
    document.querySelector('#swagger-ui').textContent = `The description could not be loaded: ${error.message}`;
  });
