#!/usr/bin/env zx
// Brings about every fault there is a test of, on the lab and on hosts that the tests make, and writes docs/reliability.md.
import { readFile, rm, writeFile } from 'node:fs/promises';
import { arch, cpus, release, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { $ } from 'zx';
import { projectRoot } from '../../lab/layout.mjs';

/** @typedef {{ title: string, ancestorTitles: string[], status: string, duration?: number, meta: { measured?: string } }} Result */

const report = join(tmpdir(), `rpc-playbooks-faults-${process.pid}.json`);
const seed = process.env.FAULTS_SEED ?? '20240501';
const run = await $({ stdio: 'inherit', nothrow: true, env: { ...process.env, FAULTS_SEED: seed } })`npx vitest run \
  --project faults --project lab test/faults --reporter=default --reporter=json --outputFile=${report}`;
/** @type {{ testResults: { name: string, assertionResults: Result[] }[] }} */
const { testResults } = JSON.parse(await readFile(report, 'utf8'));
await rm(report);

const results = testResults.sort((a, b) => (a.name < b.name ? -1 : 1)).flatMap((file) => file.assertionResults);
const passed = results.filter(({ status }) => status === 'passed').length;
const failed = results.filter(({ status }) => status === 'failed').length;
const text = await readFile(join(projectRoot, 'docs/reliability.md'), 'utf8');
const [before = ''] = text.split('<!-- table -->\n');
await writeFile(join(projectRoot, 'docs/reliability.md'), `${before}<!-- table -->\n${table()}`);
console.log(`${passed} passed, ${failed} failed; docs/reliability.md is written`);
process.exitCode = run.ok ? 0 : 1;

function table() {
  const sections = new Map();
  for (const result of results) {
    const section = result.ancestorTitles.join(', ') || 'else';
    sections.set(section, [...(sections.get(section) ?? []), result]);
  }
  const where = `Node ${process.versions.node}, Linux ${release()} ${arch()}, ${cpus().length} processors, ${Math.round(totalmem() / 2 ** 30)} GiB`;
  const lines = [
    `${new Date().toISOString().slice(0, 10)}, seed ${seed}, ${where}: ${passed} passed, ${failed} failed.`,
  ];
  for (const [section, rows] of sections) {
    lines.push(
      '',
      `### ${section[0].toUpperCase()}${section.slice(1)}`,
      '',
      '| Fault | Result | Time |',
      '|---|---|---|',
    );
    for (const { title, status, duration = 0, meta } of rows) {
      const result = [status, meta.measured].filter(Boolean).join(': ');
      lines.push(
        `| ${title.replaceAll('|', '\\|')} | ${result} | ${(duration / 1000).toFixed(duration < 10_000 ? 1 : 0)} s |`,
      );
    }
  }
  return `${lines.join('\n')}\n`;
}
