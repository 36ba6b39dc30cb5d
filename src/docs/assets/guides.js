// Searches all guides for words, in the browser, and folds their list when a link is chosen.
import { wordsOf } from './description.js';

const MAX_SHOWN = 20;
const base = new URL('guides/', import.meta.url);

/** Loads the texts of all sections, once somebody searches. */
const load = async () => {
  const { SECTIONS } = await import('./guide-texts.js');
  return SECTIONS.map(([href, guide, title, text]) => {
    const name = guide === title ? title : `${guide}: ${title}`;
    return { href, name, text, title: wordsOf(name), words: wordsOf(`${name} ${text}`) };
  });
};
let sections;

for (const field of document.querySelectorAll('.find')) {
  field.hidden = false;
  const [input, status, list] = ['input', '[role=status]', 'ol'].map((part) =>
    field.querySelector(part),
  );
  input.addEventListener('input', async () => {
    sections ??= load();
    const words = wordsOf(input.value).split(/(?= )/).filter(Boolean);
    const has = (text) => words.length > 0 && words.every((word) => text.includes(word));
    const all = await sections;
    const found = all.filter(({ words: text }) => has(text));
    // Titles first; otherwise in the order of reading.
    found.sort((one, other) => has(other.title) - has(one.title));
    list.replaceChildren(...found.slice(0, MAX_SHOWN).map((each) => render(each, words)));
    const count = `${found.length} section${found.length === 1 ? '' : 's'}`;
    status.textContent =
      words.length === 0 ? '' : `${count} ${found.length === 1 ? 'has' : 'have'} all words.`;
  });
}

for (const details of document.querySelectorAll('.side details'))
  details.addEventListener('click', ({ target }) => {
    if (target.closest('a')) details.open = false;
  });

function render({ href, name, text }, [word]) {
  const item = document.createElement('li');
  const link = document.createElement('a');
  Object.assign(link, { href: new URL(href, base), textContent: name });
  const start = Math.max(0, text.toLowerCase().indexOf(word.trim()) - 40);
  const line = document.createElement('span');
  Object.assign(line, { className: 'soft', textContent: text.slice(start, start + 140) });
  item.append(link, ' ', line);
  return item;
}
