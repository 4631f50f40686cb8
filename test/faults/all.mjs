#!/usr/bin/env zx
// Injects every fault that has a test, on the lab and on hosts that the tests make, and writes the
// results into the pages docs/faults*.md. With arguments for vitest (npm run faults --
// test/faults/long/snapshot -t 503) it runs only the matching tests, and keeps the other rows.
import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { $ } from 'zx';
import { projectRoot } from '../../lab/layout.mjs';
import { commandLine } from '../../lib/start/command-line.mjs';
import { pages, resultsOn, withResults } from './results-page.mjs';

const seed = process.env.FAULTS_SEED ?? '20240501';
const chosen = commandLine;
const report = join(tmpdir(), `rpc-playbooks-faults-${process.pid}.json`);

const run = await $({
  stdio: 'inherit',
  nothrow: true,
  env: { ...process.env, FAULTS: 'all', FAULTS_SEED: seed },
})`npx vitest run \
  --project faults --project parts --project services --project lab ${chosen.length > 0 ? chosen : ['test/faults']} --reporter=default --reporter=json --outputFile=${report}`;
/** @type {{ testResults: { assertionResults: import('./results-page.mjs').Result[] }[] }} */
const { testResults } = JSON.parse(await readFile(report, 'utf8'));
await rm(report);

const results = testResults.flatMap((file) => file.assertionResults);
const today = new Date().toISOString().slice(0, 10);
for (const { file } of pages) {
  const page = join(projectRoot, file);
  const text = await readFile(page, 'utf8');
  // After a full run: rows of renamed tests are removed.
  const kept = chosen.length > 0 ? text : `${text.split('<!-- table -->', 1)[0]}<!-- table -->\n`;
  await writeFile(page, withResults(kept, resultsOn(file, results), today));
}
process.exitCode = run.ok ? 0 : 1;
