// Starts Swagger UI with this server's own description. It loads the other scripts, so that the page
// can say so on a slow line, and if one cannot be loaded.

// The address this page came from, whatever name the reader used.
const base = new URL('.', document.baseURI).href.replace(/\/$/, '');
const host = document.querySelector('#swagger-ui');
host.setAttribute('role', 'status');
host.textContent = 'Loading the operations.';

// Swagger UI has dark colours but leaves the choice to the page.
const dark = window.matchMedia('screen and (prefers-color-scheme: dark)');
const followColourScheme = () =>
  document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followColourScheme);
followColourScheme();

async function loadDescription() {
  const response = await fetch('openapi.json');
  if (!response.ok) throw new Error(`The description was answered with ${response.status}.`);
  return response.text();
}

const loadSwaggerUi = () =>
  new Promise((resolve, reject) => {
    const script = document.createElement('script');
    Object.assign(script, { src: 'docs/swagger-ui-bundle.js', onload: resolve, onerror: reject });
    document.head.append(script);
  });

try {
  const [text, { prepare }, { adjustments }, { keyForm }, { requests }] = await Promise.all([
    loadDescription(),
    import('./description.js'),
    import('./adjustments.js'),
    import('./key.js'),
    import('./requests.js'),
    loadSwaggerUi(),
  ]);
  host.removeAttribute('role');
  window.SwaggerUIBundle({
    spec: prepare(text, base),
    dom_id: '#swagger-ui',
    plugins: [adjustments, keyForm, requests],
    layout: 'OperationsLayout',
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    syntaxHighlight: { theme: 'tomorrow-night' },
    tryItOutEnabled: true,
    validatorUrl: null,
  });
  // Swagger UI takes over links within the page to scroll smoothly, and does not move the focus. It
  // leaves links with this class alone.
  const skip = document.querySelector('.skip');
  skip.classList.add('noZensmooth');
  Object.assign(skip, { href: '#list', textContent: 'Skip to the operations' });
} catch {
  host.textContent =
    'The operations could not be loaded. Check that the service is running, then reload the page.';
}
