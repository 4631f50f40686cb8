// Turns modules of the project into a few files of JavaScript.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * @param {readonly (readonly string[])[]} bundles files from the project's root; those of one bundle come into one file
 * @returns {Promise<import('esbuild').OutputFile[]>} /0.mjs for the first one, and so on, which each have their modules by file as
 *   `modules`; and what several of them share
 */
export async function compile(bundles) {
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
 * A module for each bundle, that has those of the bundle by their files.
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
  /** @type {(path: string, word: string, place: string) => string} */
  const located = (path, word, place) => readFileSync(path, 'utf8').replaceAll(word, () => JSON.stringify(place));
  build.onResolve({ filter: /^zx$/ }, ({ path }) => ({ path: pathToFileURL(resolve(path)).href, external: true }));
  build.onResolve({ filter: /\.node$/ }, ({ path, resolveDir }) => ({ path: join(resolveDir, path), external: true }));
  build.onLoad({ filter: /\.ts$/ }, ({ path }) => ({
    loader: 'ts',
    contents: located(path, 'import.meta.url', pathToFileURL(path).href),
  }));
  build.onLoad({ filter: /\.js$/ }, ({ path }) => ({
    loader: 'js',
    contents: located(path, '__dirname', dirname(path)),
  }));
}
