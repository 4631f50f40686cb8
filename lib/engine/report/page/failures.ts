import { asRepeated } from '../../text/as-started.ts';
import { groupsOf } from '../groups.ts';
import { type Html, html, type Part } from '../html.ts';
import type { Entry } from '../matrix.ts';
import type { ShownOutcome } from '../outcomes.ts';
import type { ReportData } from '../report-data.ts';
import { badge, detailsOf, errorOf, noteOf, timesOf } from './entries.ts';

/** The failures in the order of their occurrence, the unfinished tasks, and what to do. */
export function failuresSection(report: ReportData, entries: readonly Entry[]): Html {
  const cardsOf = (...wanted: ShownOutcome[]) =>
    entries
      .filter(({ cells: [{ outcome }] }) => wanted.includes(outcome))
      .sort((a, b) => a.cells[0].at - b.cells[0].at)
      .map((entry) => cardOf(entry, report));
  const { error } = report;
  const failed = [
    ...(error === undefined
      ? []
      : [html`<article class="card bad"><h3>The run ended</h3>${errorOf(error)}</article>`]),
    ...cardsOf('failed', 'unreachable'),
  ];
  const open = [
    ...cardsOf('unfinished'),
    ...stoppedCards(report, entries),
    ...report.skipped.map(skippedCard),
  ];
  const all = [...failed, ...open];
  const content =
    all.length > 0 ? [all, nextSteps(report, failed.length > 0)] : html`<p class="muted">Nothing failed.</p>`;
  return html`<section id="failures"><h2>${failed.length > 0 || all.length === 0 ? 'Failures' : 'Not finished'}</h2>
${content}</section>`;
}

function cardOf({ id, row, cells }: Entry, report: ReportData): Html {
  const [cell] = cells;
  const { outcome, play, role, resource, note, differences } = cell;
  return html`<article class="card entry${outcome !== 'unfinished' && ' bad'}" id="${id}">
<h3>${badge(outcome)} ${role}: ${resource}</h3>${timesOf(cells, report)}${
    note !== undefined && html`<p>${noteOf(note)}</p>`
  }${detailsOf(cell, differences)}<p class="muted">${play} · <a href="#row-${row}">in the matrix</a></p></article>
`;
}

function skippedCard({ play, why }: ReportData['skipped'][number]): Html {
  return html`<article class="card"><h3>${badge('unreached')} Play ${play} was skipped</h3><p>${why}</p></article>
`;
}

/** Hosts that stopped for another reason than a failed task of their own, by reason. */
function stoppedCards({ hosts }: ReportData, entries: readonly Entry[]): Html[] {
  const own = new Set(
    entries.flatMap(({ cells }) => cells.map(({ host, resource }) => `${host} ${resource} failed`)),
  );
  const stopped = [...hosts.values()].filter(
    ({ name, stopped: { why } = {}, unreachable }) => why && !unreachable && !own.has(`${name} ${why}`),
  );
  return groupsOf(stopped, (host) => host.stopped?.why).map((those) => {
    const names = those.map(({ name }) => name).join(', ');
    return html`<article class="card" data-hosts="${those.map(({ id }) => id).join(' ')}">
<h3>${badge('unreached')} ${names} stopped</h3><p>${those[0].stopped?.why}</p></article>
`;
  });
}

function nextSteps({ started: { playbook, inventory, check } }: ReportData, bad: boolean): Html {
  const plain = /^[\w./-]+$/;
  const run = asRepeated(`npx zx playbooks/${playbook}.mjs --inventory ${inventory}`);
  const commands: Part =
    plain.test(playbook) && plain.test(inventory) && html`<pre>${run} --check${!check && `\n${run}`}</pre>`;
  const next = check
    ? 'Check again:'
    : 'Check what is left, and run again. Completed tasks stay as they are:';
  return html`<div class="next"><h3>Next steps</h3><p>${bad && 'Fix the failures above. '}${next}</p>${commands}</div>`;
}
