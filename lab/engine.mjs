import { spawn } from 'node:child_process';
import { existsSync, openSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lastLines, quietly } from './docker.mjs';
import { LabError } from './lab-error.mjs';
import { stateDirectory } from './layout.mjs';

const pidFile = join(stateDirectory, 'dockerd.pid');
const logFile = join(stateDirectory, 'dockerd.log');

/** Files that a Docker engine started by the lab needs as long as it runs. */
export const engineFiles = ['dockerd.pid', 'dockerd.log'];

/**
 * Makes sure that a Docker engine answers: uses a running one, otherwise installs and starts one
 * if that is possible.
 *
 * @param {import('./script.mjs').Log} log
 * @throws {LabError} if no engine answers and none can be installed or started
 */
export async function ensureEngine(log) {
  const complaint = await engineComplaint();
  if (complaint === undefined) return;
  // An engine that the user chose is not replaced by one installed here.
  if (!canInstall() || process.env.DOCKER_HOST) {
    throw new LabError(
      `The lab needs a Docker engine, but none answers: ${complaint}`,
      'Install one (Debian, Ubuntu: apt-get install docker.io), start it, and make sure that "docker ps" works for this user; or run as root on Debian, where the lab does that itself.',
    );
  }
  if (!(await isInstalled('dockerd')) || !(await isInstalled('docker'))) {
    log('lab: installing the Docker engine from Debian packages');
    // The client is a separate package since Debian 13; with AppArmor in the kernel, the engine
    // needs AppArmor's parser.
    const more = [];
    await updatePackageLists();
    if ((await quietly`apt-cache show docker-cli`).ok) more.push('docker-cli');
    if (existsSync('/sys/module/apparmor')) more.push('apparmor');
    await installPackages('docker.io', ...more);
  }
  await startEngine(log);
}

/**
 * Stops the engine if the lab started it and nobody else uses it.
 *
 * @param {import('./script.mjs').Log} log
 * @returns {Promise<boolean>} whether an engine started by the lab still runs
 */
export async function stopOwnEngine(log) {
  const pid = await ownEnginePid();
  if (pid === undefined) return false;
  const others = await quietly`docker ps --all --quiet`;
  if (!others.ok || others.stdout.trim() !== '') {
    log('lab: the Docker engine was started by the lab, but has other containers: still running');
    return true;
  }
  process.kill(pid, 'SIGTERM');
  for (let tries = 0; tries < 100 && (await ownEnginePid()) !== undefined; tries += 1) await sleep(200);
  if ((await ownEnginePid()) !== undefined) {
    log(`lab: the Docker engine (process ${pid}) does not stop: still running`);
    return true;
  }
  log('lab: stopped the Docker engine that the lab had started');
  return false;
}

/**
 * Installs Debian packages on this machine.
 *
 * @param {...string} names
 */
export async function installPackages(...names) {
  const noQuestions = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const install = () =>
    quietly({
      env: noQuestions,
    })`apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends ${names}`;
  let installed = await install();
  if (!installed.ok) {
    await updatePackageLists();
    installed = await install();
  }
  if (!installed.ok) {
    throw new LabError(
      `apt-get could not install ${names.join(', ')}: ${lastLines(installed.stderr)}`,
      'Install it by hand and run this again.',
    );
  }
}

/** Whether Debian packages can be installed here: apt-get exists and the user is root. */
export function canInstall() {
  return process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
}

/** @param {string} program */
export async function isInstalled(program) {
  return (await quietly({ env: withSystemPath() })`command -v ${program}`).ok;
}

async function updatePackageLists() {
  await quietly`apt-get -o DPkg::Lock::Timeout=300 update`;
}

/** @param {import('./script.mjs').Log} log */
async function startEngine(log) {
  // If the package's own start script works, the engine may be starting already.
  if (await engineAnswersWithin(3)) return;
  if (existsSync('/run/systemd/system')) {
    log('lab: starting the Docker engine (systemd)');
    await quietly`systemctl start docker`;
    if (await engineAnswersWithin(30)) return;
    const journal = await quietly`journalctl --unit docker --lines 5 --output cat --no-pager`;
    throw new LabError(
      `The Docker engine does not start:\n  ${lastLines(journal.stdout)}`,
      'See "systemctl status docker".',
    );
  }
  let ended = () => false;
  if (!(await enginePidFileIsAlive())) {
    log(`lab: starting the Docker engine (dockerd; its log is ${logFile})`);
    await mkdir(stateDirectory, { recursive: true });
    const output = openSync(logFile, 'a');
    const engine = spawn('dockerd', {
      detached: true,
      stdio: ['ignore', output, output],
      env: withSystemPath(),
    });
    engine.on('error', () => {});
    engine.unref();
    ended = () => engine.exitCode !== null || engine.pid === undefined;
    if (engine.pid !== undefined) await writeFile(pidFile, `${engine.pid}\n`);
  }
  if (await engineAnswersWithin(60, ended)) return;
  const text = await readFile(logFile, 'utf8').catch(() => '');
  throw new LabError(
    `The Docker engine does not start:\n  ${lastLines(text)}`,
    `The whole log is ${logFile}.`,
  );
}

/**
 * @param {number} seconds
 * @param {() => boolean} ended whether there is nothing more to wait for
 */
async function engineAnswersWithin(seconds, ended = () => false) {
  for (const end = Date.now() + seconds * 1000; Date.now() < end && !ended(); await sleep(200)) {
    if ((await engineComplaint()) === undefined) return true;
  }
  return false;
}

/** @returns {Promise<string | undefined>} why no engine answers; undefined when one does */
async function engineComplaint() {
  const version = await quietly`docker version --format '{{.Server.Version}}'`;
  return version.ok ? undefined : lastLines(version.stderr, 1);
}

async function enginePidFileIsAlive() {
  return isEngine(Number(await readFile('/var/run/docker.pid', 'utf8').catch(() => '')));
}

async function ownEnginePid() {
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
  if (await isEngine(pid)) return pid;
  await rm(pidFile, { force: true });
  return undefined;
}

/**
 * Whether the process is a Docker engine: process numbers are reused, and a dead process has no
 * command line any more.
 *
 * @param {number} pid
 */
async function isEngine(pid) {
  if (!(pid > 0)) return false;
  const [program = ''] = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
  return program.endsWith('dockerd');
}

/** A root shell of `su` may lack the directories of system programs. */
function withSystemPath() {
  return { ...process.env, PATH: `${process.env.PATH ?? '/usr/bin:/bin'}:/usr/local/sbin:/usr/sbin:/sbin` };
}
