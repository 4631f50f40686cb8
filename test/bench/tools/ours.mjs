#!/usr/bin/env zx
import { argumentsOf } from '../../../lib/start/arguments.mjs';
import { compiled } from '../../../lib/start/compiled.mjs';

const entry = 'test/bench/tools/ours-command.ts';
const { run } = await (await compiled([[entry]]))(entry);
await run(argumentsOf('ours.mjs'));
