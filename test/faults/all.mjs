#!/usr/bin/env zx
// Injects every fault that has a test, on the lab and on hosts that the tests make, and writes the
// results into the pages docs/faults*.md. With arguments for vitest (npm run faults --
// test/faults/long/snapshot -t 503) it runs only the matching tests, and keeps the other rows.
// `npm run faults -- --rows` runs nothing: a new test gets its row, and the row of a test that is
// gone goes.
import { readFile, rm, writeFile } from 'node:fs/promises';
import { cpus, release, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { $ } from 'zx';
import { projectRoot } from '../../lab/layout.mjs';
import { commandLine } from '../../lib/start/command-line.mjs';
import { installPrograms } from '../installed-programs.mjs';
import { listFaultTests, places, projects } from './list.mjs';
import { pages, withResults } from './results-page.mjs';

const seed = process.env.FAULTS_SEED ?? '20240501';
const onlyRows = commandLine.includes('--rows');
const chosen = commandLine.length > 0 ? commandLine : places;
const commit = await $`git rev-parse --short=8 HEAD`;
const changed = await $`git status --porcelain -- . :!docs`;
const [processor] = cpus();
const run = {
  day: new Date().toISOString().slice(0, 10),
  // A plus sign: files had changed since.
  commit: `${commit.text().trim()}${changed.text() === '' ? '' : '+'}`,
  seed,
  machine: `Linux ${release()}, ${cpus().length} processors (${processor?.model}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`,
};
const results = onlyRows ? [] : await inject();
const tests = await listFaultTests();
for (const { file } of pages) {
  const page = join(projectRoot, file);
  await writeFile(page, withResults(await readFile(page, 'utf8'), file, results, tests, run));
}

/** @returns {Promise<import('./results-page.mjs').Result[]>} */
async function inject() {
  await installPrograms();
  const report = join(tmpdir(), `rpc-playbooks-faults-${process.pid}.json`);
  const env = { ...process.env, FAULTS: 'all', FAULTS_SEED: seed };
  const { ok } = await $({
    stdio: 'inherit',
    nothrow: true,
    env,
  })`npx vitest run ${projects} ${chosen} --reporter=default --reporter=json --outputFile=${report}`;
  process.exitCode = ok ? 0 : 1;
  /** @type {{ testResults: { name: string, assertionResults: import('./results-page.mjs').Result[] }[] }} */
  const { testResults } = JSON.parse(await readFile(report, 'utf8'));
  await rm(report);
  return testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map((result) => ({ ...result, file: name })),
  );
}
