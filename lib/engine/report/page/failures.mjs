import { badge, errorOf, openDetails, saidOf, timeOf } from './details.mjs';
import { button, firstOf, make } from './dom.mjs';
import { cellsOf, unreachableIn } from './filter.mjs';
import { alike, hostAt, report } from './report.mjs';
import { duration } from './words.mjs';

/** @import { View } from './filter.mjs' */
/** @import { Cell } from './report.mjs' */

/** Hosts that are named in one card. */
const hostsNamed = 12;

/**
 * What went wrong, in the order in which it did, and what to do.
 *
 * @param {HTMLElement} section
 * @param {View} view
 */
export function drawFailures(section, view) {
  const failures = alike(cellsOf(view, 'f')).sort(([a], [b]) => (a?.at ?? 0) - (b?.at ?? 0));
  const underWay = alike(cellsOf(view, '~'));
  const lost = unreachableIn(view);
  const halted = stoppedBecause(view);
  const broken = view.narrowed ? undefined : report.run.error;
  const bad = failures.length + lost.length + (broken === undefined ? 0 : 1);
  const count = bad + underWay.length + halted.length;
  const cards = [
    ...(broken === undefined ? [] : [() => card('f', 'the run ended', [], '', [errorOf(broken)])]),
    ...lost.map(
      (host) => () =>
        card('f', 'host is unreachable', [make('span', { class: 'host' }, host.name)], '', [
          errorOf(host.unreachable ?? ''),
        ]),
    ),
    ...failures.map((group) => () => cellCard(group)),
    ...underWay.map((group) => () => cellCard(group)),
    ...halted.map(
      ([why, hosts]) =>
        () =>
          card(
            '-',
            'stopped',
            hosts.map((name) => make('span', { class: 'host' }, name)),
            '',
            [make('p', {}, why)],
          ),
    ),
  ];
  section.replaceChildren(
    make('h2', {}, bad > 0 || count === 0 ? 'Failures' : 'Not finished'),
    ...(count === 0
      ? [make('p', { class: 'muted' }, view.narrowed ? 'None among what is shown.' : 'Nothing failed.')]
      : [firstOf(cards, (draw) => draw(), 30), ...(view.narrowed ? [] : [whatToDo(bad === 0)])]),
  );
}

/** @param {Cell[]} group the same on several hosts */
function cellCard(group) {
  const [first] = group;
  if (!first) return make('p');
  const { row, sign, role, resource, play, seconds } = first;
  const hosts = group.map(({ host, hostName }) => button({ class: 'host' }, () => openDetails(row, host), hostName));
  const when = [play, group.length === 1 ? timeOf(first) : seconds > 0 ? `after ${duration(seconds)}` : ''];
  return card(sign, `${role}: ${resource}`, hosts, when.filter((part) => part !== '').join(' · '), saidOf(first));
}

/**
 * @param {string} sign
 * @param {string} title
 * @param {HTMLElement[]} hosts
 * @param {string} beside
 * @param {HTMLElement[]} body
 */
function card(sign, title, hosts, beside, body) {
  return make(
    'article',
    { class: sign === 'f' ? 'card bad' : 'card' },
    make('h3', {}, badge(sign), ' ', title),
    make(
      'p',
      { class: 'where' },
      firstOf(hosts, (host) => host, hostsNamed),
      make('span', { class: 'muted' }, ` ${beside}`),
    ),
    ...body,
  );
}

/**
 * Hosts that stopped for another reason than a failure of their own, by reason.
 *
 * @param {View} view
 * @returns {[string, string[]][]}
 */
function stoppedBecause(view) {
  const failed = new Set(cellsOf(view, 'f').map(({ host, resource }) => `${host} ${resource} failed`));
  /** @type {Map<string, string[]>} */
  const reasons = new Map();
  for (const host of view.hosts) {
    const { name, stopped, unreachable } = hostAt(host);
    if (stopped === undefined || unreachable !== undefined || failed.has(`${host} ${stopped}`)) continue;
    reasons.set(stopped, [...(reasons.get(stopped) ?? []), name]);
  }
  return [...reasons];
}

/** @param {boolean} cut the run only did not come to its end */
function whatToDo(cut) {
  const { playbook, inventory, check } = report.run;
  const plain = /^[\w./-]+$/;
  const command =
    plain.test(playbook) && plain.test(inventory)
      ? `npx zx playbooks/${playbook}.mjs --inventory ${inventory}`
      : undefined;
  return make(
    'div',
    { class: 'todo' },
    make('h3', {}, 'What to do'),
    make(
      'p',
      {},
      cut
        ? 'Look at what is left, and run again: it goes on where this run ended.'
        : check
          ? 'Mend what is said above, then look again:'
          : 'Mend what is said above, look at what is left, and run again. What is done already is seen, and stays as it is.',
    ),
    command === undefined
      ? undefined
      : make('pre', { tabindex: 0 }, check ? `${command} --check` : `${command} --check\n${command}`),
  );
}
