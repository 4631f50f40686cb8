/** With scripts, the page can show only some outcomes, hosts or words. */

const form = /** @type {HTMLFormElement} */ (document.querySelector('form'));
const table = /** @type {HTMLTableElement | null} */ (document.querySelector('.matrix'));
const lines = [...(table?.rows ?? [])].filter((line) => line.id !== '');
const hosts = [...(table?.tHead?.rows[0]?.cells ?? [])].slice(1).map(({ textContent }) => textContent.toLowerCase());
const entries = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('.entry')]);
const words = new Map(
  entries.map((entry) => {
    const summary = entry.closest('.task')?.querySelector('summary')?.textContent ?? '';
    return [`#${entry.id}`, `${summary} ${entry.textContent}`.toLowerCase()];
  }),
);

/**
 * Names or parts of them, with * for anything, several by comma or space.
 *
 * @param {string} pattern
 */
function hostPattern(pattern) {
  const tests = pattern.split(/[\s,]+/).flatMap((word) => {
    if (word === '') return [];
    const inside = word.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*');
    return new RegExp(word.includes('*') ? `^${inside}$` : inside);
  });
  return (/** @type {string} */ name) => tests.length === 0 || tests.some((test) => test.test(name));
}

/** What the fields ask for. */
function asked() {
  const fields = new FormData(form);
  const text = String(fields.get('text')).trim().toLowerCase();
  const pattern = String(fields.get('host')).trim().toLowerCase();
  const outcomes = new Set(fields.getAll('outcome'));
  const byCells = text !== '' || outcomes.size > 0;
  return { text, outcomes, inHosts: hosts.map(hostPattern(pattern)), byCells, narrowed: byCells || pattern !== '' };
}

function filter() {
  const { text, outcomes, inHosts, byCells, narrowed } = asked();
  const shownHosts = new Set(byCells ? [] : inHosts.flatMap((shown, host) => (shown ? host : [])));
  const shownEntries = new Set();
  let shownLines = 0;
  for (const line of lines) {
    const [title, ...cells] = line.cells;
    const inTitle = title?.textContent.toLowerCase().includes(text);
    let shown = false;
    for (const [host, cell] of cells.entries()) {
      const outcome = cell.className.replace(/ ?dim/, '') || 'ok';
      const { hash } = cell.querySelector('a') ?? { hash: '' };
      const fits =
        cell.textContent !== '' &&
        inHosts[host] &&
        (outcomes.size === 0 || outcomes.has(outcome)) &&
        (inTitle || hosts[host]?.includes(text) || words.get(hash)?.includes(text));
      cell.classList.toggle('dim', narrowed && !fits);
      if (!fits) continue;
      shown = true;
      shownHosts.add(host);
      shownEntries.add(hash);
    }
    line.hidden = !shown;
    if (shown) shownLines += 1;
  }
  showOnly(shownHosts, shownEntries, narrowed);
  const output = /** @type {HTMLOutputElement} */ (form.querySelector('output'));
  output.value = narrowed ? `${shownHosts.size} of ${hosts.length} hosts, ${shownLines} of ${lines.length} tasks` : '';
}

/**
 * Hides all other columns of the table, entries and parts of the page. The lines of the table are hidden already.
 *
 * @param {Set<number>} shownHosts by their columns
 * @param {Set<string>} shownEntries by their links
 * @param {boolean} narrowed
 */
function showOnly(shownHosts, shownEntries, narrowed) {
  for (const line of [...(table?.tHead?.rows ?? []), ...lines]) {
    for (const [host, cell] of [...line.cells].slice(1).entries()) cell.hidden = !shownHosts.has(host);
  }
  for (const body of table?.tBodies ?? []) body.hidden = [...body.rows].slice(1).every(({ hidden }) => hidden);
  for (const entry of entries) entry.hidden = !shownEntries.has(`#${entry.id}`);
  for (const part of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-hosts]'))) {
    part.hidden = !part.dataset.hosts?.split(' ').some((id) => shownHosts.has(Number(id.slice(1))));
  }
  for (const folded of /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll('.task, .more'))) {
    folded.hidden = folded.querySelector('.entry:not([hidden])') === null;
    if (folded.className === 'more') folded.open = narrowed;
  }
  document.body.classList.toggle('narrowed', narrowed);
}

for (const field of form.querySelectorAll('[hidden]')) field.removeAttribute('hidden');
form.addEventListener('submit', (event) => event.preventDefault());
form.addEventListener('input', filter);
// The fields are empty only after the event.
form.addEventListener('reset', () => setTimeout(filter));
