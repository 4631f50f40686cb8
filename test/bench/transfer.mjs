#!/usr/bin/env zx
// Measures how a large file is fetched: plain curl beside what a download runs on a host (docs/benchmarks.md).
import { commandLine } from '../../lib/start/command-line.mjs';
import '../typescript.mjs';

const { measureTransfers } = await import('./transfer.ts');
await measureTransfers(commandLine);
