// Makes code on a page easy to copy, with the address at which the reader reached the service.

/** The address of the service, without a slash at its end. */
const base = new URL('..', import.meta.url).href.slice(0, -1);

for (const address of document.querySelectorAll('.base-url'))
  address.textContent = base.replaceAll("'", '%27');

const status = document.querySelector('.copy-status');
for (const block of document.querySelectorAll('.command')) {
  const code = block.querySelector('code');
  const button = block.querySelector('.copy');
  button.hidden = false;
  button.addEventListener('click', async () => {
    // Empty it first, so that a screen reader announces a second copy too.
    status.textContent = '';
    const copied = await copy(code, textOf(code));
    status.textContent = copied ? 'Copied.' : 'The command is selected: copy it as you copy text.';
    setTimeout(() => status.replaceChildren(), 8000);
  });
}

/** Returns what is typed, without prompts and output, or else the whole code. */
function textOf(code) {
  const typed = [...code.querySelectorAll('.typed')].map(({ textContent }) => textContent);
  return typed.length > 0 ? typed.join('\n') : code.textContent;
}

/** Copies `text`; otherwise selects `element`, and resolves with false. */
export async function copy(element, text = element.textContent) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages that came over http from another machine have no clipboard, and a reader may refuse it.
    getSelection().selectAllChildren(element);
    const put = (event) => {
      event.preventDefault();
      event.clipboardData.setData('text/plain', text);
    };
    document.addEventListener('copy', put);
    const isCopied = document.execCommand('copy');
    document.removeEventListener('copy', put);
    return isCopied;
  }
}
