#!/usr/bin/env zx
// Measures what the gateway costs for each request, beside plain proxies (docs/benchmarks.md).
import { commandLine } from '../../lib/start/command-line.mjs';
import '../typescript.mjs';

const { measureGateways } = await import('./gateway/measure.ts');
await measureGateways(commandLine);
