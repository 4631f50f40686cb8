import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastLines, quietly } from './docker.mjs';
import { canInstall, installPackages, isInstalled } from './engine.mjs';
import { LabError } from './lab-error.mjs';
import { imageLabel, inputsLabel, labDirectory, stateDirectory } from './layout.mjs';

/** Debian as obtained, before anything of the lab is in it. */
const debian = 'rpc-lab/debian';
const release = 'bookworm';

/**
 * The directory from which each image is built. An image is rebuilt when a file of its directory
 * or of its base has changed. `served` are the stand-ins' images with the names in the lab's
 * registry.
 */
const standIns = join(labDirectory, 'standins');
export const served = [
  { target: 'node', reference: 'node:v3.1.0' },
  { target: 'node-older', reference: 'node:v1.2.3' },
  { target: 'prover', reference: 'prover:v6.0.2' },
  { target: 'prover', reference: 'prover:v1.0.0' },
  { target: 'postgres', reference: 'postgres:15' },
];

/** @param {string} name */
export const imageOf = (name) => `rpc-lab/${name}`;

/** Hash of all inputs of the hosts' image. */
export async function hostInputs() {
  return hashOf(await baseInputs(), await directoryHash(join(labDirectory, 'host')));
}

/** Hash of all inputs of the images of "everything outside" and the stand-ins. */
export async function standInInputs() {
  return hashOf(await baseInputs(), await directoryHash(standIns));
}

/** @param {import('./script.mjs').Log} log */
export async function ensureBaseImage(log) {
  const inputs = await baseInputs();
  if ((await inputsOf(imageOf('base'))) === inputs) return;
  await ensureDebian(log);
  await build({
    name: 'base',
    directory: join(labDirectory, 'base'),
    inputs,
    log,
    arguments: { DEBIAN: debian, MACHINE_APT_CONF: await machineAptConf() },
  });
}

/** @param {import('./script.mjs').Log} log */
export async function ensureHostImage(log) {
  const inputs = await hostInputs();
  if ((await inputsOf(imageOf('host'))) === inputs) return;
  await build({ name: 'host', directory: join(labDirectory, 'host'), inputs, log });
}

/** @param {import('./script.mjs').Log} log */
export async function ensureStandInImages(log) {
  const inputs = await standInInputs();
  for (const target of [...served.map((image) => image.target), 'outside']) {
    if ((await inputsOf(imageOf(target))) === inputs) continue;
    await build({ name: target, target, directory: standIns, inputs, log });
  }
}

/**
 * Removes every image that the lab built, and their intermediate images. Images of others stay,
 * also one that a foreign container runs.
 *
 * @param {import('./script.mjs').Log} log
 */
export async function removeImages(log) {
  const ours = await ownImages();
  // An image can be removed only after those built from it; each round removes the outermost ones.
  let left = ours;
  for (let before = Infinity; left.length > 0 && left.length < before; ) {
    before = left.length;
    await quietly`docker image rm ${left}`;
    const remaining = new Set(await imageIds());
    left = left.filter((id) => remaining.has(id));
  }
  if (left.length > 0) log(`lab: kept ${left.length} of its images, which other containers use`);
  else await quietly`docker image rm ${debian}`;
}

/**
 * @returns {Promise<string[]>} images built here, and those built from them: stages of a build
 * have no name and no label
 */
async function ownImages() {
  const ids = await imageIds();
  if (ids.length === 0) return [];
  const format = `{{.Id}},{{.Parent}},{{index .Config.Labels "${imageLabel}"}}`;
  const inspected = await quietly`docker image inspect --format ${format} ${ids}`;
  const images = inspected.lines().map((line) => {
    const [id = '', parent = '', name = ''] = line.split(',');
    return { id, parent, name };
  });
  const ours = new Set(images.filter((image) => image.name !== '').map((image) => image.id));
  for (let before = 0; before < ours.size; ) {
    before = ours.size;
    for (const image of images) if (ours.has(image.parent)) ours.add(image.id);
  }
  return [...ours];
}

async function imageIds() {
  return [...new Set((await quietly`docker image ls --all --quiet --no-trunc`).lines())];
}

/**
 * Gets Debian from a registry if one answers, otherwise by debootstrap.
 *
 * @param {import('./script.mjs').Log} log
 */
async function ensureDebian(log) {
  if ((await quietly`docker image inspect ${debian}`).ok) return;
  const official = `debian:${release}-slim`;
  const hadIt = (await quietly`docker image inspect ${official}`).ok;
  const pulled = hadIt || (await quietly`timeout 120 docker pull --quiet ${official}`).ok;
  if (pulled) {
    log(`lab: base system: ${official}`);
    await quietly`docker tag ${official} ${debian}`;
    if (!hadIt) await quietly`docker image rm ${official}`;
    return;
  }
  if (!canInstall()) {
    throw new LabError(
      `The lab needs Debian's image and no registry has ${official}`,
      `Load it into the Docker engine (docker load), or run as root on Debian, where the lab creates it by debootstrap.`,
    );
  }
  log('lab: base system: no image registry answers, created by debootstrap');
  if (!(await isInstalled('debootstrap'))) await installPackages('debootstrap', 'debian-archive-keyring');
  const root = await mkdtemp(join(tmpdir(), 'rpc-lab-debian-'));
  try {
    const made = await quietly`debootstrap --variant=minbase ${release} ${root} http://deb.debian.org/debian`;
    if (!made.ok) throw new LabError(`debootstrap failed: ${lastLines(made.stdout + made.stderr)}`);
    const imported =
      await quietly`tar -C ${root} --create --exclude './var/cache/apt/archives/*.deb' --exclude './var/lib/apt/lists/*' . | docker import - ${debian}`;
    if (!imported.ok) throw new LabError(`docker import failed: ${lastLines(imported.stderr)}`);
  } finally {
    await quietly`rm -rf --one-file-system ${root}`;
  }
}

/**
 * @param {object} what
 * @param {string} what.name
 * @param {string} what.directory
 * @param {string} what.inputs
 * @param {import('./script.mjs').Log} what.log
 * @param {string} [what.target] stage of the Dockerfile
 * @param {Record<string, string>} [what.arguments] build arguments
 */
async function build({ name, directory, inputs, log, target, arguments: values = {} }) {
  const started = Date.now();
  const labels = ['--label', `${imageLabel}=${name}`, '--label', `${inputsLabel}=${inputs}`];
  const stage = target === undefined ? [] : ['--target', target];
  const buildArguments = Object.entries(values).flatMap(([key, value]) => ['--build-arg', `${key}=${value}`]);
  const built =
    await quietly`docker build --tag ${imageOf(name)} ${labels} ${stage} ${buildArguments} ${directory}`;
  if (!built.ok) {
    await mkdir(stateDirectory, { recursive: true });
    const file = join(stateDirectory, `build-${name}.log`);
    await writeFile(file, built.stdall);
    throw new LabError(
      `The lab's image ${name} does not build:\n  ${lastLines(built.stdall, 12)}`,
      `The whole output: ${file}`,
    );
  }
  log(`lab: image ${name} built in ${Math.round((Date.now() - started) / 1000)} s`);
}

/** @param {string} image */
async function inputsOf(image) {
  const found =
    await quietly`docker image inspect --format ${`{{index .Config.Labels "${inputsLabel}"}}`} ${image}`;
  return found.ok ? found.stdout.trim() : undefined;
}

/**
 * The settings of the machine's apt for its mirror (a proxy; a frozen mirror with expired lists):
 * the lab's images use the same mirror from the same network.
 */
async function machineAptConf() {
  const dump =
    await quietly`apt-config dump Acquire::Check-Valid-Until Acquire::Check-Date Acquire::http::Proxy`;
  return dump.ok ? dump.stdout.trim() : '';
}

async function baseInputs() {
  return hashOf(release, await directoryHash(join(labDirectory, 'base')));
}

/** @param {...string} parts */
function hashOf(...parts) {
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 16);
}

/** @param {string} directory */
async function directoryHash(directory) {
  const hash = createHash('sha256');
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const file of files.sort())
    hash.update(`${file.slice(directory.length)}\0`).update(await readFile(file));
  return hash.digest('hex');
}
