#!/usr/bin/env zx
// Writes a recorded run as one HTML page.
import { command } from '../lib/start/program.mjs';

await command('report');
