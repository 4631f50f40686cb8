#!/usr/bin/env zx
// All that has to hold before a change lands: lint, types, no unused code, unit tests, and the whole deploy on the lab.
// A lab that it starts is taken down at the end.
// Closes with the line `N passed, N failed`.
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { $ } from 'zx';
import { canInstall, installPackages, isInstalled } from '../lab/engine.mjs';
import { withLabForAWhile } from '../lab/for-a-while.mjs';
import { getPromtool } from './promtool.mjs';

const show = $({ stdio: 'inherit', nothrow: true });
/** The oldest and the newest supported Node. */
const versions = ['20.20.2', '24.21.0'];
const major = (/** @type {string} */ version) => version.split('.')[0];
const others = versions.filter((version) => major(version) !== major(process.versions.node));

// Tests compare our encryption with that of another program if it is installed.
if (canInstall() && !(await isInstalled('age'))) await installPackages('age');
// Checks every shell script.
if (canInstall() && !(await isInstalled('shellcheck'))) await installPackages('shellcheck');
// Tests the rules for alerts.
if (canInstall()) await getPromtool();
// The gateway's own program, with small RPC hosts of the test around it.
if (canInstall() && !(await isInstalled('haproxy'))) await installPackages('haproxy');
// Tests of the firewall send packets between network namespaces.
if (canInstall() && !(await isInstalled('ip'))) await installPackages('iproute2');

const lint = await show`npx biome check`;
const types = await show`npx tsc -p .`;
const unused = await show`npx knip`;
// What only tests use counts as unused, too.
const testedOnly = await show`npx knip --production`;
/** @type {{ passed: number, failed: number }[]} */
const runs = [];
for (const version of others) {
  // Not a dependency: its `node` would then be first on the path of every npx command.
  const node = `npx --yes --package=node-linux-${process.arch}@${version} -- node`;
  runs.push(await vitest(`${node} node_modules/vitest/vitest.mjs`, ['unit']));
}
runs.push(await withLabForAWhile(() => vitest('npx vitest', ['unit', 'playbooks', 'lab'])));
const checks = [lint, types, unused, testedOnly].map(({ ok }) => ({ passed: ok ? 1 : 0, failed: ok ? 0 : 1 }));
const sum = (/** @type {'passed' | 'failed'} */ which) =>
  [...checks, ...runs].reduce((total, counts) => total + counts[which], 0);
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
process.exitCode = sum('failed') > 0 ? 1 : 0;

/**
 * @param {string} command words that start vitest
 * @param {readonly string[]} projects
 */
async function vitest(command, projects) {
  const report = join(tmpdir(), `rpc-playbooks-tests-${process.pid}.json`);
  const chosen = projects.map((project) => `--project=${project}`);
  const { ok } =
    await show`${command.split(' ')} run ${chosen} --reporter=default --reporter=json --outputFile=${report}`;
  // Without network this Node cannot be fetched, and there is no report.
  const counts = JSON.parse(await readFile(report, 'utf8').catch(() => '{ "numPassedTests": 0, "numFailedTests": 0 }'));
  await rm(report, { force: true });
  // A suite that fails before its first test has no failed test, but it failed.
  return { passed: counts.numPassedTests, failed: Math.max(counts.numFailedTests, ok ? 0 : 1) };
}
