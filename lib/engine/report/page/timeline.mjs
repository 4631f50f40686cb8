import { openDetails } from './details.mjs';
import { make, whenNear } from './dom.mjs';
import { hostAt, report, signAt, textAt } from './report.mjs';
import { clock, duration, shownAs } from './words.mjs';

/** @import { View } from './filter.mjs' */
/** @import { Stretch } from '../timeline.ts' */

/** Seconds between two marks of the axis, of which the first that is wide enough is taken. */
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];
/** Marks in the width of the window. */
const marks = 8;
/** Shorter work is no bar of its own. Seconds. */
const shortest = 0.05;

let zoom = 1;
const drawWhenNear = whenNear((lane) => fill(/** @type {HTMLElement} */ (lane)));

/**
 * A lane for each host: what it did when, and for whom it waited.
 *
 * @param {HTMLElement} section
 * @param {View} view
 */
export function drawTimeline(section, view) {
  if (report.run.length === 0 || view.hosts.length === 0) {
    section.replaceChildren();
    return;
  }
  const axis = make('div', { class: 'track axis', 'aria-hidden': 'true' });
  const lanes = make(
    'div',
    { class: 'lanes' },
    make('div', { class: 'lane' }, make('div', { class: 'lane-name muted' }, 'UTC'), axis),
  );
  for (const host of view.hosts) lanes.append(laneOf(host));
  const slider = make('input', {
    type: 'range',
    min: 0,
    max: 8,
    step: 1,
    value: Math.log2(zoom),
    'aria-label': 'Zoom of the timeline',
  });
  const draw = () => {
    zoom = 2 ** Number(slider.value);
    lanes.style.setProperty('--zoom', String(zoom));
    axis.replaceChildren(...marksOf());
  };
  slider.addEventListener('input', draw);
  section.replaceChildren(
    make('h2', {}, 'Timeline', make('label', { class: 'zoom' }, 'zoom ', slider)),
    make('div', { class: 'scroll tall', tabindex: 0, role: 'region', 'aria-label': 'Timeline' }, lanes),
    make(
      'p',
      { class: 'muted hint' },
      'Above: connecting, looking, plays; hatched: waiting for another host. Below: each resource that took time, in the colour of its outcome.',
    ),
  );
  draw();
}

/** @param {number} host */
function laneOf(host) {
  const { name, timeline } = hostAt(host);
  const track = make('div', {
    class: 'track',
    'data-host': host,
    role: 'img',
    'aria-label': timeline.map(inWords).join('; '),
  });
  drawWhenNear(track);
  return make('div', { class: 'lane' }, make('div', { class: 'lane-name', title: name }, name), track);
}

/** @param {HTMLElement} track */
function fill(track) {
  const host = Number(track.dataset.host);
  track.append(...hostAt(host).timeline.map(stretchOf), ...barsOf(host));
}

/** @param {Stretch} stretch */
function stretchOf(stretch) {
  const { kind, from, to, label } = stretch;
  return located(
    make(
      'div',
      { class: `stretch ${kind}`, title: inWords(stretch) },
      make('span', {}, kind === 'stopped' ? `stopped: ${label}` : label),
    ),
    from,
    to,
  );
}

/** @param {Stretch} stretch */
function inWords({ kind, from, to, label }) {
  const at = clock(report.run.start + from);
  if (kind === 'stopped') return `${at} stopped: ${label}`;
  return `${at} ${label}, ${duration((to - from) / 1000)}`;
}

/** @param {number} host */
function barsOf(host) {
  const width = report.hosts.length;
  return report.details.flatMap(([cell, at, seconds]) => {
    if (cell % width !== host || seconds < shortest) return [];
    const row = Math.floor(cell / width);
    const [, role = -1, resource = -1] = report.rows[row] ?? [];
    const sign = signAt(row, host);
    const { style, word, letter } = shownAs(sign);
    const title = `${textAt(role)}: ${textAt(resource)}: ${word}, ${duration(seconds)}`;
    const bar = make(
      'div',
      { class: `bar ${style}`, title },
      make('span', {}, `${sign === 'c' || sign === 'o' ? '' : `${letter} `}${textAt(resource)}`),
    );
    bar.addEventListener('click', () => openDetails(row, host));
    return [located(bar, at - seconds * 1000, at)];
  });
}

/**
 * @param {HTMLElement} element
 * @param {number} from
 * @param {number} to
 */
function located(element, from, to) {
  const share = (/** @type {number} */ time) => (100 * time) / report.run.length;
  element.style.left = `${share(Math.max(0, from))}%`;
  element.style.width = `${share(to - Math.max(0, from))}%`;
  return element;
}

function marksOf() {
  const { start, length } = report.run;
  const step = 1000 * (steps.find((each) => length / 1000 / each <= marks * zoom) ?? 86_400);
  const list = [];
  for (let at = Math.ceil(start / step) * step; at <= start + length; at += step) {
    const mark = make('div', { class: 'mark', title: `${duration((at - start) / 1000)} after the start` });
    mark.append(step < 60_000 ? clock(at) : clock(at).slice(0, 5));
    mark.style.left = `${(100 * (at - start)) / length}%`;
    list.push(mark);
  }
  return list;
}
