// The part of the benchmark that runs in namespaces of its own. Argument: what bench.mjs tells it, as JSON.
import '../typescript.mjs';

const { measureAll } = await import('./measure-all.ts');

await measureAll(JSON.parse(process.argv[2] ?? ''));
// The hosts still run, and end with this process.
process.exit();
