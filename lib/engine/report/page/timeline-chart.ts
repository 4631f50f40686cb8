import { seconds } from '../../output/units.ts';
import { clockOf } from '../clock.ts';
import { type Html, html } from '../html.ts';
import type { Cell } from '../matrix.ts';
import type { ReportData, ReportedHost } from '../report-data.ts';
import type { Stretch } from '../timeline.ts';
import { outcomeText } from './entries.ts';

/** Seconds between two marks of the axis: the first value with room for its label is used. */
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];
/** Marks in the width of the window. */
const marks = 8;
/** How many times wider than the window the chart can be. */
const zooms = [1, 4, 16, 64];
/** Shorter work has no bar. Seconds. */
const shortest = 0.05;
/** A narrower bar has no room for a label. Share of the whole run. */
const roomForLabel = 0.08;

/**
 * A lane for each host: its work over time, and the hosts that it waited for. SVG is positioned by
 * attributes, so the page's policy allows only its own style. The colours are attributes for
 * readers that block styles.
 */
export function timelineSection(report: ReportData): Html {
  const { started, end, hosts } = report;
  if (end === started.time) {
    return html`<section id="timeline"><h2>Timeline</h2><p class="muted">No time is recorded.</p></section>`;
  }
  return html`<section id="timeline"><h2>Timeline</h2>
<p class="muted">Upper bars: connecting, checking, plays; hatched: waiting for another host.
Lower bars: each task that took time.</p>
<fieldset class="zoom" hidden><legend>Zoom</legend>${zooms.map(zoomField)}</fieldset>
<div class="scroll" tabindex="0" role="region" aria-label="Timeline">
<svg width="0" height="0"><pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse"
 patternTransform="rotate(45)"><path d="M0 0V8" stroke="#999" stroke-width="2"/></pattern></svg>
<div class="lane" aria-hidden="true"><div class="lane-name muted">UTC</div>
<svg class="axis" width="100%" height="24">${zooms.map((zoom) => axisOf(report, zoom))}</svg></div>
${[...hosts.values()].map((host) => laneOf(host, report))}</div></section>`;
}

/** It works by styles alone, so it is hidden without them. */
function zoomField(zoom: number): Html {
  const id = html`id="zoom-${zoom}"${zoom === 1 && html` checked`}`;
  return html`<label><input type="radio" name="zoom" ${id}> ${zoom}×</label> `;
}

function laneOf({ id, name, timeline }: ReportedHost, report: ReportData): Html {
  const cells = report.rows
    .flatMap(({ cells }) => cells.get(name) ?? [])
    .filter(({ seconds }) => seconds >= shortest);
  return html`<div class="lane" id="${id}" data-hosts="${id}"><div class="lane-name">${name}</div>
<svg width="100%" height="46" fill="#ccc" role="group" aria-label="${name}">
${timeline.map((stretch) => stretchOf(stretch, report))}
<svg y="25">${cells.map((cell) => barOf(cell, report))}</svg></svg></div>
`;
}

function stretchOf({ kind, from, to, label }: Stretch, report: ReportData): Html {
  const x = share(from, report);
  if (kind === 'stopped') {
    return html`<svg x="${x}" overflow="visible" class="stopped"><title>${clockOf(from)} stopped: ${label}</title>
<rect width="3" height="42"/><text x="7" y="27" fill="#000">stopped: ${label}</text></svg>`;
  }
  const width = share(to - from + report.started.time, report);
  const [height, baseline] = kind === 'wait' ? [39, 24] : [19, 14];
  return html`<svg class="${kind}" x="${x}" y="3" width="${width}" height="${height}">
<title>${clockOf(from)} ${label}, ${seconds((to - from) / 1000)}</title>
<rect width="100%" height="100%"/><text x="5" y="${baseline}" fill="#000">${label}</text></svg>`;
}

function barOf(cell: Cell, report: ReportData): Html {
  const { at, seconds: took, role, resource, outcome } = cell;
  const from = Math.max(report.started.time, at - took * 1000);
  const width = share(at - from + report.started.time, report);
  const place = html`x="${share(from, report)}" width="${width}" height="17"`;
  const text = `${resource}, ${outcomeText(cell)}`;
  const hasRoom = at - from >= roomForLabel * (report.end - report.started.time);
  const bar = hasRoom
    ? html`<svg ${place}><rect width="100%" height="100%"/><text x="4" y="12" fill="#000">${text}</text></svg>`
    : html`<rect ${place}><title>${role}: ${text}</title></rect>`;
  return html`<a href="#${report.entries.get(cell)?.id}" class="${outcome}">${bar}</a>`;
}

/** A time as its place in the width of a lane. */
function share(at: number, { started, end }: ReportData): string {
  return `${Number(((100 * (at - started.time)) / (end - started.time)).toFixed(2))}%`;
}

function axisOf(report: ReportData, zoom: number): Html {
  const start = report.started.time;
  const least = (report.end - start) / 1000 / marks / zoom;
  const step = 1000 * (steps.find((each) => each >= least) ?? least);
  const first = Math.ceil(start / step);
  const times = Array.from(
    { length: Math.floor(report.end / step) - first + 1 },
    (_, at) => (first + at) * step,
  );
  const mark = (at: number) => html`<svg x="${share(at, report)}" overflow="visible">
<path d="M0 6V24" stroke="#999"/><text x="4" y="20">${clockOf(at).slice(0, step < 60_000 ? 8 : 5)}</text></svg>`;
  return html`<g class="marks-${zoom}"${zoom > 1 && html` display="none"`}>${times.map(mark)}</g>`;
}
