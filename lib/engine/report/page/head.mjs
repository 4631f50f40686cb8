import { make, part } from './dom.mjs';
import { report } from './report.mjs';
import { clock, counted, day, duration } from './words.mjs';

/** Title, time, mode, and how it ended. */
export function drawHead() {
  const { playbook, inventory, check, start, length, ending } = report.run;
  const open = ending.kind === 'open';
  part('head').append(
    make('h1', {}, playbook, make('span', { class: 'muted' }, ' on '), inventory),
    make('p', { class: `ending ${ending.kind}`, role: 'status' }, endingWords[ending.kind] ?? '', ending.text),
    make(
      'p',
      { class: 'muted' },
      [
        `${day(start)} ${clock(start)} UTC`,
        open ? `${duration(length / 1000)} until the last word` : duration(length / 1000),
        check ? 'check mode (nothing is changed)' : 'run',
        counted(report.hosts.length, 'host'),
        counted(report.rows.length, 'resource'),
      ].join(' · '),
    ),
  );
}

/** A shape beside the colour. @type {Record<string, string>} */
const endingWords = {
  failed: '✖ ',
  unreachable: '✖ ',
  interrupted: '■ ',
  open: '■ ',
  pending: '△ ',
  converged: '✔ ',
};
