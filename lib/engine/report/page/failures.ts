import { groupsOf } from '../groups.ts';
import { type Html, html, type Part } from '../html.ts';
import type { Entry } from '../matrix.ts';
import type { ReportData } from '../report-data.ts';
import { badge, detailsOf, errorOf, noteOf, timesOf } from './entry.ts';

/** What went wrong, in the order in which it did, what is not finished, and what to do. */
export function failuresSection(report: ReportData, entries: readonly Entry[]): Html {
  const { error, hosts, skipped } = report;
  const lost = [...hosts.values()].filter(({ unreachable }) => unreachable !== undefined);
  const failed = entries
    .filter(({ cells: [cell] }) => cell.outcome === 'failed')
    .sort((a, b) => a.cells[0].at - b.cells[0].at);
  const unfinished = entries.filter(({ cells: [cell] }) => cell.outcome === 'unfinished');
  const stopped = stoppedBecause(report, failed);
  const bad = failed.length + lost.length + (error === undefined ? 0 : 1);
  const open = unfinished.length + stopped.length + skipped.length;
  const cards = [
    error !== undefined && html`<article class="card bad"><h3>The run ended</h3>${errorOf(error)}</article>`,
    lost.map(
      ({ id, name, unreachable = '' }) => html`<article class="card bad lost" data-hosts="${id}">
<h3>${badge('failed')} ${name} is unreachable</h3>${errorOf(unreachable)}</article>
`,
    ),
    [...failed, ...unfinished].map((entry) => cardOf(entry, report)),
    stopped.map((those) => {
      const ids = those.map(({ id }) => id).join(' ');
      const names = those.map(({ name }) => name).join(', ');
      return html`<article class="card" data-hosts="${ids}"><h3>${badge('unreached')} ${names} stopped</h3>
<p>${those[0].why}</p></article>
`;
    }),
    skipped.map(
      ({ play, why }) => html`<article class="card"><h3>${badge('unreached')} Play ${play} was skipped</h3>
<p>${why}</p></article>
`,
    ),
  ];
  return html`<section id="failures"><h2>${bad > 0 || open === 0 ? 'Failures' : 'Not finished'}</h2>
${bad + open === 0 ? html`<p class="muted">Nothing failed.</p>` : [cards, nextSteps(report, bad > 0)]}</section>`;
}

function cardOf({ id, row, cells }: Entry, report: ReportData): Html {
  const [cell] = cells;
  const { outcome, play, role, resource, note, differences } = cell;
  return html`<article class="card entry${outcome === 'failed' && ' bad'}" id="${id}">
<h3>${badge(outcome)} ${role}: ${resource}</h3>${timesOf(cells, report)}${
    note !== undefined && html`<p>${noteOf(note)}</p>`
  }${detailsOf(cell, differences)}<p class="muted">${play} · <a href="#row-${row}">in the matrix</a></p></article>
`;
}

/** Hosts that stopped for another reason than a failed task of their own, by reason. */
function stoppedBecause({ hosts }: ReportData, failed: readonly Entry[]) {
  const own = new Set(failed.flatMap(({ cells }) => cells.map(({ host, resource }) => `${host} ${resource} failed`)));
  const stopped = [...hosts.values()].flatMap((host) => {
    const why = host.unreachable === undefined ? host.stopped?.why : undefined;
    return why === undefined || own.has(`${host.name} ${why}`) ? [] : { ...host, why };
  });
  return groupsOf(stopped, ({ why }) => why);
}

function nextSteps({ playbook, inventory, check }: ReportData, bad: boolean): Html {
  const plain = /^[\w./-]+$/;
  const run = `npx zx playbooks/${playbook}.mjs --inventory ${inventory}`;
  const commands: Part =
    plain.test(playbook) && plain.test(inventory) && html`<pre>${run} --check${!check && `\n${run}`}</pre>`;
  return html`<div class="next"><h3>Next steps</h3><p>${
    !bad
      ? 'Check what is left, and run again: the run continues where this one ended.'
      : check
        ? 'Fix the failures above, then check again:'
        : 'Fix the failures above, check what is left, and run again. Completed tasks stay as they are.'
  }</p>${commands}</div>`;
}
