// Starts Swagger UI on this server's own description. Calls go to wherever this page came from, whatever name the
// server is reached by, so that the content security policy can forbid every other host.
const base = new URL('.', document.baseURI).href.replace(/\/$/, '');

fetch('openapi.json')
  .then((response) => response.json())
  .then((spec) => {
    window.SwaggerUIBundle({
      spec: { ...spec, servers: [{ url: base }] },
      dom_id: '#swagger-ui',
      layout: 'BaseLayout',
      deepLinking: true,
      displayRequestDuration: true,
      tryItOutEnabled: true,
      validatorUrl: null,
    });
  })
  .catch((error) => {
    document.querySelector('#swagger-ui').textContent = `The description could not be loaded: ${error.message}`;
  });
