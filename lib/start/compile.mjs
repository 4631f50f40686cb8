// Bundles TypeScript modules into one file of JavaScript.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { distrust, refusalText } from '../engine/file/trust.mjs';
import { ownRolesImport } from './cache.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * @param {readonly string[]} modules files from the project's root, or absolute
 * @param {readonly string[]} [kinds] names that the program has for `rpc-playbooks/roles`
 * @returns {Promise<import('esbuild').OutputFile[]>} one CommonJS module, program.cjs, and its
 * source map. It exports `modules`: functions
 *   that import a module, by its file
 */
export async function compile(modules, kinds = []) {
  const { build } = await import('esbuild');
  const imports = modules.map(
    (file) =>
      `${JSON.stringify(file)}: () => import(${JSON.stringify(isAbsolute(file) ? file : `./${file}`)})`,
  );
  const { outputFiles } = await build({
    absWorkingDir: root,
    stdin: { contents: `export const modules = { ${imports.join(', ')} };`, resolveDir: root },
    outfile: '/program.cjs',
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    minifyWhitespace: true,
    minifySyntax: true,
    sourcemap: 'linked',
    sourceRoot: '/',
    write: false,
    logLevel: 'silent',
    // Otherwise a tsconfig.json above a role says where its imports lead.
    tsconfigRaw: { compilerOptions: { strict: true } },
    plugins: [
      ...(modules.some(isAbsolute) ? [{ name: 'trust', setup: refuseOthers }] : []),
      { name: 'places', setup: keepPlaces },
      { name: 'own', setup: (building) => serveOwn(building, modules, kinds) },
    ],
  });
  return outputFiles;
}

/**
 * A team's own roles import packages, which are found upwards, in any folder. None that another
 * user could have written is read.
 *
 * @param {import('esbuild').PluginBuild} build
 */
function refuseOthers(build) {
  build.onLoad({ filter: /.*/, namespace: 'file' }, ({ path }) => {
    if (path.startsWith(root)) return undefined;
    const faults = distrust(path, true);
    return faults.length > 0 ? { errors: [{ text: refusalText(faults, dirname(path)) }] } : undefined;
  });
}

/**
 * Modules and packages that look for a file beside themselves find it in the source tree. Native
 * parts of packages are loaded from there. zx runs the playbook, so it is loaded already.
 *
 * @param {import('esbuild').PluginBuild} build
 */
function keepPlaces(build) {
  const { resolve } = createRequire(import.meta.url);
  build.onResolve({ filter: /^zx$/ }, ({ path }) => ({ path: resolve(path), external: true }));
  build.onResolve({ filter: /\.node$/ }, ({ path, resolveDir }) => ({
    path: join(resolveDir, path),
    external: true,
  }));
  build.onLoad({ filter: /\.(ts|m?js)$/ }, ({ path }) => ({
    loader: path.endsWith('.ts') ? 'ts' : 'js',
    contents: readFileSync(path, 'utf8')
      .replaceAll('import.meta.url', () => JSON.stringify(pathToFileURL(path).href))
      .replaceAll('__dirname', () => JSON.stringify(dirname(path))),
  }));
}

/**
 * A team's own roles import from `rpc-playbooks/roles`, from packages, and from files beside them:
 * others would not be noticed when they change.
 *
 * @param {import('esbuild').PluginBuild} build
 * @param {readonly string[]} modules
 * @param {readonly string[]} kinds
 */
function serveOwn(build, modules, kinds) {
  const own = dirname(modules.find((file) => isAbsolute(file)) ?? sep);
  build.onResolve({ filter: /^rpc-playbooks\/roles$/ }, ({ path }) => ({ path, namespace: 'package' }));
  build.onLoad({ filter: /.*/, namespace: 'package' }, () => ({
    contents: `export const { ${kinds.join(', ')} } = globalThis[${JSON.stringify(ownRolesImport)}];`,
  }));
  build.onResolve({ filter: /^rpc-playbooks$/ }, () => ({
    errors: [{ text: 'rpc-playbooks is for playbooks: a role imports from rpc-playbooks/roles' }],
  }));
  build.onResolve({ filter: /^\.\.\// }, ({ path, importer }) => {
    const leaves =
      importer.startsWith(own + sep) && relative(own, join(dirname(importer), path)).startsWith('..');
    return leaves
      ? { errors: [{ text: `${path} is outside of roles/: a role imports from files in it, or a package` }] }
      : undefined;
  });
}
