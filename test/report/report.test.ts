import { inflateSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { $ } from 'zx';
import { reportHtml } from '../../lib/engine/report/report-html.ts';
import { checkRun, failedRun, hostileRun, killedRun, largeRun } from '../../lib/engine/report/testdata/runs.ts';
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

test('the scripts of the page hold their types', async () => {
  const checked = await $({ nothrow: true })`node_modules/.bin/tsc -p lib/report/page`;
  expect(checked.exitCode, checked.stdout).toBe(0);
});

test('it opens from disk, asks for nothing else, and has failures first', async () => {
  const { page: report, requests, complaints } = await open(browser, page(failedRun()));
  expect(requests).toEqual([expect.stringMatching(/^file:.*report\.html$/)]);
  expect(complaints).toEqual([]);
  expect(await report.title()).toBe('deploy on lab: failed: rpc-2');
  expect(await report.locator('h2').allTextContents()).toEqual([
    'Failures',
    'Hosts',
    'Resources',
    'Timelinezoom ',
    'Changes',
    'Warnings and unknown',
  ]);
  const card = report.locator('#failures .card').first();
  expect(await card.innerText()).toMatch(
    /docker: packages docker-ce[\s\S]*rpc-2[\s\S]*Could not connect[\s\S]*the host has to reach download\.docker\.com:443/,
  );
  expect(await report.locator('#failures').innerText()).toContain(
    'npx zx playbooks/deploy.mjs --inventory lab --check',
  );
  expect(await report.locator('.totals tbody th').allInnerTexts()).toEqual(['rpc-2', 'db-1', 'rpc-1']);
  await report.locator('#timeline').scrollIntoViewIfNeeded();
  await expect
    .poll(() => report.locator('.stretch.wait').allInnerTexts())
    .toContain('waits for db-1 (Database+Sync server)');
  await looksDrawn(report);
});

test('a cell opens its details, by the mouse and by keys, and gives the focus back', async () => {
  const { page: report } = await open(browser, page(failedRun()));
  const dialog = report.locator('#details');
  await report.locator('tr', { hasText: 'file /opt/rpc-node/node.config.toml' }).locator('td.changed').nth(1).click();
  expect(await dialog.innerText()).toMatch(/node\.config\.toml[\s\S]*rpc-1[\s\S]*changed/);
  expect(await dialog.locator('.removed').allInnerTexts()).toContain('-MaxRequestsPerIPAndSecond = 7\n');
  expect(await dialog.locator('.added').allInnerTexts()).toContain('+MaxRequestsPerIPAndSecond = 10000\n');
  await report.keyboard.press('Escape');
  expect(await dialog.isVisible()).toBe(false);
  const focus = () => report.evaluate(`document.activeElement.getAttribute('aria-label')`);
  expect(await focus()).toBe('rpc-1, configuration: file /opt/rpc-node/node.config.toml: changed');
  await report.keyboard.press('ArrowRight');
  expect(await focus()).toBe('rpc-2, configuration: file /opt/rpc-node/node.config.toml: not reached');
  await report.keyboard.press('ArrowUp');
  await report.keyboard.press('Enter');
  expect(await dialog.innerText()).toMatch(/disk-alert[\s\S]*rpc-2/);
});

test('the filter leaves hosts, outcomes and text', async () => {
  const { page: report } = await open(browser, page(failedRun()));
  const rows = () => report.locator('.matrix tbody th[scope=row]').allInnerTexts();
  const hosts = () => report.locator('.matrix thead th').allInnerTexts();
  const all = (await rows()).length;
  await report.getByRole('button', { name: 'failed 1' }).click();
  expect(await rows()).toEqual(['packages docker-ce, docker-ce-cli, containerd.io']);
  expect(await hosts()).toEqual(['rpc-2']);
  await report.getByRole('button', { name: 'Show all' }).click();
  expect(await rows()).toHaveLength(all);
  await report.getByRole('combobox', { name: 'Host' }).fill('rpc-*');
  await expect.poll(hosts).toEqual(['rpc-1', 'rpc-2']);
  await report.getByRole('searchbox', { name: 'Text' }).fill('MaxRequestsPerIP');
  await expect.poll(rows).toEqual(['file /opt/rpc-node/node.config.toml']);
  expect(await report.locator('#failures').innerText()).toContain('None among what is shown.');
  await report.getByRole('searchbox', { name: 'Text' }).fill('nothing says this (');
  await expect.poll(async () => report.locator('#matrix').innerText()).toContain('None is left by the filter.');
});

test('a killed run and a check run are shown', async () => {
  const killed = await open(browser, page(killedRun()));
  expect(await killed.page.locator('#head').innerText()).toContain('no end is recorded');
  expect(await killed.page.locator('#failures').innerText()).toMatch(
    /Not finished[\s\S]*db-1[\s\S]*restoring 1\.7 GiB of 6\.0 GiB/,
  );
  const check = await open(browser, page(checkRun()));
  expect(await check.page.locator('#head').innerText()).toContain('check mode');
  expect(await check.page.locator('#failures').innerText()).toMatch(/unreachable[\s\S]*rpc-3[\s\S]*ECONNREFUSED/);
  await check.page.locator('.matrix td.pending').last().click();
  expect(await check.page.locator('#details').innerText()).toContain(
    'docker compose --project-directory /opt/rpc-node up',
  );
  expect([...killed.complaints, ...check.complaints]).toEqual([]);
});

test('markup from a host, a difference or an error stays text', async () => {
  const { page: report, requests, complaints } = await open(browser, page(hostileRun()));
  for (const cell of await report.locator('td[data-cell]').all()) {
    await cell.click();
    await report.keyboard.press('Escape');
  }
  for (const change of await report.locator('details:not([open])').all()) await change.locator('summary').click();
  await report.getByRole('searchbox', { name: 'Text' }).fill('<img');
  await expect.poll(async () => report.locator('.matrix tbody th[scope=row]').count()).toBe(3);
  expect(await report.locator('img, #main script, #head script, dialog script').count()).toBe(0);
  expect(await report.evaluate(`'canary' in window`)).toBe(false);
  expect(await report.locator('#head h1').innerText()).toContain('<img src=x onerror="window.canary=1"></script>');
  expect(requests).toHaveLength(1);
  // The policy would have complained had it had to keep a script from running.
  expect(complaints).toEqual([]);
});

test('dark and light follow the system, with a contrast that can be read', async () => {
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
      '.matrix td.ok',
      '.matrix td.failed',
      '.matrix td.warning',
      '.card .error',
      'ins',
      'del',
    ]) {
      const [text, behind] = [await colour(report, part, 'color'), await colour(report, part, 'backgroundColor')];
      expect(contrast(text, behind), `${part}, ${colorScheme}`).toBeGreaterThanOrEqual(4.5);
    }
    await looksDrawn(report);
  }
  expect(seen[0]).toBeGreaterThan(0.8);
  expect(seen[1]).toBeLessThan(0.1);
});

test('it fits a narrow window, and paper', async () => {
  const { page: report } = await open(browser, page(failedRun()), { viewport: { width: 390, height: 844 } });
  expect(await report.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
  await looksDrawn(report);
  const paper = (await report.pdf({ format: 'A4' })).toString('latin1');
  expect(paper.startsWith('%PDF')).toBe(true);
});

test('100 hosts by 100 resources open, filter and give details within seconds', async () => {
  const html = page(largeRun(100, 100));
  expect(html.length).toBeLessThan(1_000_000);
  const began = performance.now();
  const { page: report, complaints } = await open(browser, html);
  await expect.poll(async () => report.locator('td[data-cell]').count()).toBe(10_000);
  await report.locator('.matrix td.failed').scrollIntoViewIfNeeded();
  expect(performance.now() - began).toBeLessThan(5000);
  const filtering = performance.now();
  await report.getByRole('button', { name: /^failed/ }).click();
  expect(await report.locator('td[data-cell]').count()).toBe(1);
  await report.getByRole('button', { name: 'Show all' }).click();
  await report.getByRole('combobox', { name: 'Host' }).fill('rpc-04*');
  await expect.poll(async () => report.locator('.matrix thead th').count()).toBe(10);
  expect(performance.now() - filtering).toBeLessThan(5000);
  await report.locator('.matrix td.changed').first().click();
  expect(await report.locator('#details .diff').count()).toBe(1);
  expect(complaints).toEqual([]);
  await report.keyboard.press('Escape');
  await looksDrawn(report);
});

/** A screenshot of what is in the window has many colours: it is not blank. */
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

/** The colour of the first such element; a transparent one has that of what is behind it. */
async function colour(report: Page, selector: string, property: 'color' | 'backgroundColor'): Promise<Colour> {
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
