#!/usr/bin/env zx
// All that has to hold before a change lands: lint, types, no unused code, unit tests, and the
// whole deploy on the lab. A lab that it starts is taken down at the end. Closes with the line `N
// passed, N failed`.
import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { $ } from 'zx';
import { withLabForAWhile } from '../lab/for-a-while.mjs';
import { buildPrograms, installPrograms } from './installed-programs.mjs';

// Go's compiler, Prometheus and Docker's client collect their garbage later: that was a fifth of their
// time.
process.env.GOGC ??= '400';

const inEveryForm = process.env.FAULTS === 'all';
const show = $({ stdio: 'inherit', nothrow: true });
/** Runs a command beside others: its output is shown whole when it ends. */
const showAtEnd = async (/** @type {TemplateStringsArray} */ pieces, /** @type {unknown[]} */ ...values) => {
  const running = $({ nothrow: true, quiet: true })(pieces, ...values);
  const output = await running;
  console.log(`$ ${running.cmd}\n${output.stdout}${output.stderr}`);
  return output;
};
/** npx would take a second for each start. */
const program = 'node_modules/vitest/vitest.mjs';
const ownVitest = `node ${program}`;
/** The oldest and the newest supported Node. */
const versions = ['20.20.2', '24.21.0'];
const major = (/** @type {string} */ version) => version.split('.')[0];
const otherVersions = versions.filter((version) => major(version) !== major(process.versions.node));

const onOthers = otherVersions.map((version) => async () => {
  // Not a dependency: its `node` would then be first on the path of every npx command.
  const node = `npx --yes --package=node-linux-${process.arch}@${version} -- node`;
  const projects = inEveryForm ? ['unit', 'programs'] : ['unit'];
  // What the program needs of Node is in its engine.
  const words = inEveryForm ? [] : ['lib/engine/', 'lib/start/'];
  const counts = await vitest(`${node} ${program}`, projects, showAtEnd, words);
  // A failure of this Node is not repeated with another one.
  return { ...counts, failures: counts.failures.map(({ text }) => ({ text })) };
});
// What only tests use counts as unused, too.
const checks = ['node node_modules/typescript/bin/tsc -p .', 'biome check', 'knip', 'knip --production'].map(
  (command) => () => check(command),
);
// What takes longest is a chain of deployments, which build images first: it begins first.
const deployments = () => vitest(ownVitest, ['lab'], show);
// To the kernel all containers together are as one process: others leave them the processors.
const nice = (/** @type {number} */ by) => `nice -n ${by} ${ownVitest}`;
// These measure seconds.
const alerts = () => vitest(nice(5), ['alerts'], showAtEnd);
const sessions = () => vitest(nice(10), ['sessions'], showAtEnd);
const others = () =>
  inTurn(
    [['unit', 'programs', 'playbooks'], ['gateways']].map(
      (projects) => () => vitest(nice(10), projects, showAtEnd),
    ),
  );
// Each half of their files has servers of its own.
const parts = () => ['1/2', '2/2'].map((half) => vitest(nice(5), ['parts'], showAtEnd, [`--shard=${half}`]));
/** @type {Counts[]} */
const runs = [];
await withLabForAWhile(async () => {
  // Packages of the distribution make the processors wait: the checks run beside them, one after
  // another.
  const checking = inTurn(checks);
  await installPrograms();
  const chain = deployments();
  const [engine, checked] = await Promise.all([inTurn(onOthers), checking, buildPrograms()]);
  runs.push(...engine, ...checked);
  const streams = [chain, alerts(), sessions(), others(), ...parts()];
  runs.push(...(await Promise.all(streams)).flat());
  // The own tests of the lab's stand-ins.
  if (inEveryForm) runs.push(await check('docker build --target tested lab/standins'));
});
const again = filesToRepeat();
// On a lab of its own: the last deployment leaves one that no other begins with. The end of the lab
// took programs along.
if (again.length > 0) {
  await installPrograms();
  await withLabForAWhile(() => repeatAlone(again));
}
// Again at the end, where they are found at once.
const failed = runs.flatMap(({ failures }) => failures);
for (const { text } of failed) console.log(text);
const passed = runs.reduce((total, counts) => total + counts.passed, 0);
console.log(`${passed} passed, ${failed.length} failed`);
process.exitCode = failed.length > 0 ? 1 : 0;

/**
 * Files with a failure. Many are no accident: they are not repeated. Nor is anything where a failure
 * is of no file.
 */
function filesToRepeat() {
  const failures = runs.flatMap((counts) => counts.failures);
  const files = [...new Set(failures.flatMap(({ file }) => file ?? []))];
  return files.length > 6 || failures.some(({ file }) => file === undefined) ? [] : files;
}

/**
 * Runs files once more, with nothing beside them: on a busy machine a test may wait too short. A
 * file that passes now counts as passed, and is named.
 *
 * @param {readonly string[]} files
 */
async function repeatAlone(files) {
  console.log(`Once more, alone: ${files.join(' ')}`);
  const projects = ['unit', 'programs', 'playbooks', 'alerts', 'gateways', 'sessions', 'parts', 'lab'];
  // Vitest refuses files of projects with different numbers of workers in one run.
  const again = await inTurn(files.map((file) => () => vitest(ownVitest, projects, show, [file])));
  // A file whose tests are skipped now has not passed.
  const passes = new Set(again.flatMap((run) => (run.failures.length === 0 ? run.files : [])));
  for (const counts of runs) {
    const passed = counts.failures.filter(({ file }) => file !== undefined && passes.has(file));
    for (const { text } of passed) console.log(`passed alone, after this:\n${text}`);
    counts.failures = counts.failures.filter((failure) => !passed.includes(failure));
    counts.passed += passed.length;
  }
}

/**
 * @param {string} command that is one check
 * @returns {Promise<Counts>}
 */
async function check(command) {
  const { ok } = await showAtEnd`${command.split(' ')}`;
  return { passed: ok ? 1 : 0, files: [], failures: ok ? [] : [{ text: `FAIL ${command}` }] };
}

/**
 * @template T
 * @param {readonly (() => Promise<T>)[]} steps each begins where the one before it ends
 */
async function inTurn(steps) {
  const results = [];
  for (const step of steps) results.push(await step());
  return results;
}

/**
 * @typedef {import('./report.mjs').Failure} Failure
 * @typedef {import('./report.mjs').Counts} Counts
 */

/**
 * @param {string} command words that start vitest
 * @param {readonly string[]} projects
 * @param {typeof showAtEnd} run
 * @param {readonly string[]} [words] files or options of vitest; default: all of these projects
 * @returns {Promise<Counts>}
 */
async function vitest(command, projects, run, words = []) {
  const report = join(tmpdir(), `rpc-playbooks-tests-${process.pid}-${randomUUID()}.json`);
  const chosen = projects.map((project) => `--project=${project}`);
  const vitestWords = `env TEST_REPORT=${report} ${command} run`.split(' ');
  const { ok } = await run`${vitestWords} ${chosen} ${words} --reporter=default --reporter=./test/report.mjs`;
  // Without network this Node cannot be fetched, and there is no report.
  const counts = JSON.parse(
    await readFile(report, 'utf8').catch(() => '{ "passed": 0, "files": [], "failures": [] }'),
  );
  await rm(report, { force: true });
  if (!ok && counts.failures.length === 0) counts.failures.push({ text: `FAIL ${command}` });
  return counts;
}
