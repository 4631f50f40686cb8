/** A line of a plot: its points in the order of x. */
export interface Line {
  readonly title: string;
  /** As SVG has it. */
  readonly colour: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** What a plot shows. Both axes are marked at `ticks`; y is logarithmic. */
export interface Plot {
  readonly title: string;
  readonly x: {
    readonly title: string;
    readonly ticks: readonly number[];
    readonly scale: 'linear' | 'logarithmic';
  };
  readonly y: { readonly title: string; readonly ticks: readonly number[] };
  readonly lines: readonly Line[];
}

const [width, height] = [720, 400];
const area = { left: 60, right: 530, top: 40, bottom: 350 };
/** The least distance between two names of lines. */
const lineHeight = 16;

/** Draws a plot as SVG. The name of each line is at its end, in the order of the ends. */
export function svg({ title, x, y, lines }: Plot): string {
  const across = scaleOf(x.ticks, x.scale, area.left, area.right);
  const up = scaleOf(y.ticks, 'logarithmic', area.bottom, area.top);
  const text = (at: number, from: number, words: string, more = '') =>
    `<text x="${at.toFixed(1)}" y="${from.toFixed(1)}"${more}>${words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`;
  const middle = ' text-anchor="middle"';
  const names = apart(lines.map(({ points }) => up(points.at(-1)?.[1] ?? 1) + 4));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">
<rect width="${width}" height="${height}" fill="#fff"/>
${text(area.left, 22, title, ' font-size="15"')}
${y.ticks.map((tick) => `<path d="M${area.left} ${up(tick).toFixed(1)}H${area.right}" stroke="#ddd"/>${text(area.left - 8, up(tick) + 4, String(tick), ' text-anchor="end"')}`).join('\n')}
${x.ticks.map((tick) => text(across(tick), area.bottom + 18, String(tick), middle)).join('\n')}
${text((area.left + area.right) / 2, area.bottom + 38, x.title, middle)}
${text(16, 200, y.title, `${middle} transform="rotate(-90 16 200)"`)}
${lines
  .map(({ title: name, colour, points }, at) => {
    const places = points.map(([a, b]) => [across(a), up(b)] as const);
    const path = places.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(' ');
    const dots = places.map(
      ([a, b]) => `<circle cx="${a.toFixed(1)}" cy="${b.toFixed(1)}" r="3" fill="${colour}"/>`,
    );
    const label = text(area.right + 10, names[at] ?? 0, name, ` fill="${colour}"`);
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>${dots.join('')}${label}`;
  })
  .join('\n')}
</svg>
`;
}

/** A function from a value to its place between two ends, for the range of the ticks. */
function scaleOf(ticks: readonly number[], scale: 'linear' | 'logarithmic', from: number, to: number) {
  const place = scale === 'linear' ? (value: number) => value : Math.log;
  const [least, most] = [place(Math.min(...ticks)), place(Math.max(...ticks))];
  return (value: number) => from + ((place(value) - least) / (most - least)) * (to - from);
}

/** Moves heights down, in order, until none is nearer to the one above than a line of text. */
function apart(heights: readonly number[]): number[] {
  const moved = [...heights];
  let last = Number.NEGATIVE_INFINITY;
  for (const at of heights.map((_, index) => index).sort((a, b) => (heights[a] ?? 0) - (heights[b] ?? 0))) {
    last = Math.max(heights[at] ?? 0, last + lineHeight);
    moved[at] = last;
  }
  return moved;
}
