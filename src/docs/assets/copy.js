// Makes the first call of the page one that can be copied, with the address by which the reader reached the service.

/** Shows the button that copies the command, and names `base` in it: the URL of the service, without a slash at its end. */
export function makeCopyable(base) {
  const command = document.querySelector('.command code');
  const button = document.querySelector('.command .copy');
  const told = document.querySelector('.told');
  command.querySelector('.base-url').textContent = base.replaceAll("'", '%27');
  button.hidden = false;
  button.addEventListener('click', async () => {
    // Empty first, so that who copies twice hears of it twice.
    told.textContent = '';
    const copied = await copy(command);
    told.textContent = copied ? 'Copied.' : 'The command is selected: copy it as you copy text.';
  });
}

async function copy(element) {
  try {
    await navigator.clipboard.writeText(element.textContent);
    return true;
  } catch {
    // There is no clipboard for pages that came over http from another machine, and a reader may refuse it.
    getSelection().selectAllChildren(element);
    return document.execCommand('copy');
  }
}
