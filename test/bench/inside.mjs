// The part of the benchmark that runs in private namespaces. Argument: the JSON of bench.mjs.
import '../typescript.mjs';

const { measureAll } = await import('./measure-all.ts');

await measureAll(JSON.parse(process.argv[2] ?? ''));
// The hosts still run, and end with this process.
process.exit();
