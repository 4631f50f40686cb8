import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { installPackages } from '../../lab/engine.mjs';

const program = '/usr/bin/chromium-headless-shell';

/** A real headless Chromium, Debian's own. Without a font it would draw no letter. */
export async function startBrowser(): Promise<Browser> {
  if (!existsSync(program)) await installPackages('chromium-headless-shell', 'fonts-dejavu-core');
  return chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
}

/** A page opened from disk, with its requests and errors. */
export interface Opened {
  readonly page: Page;
  /** Addresses that it requested. */
  readonly requests: readonly string[];
  /** Errors, and all console output. */
  readonly complaints: readonly string[];
}

/** Opens a page from a file, with no network. It is closed when the test ends. */
export async function open(
  browser: Browser,
  html: string,
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const folder = mkdtempSync(join(tmpdir(), 'report-'));
  const context = await browser.newContext({
    offline: true,
    viewport: { width: 1360, height: 900 },
    ...options,
  });
  onTestFinished(async () => {
    await context.close();
    rmSync(folder, { recursive: true });
  });
  const page = await context.newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => complaints.push(message.text()));
  const file = join(folder, 'report.html');
  writeFileSync(file, html);
  await page.goto(pathToFileURL(file).href);
  return { page, requests, complaints };
}
