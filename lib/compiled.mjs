// Compiles modules of the project into a few files of JavaScript, once for each state of the sources, and imports them from there.
// To resolve and compile each of some hundred modules as it is imported takes five times as long as all else before the first
// connection.
import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const cache = join(root, 'node_modules/.cache/rpc-playbooks');

/** How long what was compiled of an older state is kept: a run of then may still import a part of it. Milliseconds. */
const keptFor = 7 * 24 * 3600 * 1000;

/**
 * Modules that share what they import, as if each were imported from its own file.
 *
 * @param {readonly (readonly string[])[]} bundles TypeScript files that are to be imported, from the project's root. Those of one
 *   bundle are loaded together when the first of them is: to load many small files takes twice as long
 * @returns {Promise<(file: string) => Promise<any>>} imports one of them
 */
export async function compiled(bundles) {
  const folder = join(cache, stateOf(bundles));
  const from = existsSync(folder) ? folder : await compile(bundles, folder);
  // Read as each module is loaded, and so only where a stack is going to be shown.
  if (process.argv.includes('--verbose')) process.setSourceMapsEnabled(true);
  return async (file) => {
    const bundle = bundles.findIndex((files) => files.includes(file));
    const { modules } = await import(pathToFileURL(join(from, `${bundle}.mjs`)).href);
    return modules[file];
  };
}

/**
 * Whether a file is a module of the program, and no test of one.
 *
 * @param {string} name
 */
export function isSource(name) {
  return name.endsWith('.ts') && !name.endsWith('.test.ts');
}

/**
 * All that what is compiled depends on, as one name: where the project is, its TypeScript, the packages, and this file.
 *
 * @param {readonly (readonly string[])[]} bundles
 */
function stateOf(bundles) {
  const state = createHash('sha256').update(JSON.stringify([root, bundles]));
  const files = ['lib/compiled.mjs', 'node_modules/.package-lock.json'];
  for (const folder of new Set(['lib', ...bundles.flat().map((file) => dirname(file))])) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).sort()) {
      if (isSource(name)) files.push(join(folder, name));
    }
  }
  for (const file of files) {
    // A change of content cannot leave the time of the last change of status as it was, not even a copy that keeps the other times.
    const { size, ctimeMs } = statSync(join(root, file), { throwIfNoEntry: false }) ?? {};
    state.update(`${file} ${size} ${ctimeMs}\n`);
  }
  return state.digest('hex').slice(0, 32);
}

/**
 * @param {readonly (readonly string[])[]} bundles
 * @param {string} folder where it is to be found from now on
 * @returns {Promise<string>} where it is: elsewhere, for this process alone, where the packages' folder cannot be written to
 */
async function compile(bundles, folder) {
  const files = await outputOf(bundles);
  let made;
  try {
    mkdirSync(cache, { recursive: true });
    dropOld();
    made = mkdtempSync(join(cache, '.new-'));
    // Like the sources, it may be read by whoever else runs the project from here.
    chmodSync(made, 0o777 & ~process.umask());
    write(files, made);
    // It gets its name when all of it is on the disk, and two that compile at once do not meet.
    renameSync(made, folder);
    return folder;
  } catch {
    if (made) rmSync(made, { recursive: true, force: true });
    if (existsSync(folder)) return folder;
    const own = mkdtempSync(join(tmpdir(), 'rpc-playbooks-'));
    process.once('exit', () => rmSync(own, { recursive: true, force: true }));
    write(files, own);
    return own;
  }
}

/**
 * @param {readonly (readonly string[])[]} bundles
 * @returns {Promise<import('esbuild').OutputFile[]>} /0.mjs for the first one, and what several of them share
 */
async function outputOf(bundles) {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: bundles.map((_, index) => ({ in: `bundle:${index}`, out: String(index) })),
    outdir: '/',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    minifyWhitespace: true,
    minifySyntax: true,
    sourcemap: 'linked',
    sourceRoot: '/',
    write: false,
    logLevel: 'silent',
    // For the packages that are CommonJS.
    banner: {
      js: `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);`,
    },
    plugins: [
      { name: 'bundles', setup: (building) => gather(building, bundles) },
      { name: 'places', setup: keepPlaces },
    ],
  });
  return outputFiles;
}

/**
 * A module for each bundle, that has those of the bundle by their names.
 *
 * @param {import('esbuild').PluginBuild} build
 * @param {readonly (readonly string[])[]} bundles
 */
function gather(build, bundles) {
  build.onResolve({ filter: /^bundle:/ }, ({ path }) => ({ path, namespace: 'bundle' }));
  build.onLoad({ filter: /./, namespace: 'bundle' }, ({ path }) => {
    const files = bundles[Number(path.slice('bundle:'.length))] ?? [];
    const imports = files.map((file, index) => `import * as module${index} from ${JSON.stringify(`./${file}`)};`);
    const names = files.map((file, index) => `${JSON.stringify(file)}: module${index}`);
    return { contents: `${imports.join('\n')}\nexport const modules = { ${names.join(', ')} };`, resolveDir: root };
  });
}

/**
 * What looks for a file beside itself finds it where it was written: modules of ours and packages by the names of their places, and
 * packages' compiled parts, which are loaded from there. zx runs the playbook, and is loaded already.
 *
 * @param {import('esbuild').PluginBuild} build
 */
function keepPlaces(build) {
  const { resolve } = createRequire(import.meta.url);
  build.onResolve({ filter: /^zx$/ }, ({ path }) => ({ path: pathToFileURL(resolve(path)).href, external: true }));
  build.onResolve({ filter: /\.node$/ }, ({ path, resolveDir }) => ({ path: join(resolveDir, path), external: true }));
  build.onLoad({ filter: /\.ts$/ }, ({ path }) => ({
    loader: 'ts',
    contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)),
  }));
  build.onLoad({ filter: /\.js$/ }, ({ path }) => ({
    loader: 'js',
    contents: readFileSync(path, 'utf8').replaceAll('__dirname', JSON.stringify(dirname(path))),
  }));
}

/**
 * @param {readonly import('esbuild').OutputFile[]} files
 * @param {string} folder
 */
function write(files, folder) {
  for (const { path, contents } of files) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, contents);
    const opened = openSync(file, 'r');
    fsyncSync(opened);
    closeSync(opened);
  }
}

function dropOld() {
  for (const name of readdirSync(cache)) {
    const { mtimeMs } = statSync(join(cache, name), { throwIfNoEntry: false }) ?? {};
    if (mtimeMs !== undefined && mtimeMs < Date.now() - keptFor)
      rmSync(join(cache, name), { recursive: true, force: true });
  }
}
