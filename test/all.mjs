#!/usr/bin/env zx
// All that has to hold before a change lands: lint, types, unit tests, and the whole deploy on the lab.
// Closes with the line `N passed, N failed`.
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { $ } from 'zx';
import { canInstall, installPackages, isInstalled } from '../lab/engine.mjs';

const show = $({ stdio: 'inherit', nothrow: true });
const report = join(tmpdir(), `rpc-playbooks-tests-${process.pid}.json`);

// Another program that reads what ours encrypts: tests compare the two where it is there.
if (canInstall() && !(await isInstalled('age'))) await installPackages('age');
// Every shell script has to pass it.
if (canInstall() && !(await isInstalled('shellcheck'))) await installPackages('shellcheck');
// Tests of the firewall send packets between network namespaces.
if (canInstall() && !(await isInstalled('ip'))) await installPackages('iproute2');

const lint = await show`npx biome check`;
const types = await show`npx tsc -p .`;
const tests =
  await show`npx vitest run --project unit --project playbooks --project lab --reporter=default --reporter=json --outputFile=${report}`;

/** @type {{ numPassedTests: number, numFailedTests: number, numTotalTestSuites: number, numFailedTestSuites: number }} */
const counts = JSON.parse(await readFile(report, 'utf8'));
await rm(report);
const checks = [lint, types];
const passed = counts.numPassedTests + checks.filter((check) => check.ok).length;
// A suite that fails before its first test has no failed test, yet it did fail.
const failedTests = Math.max(counts.numFailedTests, tests.ok ? 0 : 1);
const failed = failedTests + checks.filter((check) => !check.ok).length;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
