import { drawChanges, drawWarnings } from './changes.mjs';
import { closeByClickBeside } from './details.mjs';
import { make, part } from './dom.mjs';
import { drawFailures } from './failures.mjs';
import { drawFilter } from './filter.mjs';
import { drawHead } from './head.mjs';
import { drawMatrix } from './matrix.mjs';
import { drawTimeline } from './timeline.mjs';
import { drawTotals } from './totals.mjs';

const drawings = [
  ['failures', drawFailures],
  ['totals', drawTotals],
  ['matrix', drawMatrix],
  ['timeline', drawTimeline],
  ['changes', drawChanges],
  ['warnings', drawWarnings],
].map(([name, draw]) => {
  const section = make('section', { id: String(name) });
  part('main').append(section);
  return { section, draw: /** @type {typeof drawMatrix} */ (draw) };
});

drawHead();
drawFilter(part('filter'), (view) => {
  for (const { section, draw } of drawings) draw(section, view);
});
closeByClickBeside();

// What stays in sight while the page scrolls does so below the filter, whose height depends on the window.
new ResizeObserver(() => {
  document.documentElement.style.setProperty('--filter', `${part('filter').offsetHeight}px`);
}).observe(part('filter'));
