#!/usr/bin/env zx
// Compares downloads of a large file: plain curl and our download on a host (docs/benchmarks.md).
import { commandLine } from '../../lib/start/command-line.mjs';
import '../typescript.mjs';

const { measureTransfers } = await import('./transfer.ts');
await measureTransfers(commandLine);
