// Bundles TypeScript modules into a few files of JavaScript.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * @param {readonly (readonly string[])[]} bundles files from the project's root; each bundle becomes one file
 * @returns {Promise<import('esbuild').OutputFile[]>} /0.mjs for the first bundle, and so on. Each exports `modules`, by file name.
 *   Code that several bundles share is in files of its own
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
    // CommonJS packages need it.
    banner: {
      js: `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);`,
    },
    plugins: [
      { name: 'bundles', setup: (building) => gather(building, bundles) },
      { name: 'places', setup: keepPlaces },
      { name: 'own', setup: (building) => serveOwn(building, bundles) },
    ],
  });
  return outputFiles;
}

/**
 * Makes the entry module of each bundle, which exports the bundle's modules by file name.
 *
 * @param {import('esbuild').PluginBuild} build
 * @param {readonly (readonly string[])[]} bundles
 */
function gather(build, bundles) {
  build.onResolve({ filter: /^bundle:/ }, ({ path }) => ({ path, namespace: 'bundle' }));
  build.onLoad({ filter: /./, namespace: 'bundle' }, ({ path }) => {
    const files = bundles[Number(path.slice('bundle:'.length))] ?? [];
    const imports = files.map(
      (file, index) => `import * as module${index} from ${JSON.stringify(isAbsolute(file) ? file : `./${file}`)};`,
    );
    const names = files.map((file, index) => `${JSON.stringify(file)}: module${index}`);
    return { contents: `${imports.join('\n')}\nexport const modules = { ${names.join(', ')} };`, resolveDir: root };
  });
}

/**
 * Modules and packages that look for a file beside themselves find it in the source tree. Native parts of packages are loaded from
 * there. zx runs the playbook, so it is loaded already.
 *
 * @param {import('esbuild').PluginBuild} build
 */
function keepPlaces(build) {
  const { resolve } = createRequire(import.meta.url);
  /** @type {(path: string, word: string, place: string) => string} */
  const withPlace = (path, word, place) => readFileSync(path, 'utf8').replaceAll(word, () => JSON.stringify(place));
  build.onResolve({ filter: /^zx$/ }, ({ path }) => ({ path: pathToFileURL(resolve(path)).href, external: true }));
  build.onResolve({ filter: /\.node$/ }, ({ path, resolveDir }) => ({ path: join(resolveDir, path), external: true }));
  build.onLoad({ filter: /\.ts$/ }, ({ path }) => ({
    loader: 'ts',
    contents: withPlace(path, 'import.meta.url', pathToFileURL(path).href),
  }));
  build.onLoad({ filter: /\.js$/ }, ({ path }) => ({
    loader: 'js',
    contents: withPlace(path, '__dirname', dirname(path)),
  }));
}

/**
 * A team's own roles import from `rpc-playbooks/roles`, from packages, and from files beside them: others would not be noticed when
 * they change.
 *
 * @param {import('esbuild').PluginBuild} build
 * @param {readonly (readonly string[])[]} bundles
 */
function serveOwn(build, bundles) {
  const own = dirname(bundles.flat().find((file) => isAbsolute(file)) ?? sep);
  const kinds = join(root, 'lib/engine/resource/kinds.ts');
  build.onResolve({ filter: /^rpc-playbooks\/roles$/ }, () => ({ path: kinds }));
  build.onResolve({ filter: /^\.\.\// }, ({ path, importer }) => {
    const leaves = importer.startsWith(own + sep) && relative(own, join(dirname(importer), path)).startsWith('..');
    return leaves
      ? { errors: [{ text: `${path} is outside of roles/: a role imports from files in it, or a package` }] }
      : undefined;
  });
}
