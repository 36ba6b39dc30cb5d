// Makes the first call on the page easy to copy, with the address at which the reader reached the
// service.

/**
 * Shows the copy button and puts `base`, the URL of the service without a slash at its end, into
 * the samples.
 */
export function makeCopyable(base) {
  const command = document.querySelector('.command code');
  const button = document.querySelector('.command .copy');
  const status = document.querySelector('.copy-status');
  for (const address of document.querySelectorAll('.base-url'))
    address.textContent = base.replaceAll("'", '%27');
  button.hidden = false;
  button.addEventListener('click', async () => {
    // Empty it first, so that a screen reader announces a second copy too.
    status.textContent = '';
    const copied = await copy(command);
    status.textContent = copied ? 'Copied.' : 'The command is selected: copy it as you copy text.';
  });
}

/** Copies the text of `element`; otherwise selects it, and resolves with false. */
export async function copy(element) {
  try {
    await navigator.clipboard.writeText(element.textContent);
    return true;
  } catch {
    // Pages that came over http from another machine have no clipboard, and a reader may refuse it.
    getSelection().selectAllChildren(element);
    return document.execCommand('copy');
  }
}
