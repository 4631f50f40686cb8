import { inflateSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { $ } from 'zx';
import { reportHtml } from '../../lib/engine/report/report-html.ts';
import {
  checkRun,
  failedRun,
  hostileRun,
  killedRun,
  largeRun,
} from '../../lib/engine/report/testdata/runs.ts';
import { recorded } from '../../lib/engine/report/testdata/scripted-run.ts';
import { open, startBrowser } from './browser.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
});

const page = (events: Parameters<typeof recorded>[0]) => reportHtml(recorded(events));

test('the script of the page passes its type check', async () => {
  const checked = await $({ nothrow: true })`node_modules/.bin/tsc -p templates/report`;
  expect(checked.exitCode, checked.stdout).toBe(0);
});

test('it opens from disk, loads nothing else, and has failures first', async () => {
  const { page: report, requests, complaints } = await open(browser, page(failedRun()));
  expect(requests).toEqual([expect.stringMatching(/^file:.*report\.html$/)]);
  expect(complaints).toEqual([]);
  expect(await report.title()).toBe('deploy on lab: failed: rpc-2');
  expect(await report.locator('h2').allTextContents()).toEqual([
    'Failures',
    'Changes',
    'Warnings and unknown',
    'Ok after a wait',
    'Tasks',
    'Timeline',
    'Totals',
  ]);
  const card = report.locator('#failures .card').first();
  expect(await card.innerText()).toMatch(
    /docker: packages docker-ce[\s\S]*rpc-2[\s\S]*Could not connect[\s\S]*\nHint: the host has to reach download\.docker\.com:443/,
  );
  expect(await report.locator('#failures').innerText()).toContain(
    'npx zx playbooks/deploy.mjs --inventory lab --check',
  );
  expect(await report.locator('.totals tbody th').allInnerTexts()).toEqual(['rpc-2', 'db-1', 'rpc-1']);
  expect(await report.locator('.wait text').allTextContents()).toContain(
    'waits for db-1 (Database+Sync server)',
  );
  await looksDrawn(report);
});

test.each([true, false])(
  'a cell leads to its details, by mouse and keyboard; scripts: %s',
  async (scripts) => {
    const { page: report, complaints } = await open(browser, page(failedRun()), {
      javaScriptEnabled: scripts,
    });
    const line = report.locator('tr', { hasText: 'file /opt/rpc-node/node.config.toml' });
    const target = report.locator(':target');
    await line.locator('td.changed a').nth(1).click();
    await expect.poll(() => target.innerText()).toMatch(/rpc-1 16:43:43 to 16:43:43/);
    expect(await target.locator('del').allInnerTexts()).toContain('-MaxRequestsPerIPAndSecond = 7\n');
    expect(await target.locator('ins').allInnerTexts()).toContain('+MaxRequestsPerIPAndSecond = 10000\n');
    await target.locator('xpath=..').getByRole('link', { name: 'in the matrix' }).click();
    await expect.poll(() => target.locator('th').innerText()).toBe('file /opt/rpc-node/node.config.toml');
    await report.locator('td.failed a').focus();
    await report.keyboard.press('Enter');
    await expect.poll(() => target.locator('h3').innerText()).toContain('packages docker-ce');
    expect(await report.getByRole('searchbox', { name: 'Text' }).isVisible()).toBe(scripts);
    expect(complaints).toEqual([]);
  },
);

test('it is readable with scripts and styles blocked, as in Jenkins', async () => {
  const { page: report } = await open(browser, page(failedRun()));
  const headers = {
    'content-security-policy': "sandbox allow-same-origin; default-src 'none'; style-src 'self'",
  };
  await report.route('**/*', (route) =>
    route.fulfill({ body: page(failedRun()), contentType: 'text/html', headers }),
  );
  await report.goto('http://jenkins.test/report.html');
  expect(await colour(report, '.ending', 'backgroundColor')).toEqual([255, 255, 255]);
  const text = await report.locator('body').innerText();
  for (const shown of [
    '✖ failed: rpc-2',
    'E: Unable to fetch some archives',
    'Hint: the host',
    'C changed 24 s',
    'F failed 31 s',
  ])
    expect(text).toContain(shown);
  for (const hidden of ['form [name]', '.zoom'])
    expect(await report.locator(hidden).first().isVisible()).toBe(false);
  await looksDrawn(report);
});

test('the filter selects hosts, outcomes and text', async () => {
  const { page: report } = await open(browser, page(failedRun()));
  const visible = async (selector: string) =>
    (await report.locator(selector).filter({ visible: true }).allTextContents()).map((text) => text.trim());
  const rows = () => visible('.matrix tbody th[scope=row]');
  const hosts = () => visible('.matrix thead th');
  const all = (await rows()).length;
  await report.locator('.chip', { hasText: 'failed 1' }).click();
  expect(await rows()).toEqual(['packages docker-ce, docker-ce-cli, containerd.io']);
  expect(await hosts()).toEqual(['rpc-2']);
  expect(await visible('.lane-name')).toEqual(['UTC', 'rpc-2']);
  expect(await visible('output')).toEqual(['1 of 3 hosts, 1 of 28 tasks']);
  await report.getByRole('button', { name: 'Show all' }).click();
  await expect.poll(rows).toHaveLength(all);
  await report.locator('.chip', { hasText: 'ok 18' }).click();
  await expect.poll(rows).toContain('CPU has AVX2');
  await report.getByRole('button', { name: 'Show all' }).click();
  await report.getByRole('searchbox', { name: 'Text' }).fill('Restored from');
  await expect.poll(rows).toEqual(['state and prover databases are restored']);
  await report.getByRole('button', { name: 'Show all' }).click();
  await report.getByRole('combobox', { name: 'Host' }).fill('rpc-*');
  await expect.poll(hosts).toEqual(['rpc-1', 'rpc-2']);
  await report.getByRole('searchbox', { name: 'Text' }).fill('MaxRequestsPerIP');
  await expect.poll(rows).toEqual(['file /opt/rpc-node/node.config.toml']);
  expect(await visible('.task')).toHaveLength(1);
  expect(await visible('#failures .card')).toEqual([]);
  const none = `getComputedStyle(document.querySelector('#failures'), '::after').content`;
  expect(await report.evaluate(none)).toContain('None among what is shown.');
  await report.getByRole('searchbox', { name: 'Text' }).fill('nothing says this (');
  await expect.poll(rows).toEqual([]);
});

test('the timeline can be zoomed, without a script', async () => {
  const { page: report } = await open(browser, page(failedRun()), { javaScriptEnabled: false });
  const width = async () => (await report.locator('#h0 > svg').boundingBox())?.width ?? 0;
  const before = await width();
  await report.getByRole('radio', { name: '16×' }).check();
  expect((await width()) / before).toBeCloseTo(16, 0);
  expect(await report.locator('.axis .marks-16').isVisible()).toBe(true);
  expect(await report.locator('.axis .marks-1').isVisible()).toBe(false);
});

test('a killed run and a check run are shown', async () => {
  const killed = await open(browser, page(killedRun()));
  expect(await killed.page.locator('header').innerText()).toContain('no end is recorded');
  expect(await killed.page.locator('#failures').innerText()).toMatch(
    /Not finished[\s\S]*db-1[\s\S]*restoring 1\.7 GiB of 6\.0 GiB/,
  );
  const check = await open(browser, page(checkRun()));
  expect(await check.page.locator('header').innerText()).toContain('check mode');
  expect(await check.page.locator('#failures').innerText()).toMatch(
    /host is reachable[\s\S]*rpc-3[\s\S]*ECONNREFUSED[\s\S]*\nHint: is sshd running/,
  );
  await check.page.locator('.matrix td.pending a').last().click();
  await expect
    .poll(() => check.page.locator(':target').innerText())
    .toContain('docker compose --project-directory /opt/rpc-node up');
  expect([...killed.complaints, ...check.complaints]).toEqual([]);
});

test('markup in a host name, a diff or an error stays text', async () => {
  const { page: report, requests, complaints } = await open(browser, page(hostileRun()));
  for (const cell of await report.locator('.matrix td a').all()) await cell.click();
  for (const folded of await report.locator('details:not([open])').all())
    await folded.locator('summary').click();
  await report.getByRole('searchbox', { name: 'Text' }).fill('<img');
  await expect.poll(async () => report.locator('tr[id] th').filter({ visible: true }).count()).toBe(4);
  expect(await report.locator('img, main script, header script, form script').count()).toBe(0);
  expect(await report.evaluate(`'canary' in window`)).toBe(false);
  expect(await report.locator('h1').innerText()).toContain('<img src=x onerror="window.canary=1"></script>');
  expect(requests.filter((url) => !url.includes('report.html'))).toEqual([]);
  // The policy would have reported a script that it had to block.
  expect(complaints).toEqual([]);
});

test('dark and light mode follow the system, with enough contrast', async () => {
  const seen: number[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page: report } = await open(browser, page(failedRun()), { colorScheme });
    seen.push(luminance(await colour(report, 'body', 'backgroundColor')));
    for (const part of [
      'body',
      '.muted',
      '.ending',
      '.chip .badge.failed',
      '.matrix td.changed',
      '.matrix td:not([class])',
      '.matrix td.failed',
      '.matrix td.warning',
      '.matrix td.unreached',
      '.card .error',
      '.card .muted',
      'a',
      'ins',
      'del',
    ]) {
      const [text, behind] = [
        await colour(report, part, 'color'),
        await colour(report, part, 'backgroundColor'),
      ];
      expect(contrast(text, behind), `${part}, ${colorScheme}`).toBeGreaterThanOrEqual(4.5);
    }
    await looksDrawn(report);
  }
  expect(seen[0]).toBeGreaterThan(0.8);
  expect(seen[1]).toBeLessThan(0.1);
});

test('on a phone nothing is wider than the window, and failures are in view', async () => {
  const { page: report } = await open(browser, page(failedRun()), { viewport: { width: 390, height: 844 } });
  expect(await report.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
  for (const part of ['.totals thead th:nth-child(2)', '.totals .failed', '.matrix td.failed']) {
    const box = await report.locator(part).boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? 1000), part).toBeLessThanOrEqual(390);
  }
  await looksDrawn(report);
});

test('print shows folded sections, and leaves out controls', async () => {
  const { page: report } = await open(browser, page(failedRun()), { javaScriptEnabled: false });
  const difference = report.locator('pre del', { hasText: 'MaxRequestsPerIPAndSecond = 7' });
  expect(await difference.isVisible()).toBe(false);
  await report.emulateMedia({ media: 'print' });
  expect(await difference.isVisible()).toBe(true);
  for (const hidden of ['form [name=text]', '.zoom', 'nav'])
    expect(await report.locator(hidden).isVisible()).toBe(false);
  const paper = (await report.pdf({ format: 'A4' })).toString('latin1');
  expect(paper.startsWith('%PDF')).toBe(true);
});

test('100 hosts by 100 tasks open, filter and show details, with one layout for each action', async () => {
  const html = page(largeRun(100, 100));
  expect(html.length).toBeLessThan(1_200_000);
  const { page: report, complaints } = await open(browser, html);
  const chromium = await report.context().newCDPSession(report);
  await chromium.send('Performance.enable');
  const layouts = async () => {
    const { metrics } = await chromium.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'LayoutCount')?.value ?? Number.NaN;
  };
  expect(await report.locator('.matrix tbody td').count()).toBe(10_000);
  await report.locator('.matrix td.failed').scrollIntoViewIfNeeded();
  const before = await layouts();
  await report.locator('.chip', { hasText: 'failed 1' }).click();
  expect(await report.locator('.matrix td').filter({ visible: true }).count()).toBe(2);
  await report.getByRole('button', { name: 'Show all' }).click();
  await report.getByRole('combobox', { name: 'Host' }).fill('rpc-04*');
  await expect
    .poll(async () => report.locator('.matrix thead th').filter({ visible: true }).count())
    .toBe(10);
  // One for each cell would take minutes.
  expect((await layouts()) - before).toBeLessThan(50);
  await report.locator('.matrix td.changed a').filter({ visible: true }).first().click();
  await expect.poll(() => report.locator(':target pre').count()).toBe(1);
  expect(complaints).toEqual([]);
  await looksDrawn(report);
});

/** A screenshot of the window has many colours: it is not blank. */
async function looksDrawn(report: Page): Promise<void> {
  const png = await report.screenshot();
  const data: Buffer[] = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') data.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  expect(new Set(inflateSync(Buffer.concat(data))).size).toBeGreaterThan(50);
}

type Colour = readonly [red: number, green: number, blue: number];

/** The colour of the first such element; a transparent one has the colour behind it. */
async function colour(
  report: Page,
  selector: string,
  property: 'color' | 'backgroundColor',
): Promise<Colour> {
  const text = await report.evaluate<string>(`(() => {
    for (let each = document.querySelector(${JSON.stringify(selector)}); each; each = each.parentElement) {
      const value = getComputedStyle(each).${property};
      if (value !== 'rgba(0, 0, 0, 0)') return value;
    }
    return 'rgb(255, 255, 255)';
  })()`);
  const [red = 0, green = 0, blue = 0] = (text.match(/[\d.]+/g) ?? []).map(Number);
  return [red, green, blue];
}

/** WCAG 2.2, relative luminance and contrast ratio. */
function luminance(colour: Colour): number {
  const [red = 0, green = 0, blue = 0] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: Colour, b: Colour): number {
  const [darker = 0, lighter = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (lighter + 0.05) / (darker + 0.05);
}
