#!/usr/bin/env zx
// Brings about every fault there is a test of, on the lab and on hosts that the tests make, and writes what came of it into
// docs/reliability.md. Given files (npm run faults -- test/faults/long/snapshot), it brings about theirs, and leaves the other rows.
import { readFile, rm, writeFile } from 'node:fs/promises';
import { arch, cpus, release, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { $ } from 'zx';
import { projectRoot } from '../../lab/layout.mjs';
import { argumentsOf } from '../../lib/typescript.mjs';

/** @typedef {{ title: string, ancestorTitles: string[], status: string, duration?: number, meta: { measured?: string } }} Result */

const page = join(projectRoot, 'docs/reliability.md');
const mark = '<!-- table -->\n';
const seed = process.env.FAULTS_SEED ?? '20240501';
const chosen = argumentsOf(import.meta.url);
const files = chosen.length > 0 ? chosen : ['test/faults'];
const report = join(tmpdir(), `rpc-playbooks-faults-${process.pid}.json`);

const run = await $({
  stdio: 'inherit',
  nothrow: true,
  env: { ...process.env, FAULTS: 'all', FAULTS_SEED: seed },
})`npx vitest run \
  --project faults --project lab ${files} --reporter=default --reporter=json --outputFile=${report}`;
/** @type {{ testResults: { name: string, assertionResults: Result[] }[] }} */
const { testResults } = JSON.parse(await readFile(report, 'utf8'));
await rm(report);

const [before = '', after = ''] = (await readFile(page, 'utf8')).split(mark);
const kept = after.split(/^(?=### )/m).filter((section) => section.startsWith('### '));
const sections = new Map(kept.map((section) => [titleOf(section), section]));
for (const section of sectionsOf(testResults.flatMap((file) => file.assertionResults))) {
  sections.set(titleOf(section), section);
}
await writeFile(
  page,
  `${before}${mark}${[...sections]
    .sort()
    .map(([, section]) => `\n${section.trim()}\n`)
    .join('')}`,
);
process.exitCode = run.ok ? 0 : 1;

/** @param {string} section */
function titleOf(section) {
  return section.split('\n', 1)[0] ?? '';
}

/** @param {readonly Result[]} results @returns {string[]} one for each suite */
function sectionsOf(results) {
  const ran = results.filter(({ status }) => status === 'passed' || status === 'failed');
  const where = `Node ${process.versions.node}, Linux ${release()} ${arch()}, ${cpus().length} processors, ${Math.round(totalmem() / 2 ** 30)} GiB`;
  const facts = `${new Date().toISOString().slice(0, 10)}, seed ${seed}, ${where}.`;
  return [...new Set(ran.map(suiteOf))].map((suite) => {
    const rows = ran.filter((result) => suiteOf(result) === suite).map(row);
    const title = `### ${suite.charAt(0).toUpperCase()}${suite.slice(1)}`;
    return [title, '', facts, '', '| Fault | Result | Time |', '|---|---|---|', ...rows].join('\n');
  });
}

/** @param {Result} result */
function suiteOf({ ancestorTitles }) {
  return ancestorTitles.join(', ');
}

/** @param {Result} result */
function row({ title, status, duration = 0, meta }) {
  const result = [status, meta.measured].filter(Boolean).join(': ');
  return `| ${title.replaceAll('|', '\\|')} | ${result} | ${(duration / 1000).toFixed(duration < 10_000 ? 1 : 0)} s |`;
}
