#!/usr/bin/env zx
import { compiled } from '../../../lib/start/cache.mjs';
import { commandLine } from '../../../lib/start/command-line.mjs';

const entry = 'test/bench/tools/ours-command.ts';
const { run } = await (await compiled([entry]))(entry);
await run(commandLine);
