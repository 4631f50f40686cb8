#!/usr/bin/env zx
// Writes a recorded run as one HTML page.
import { command } from '../lib/start/command.mjs';

await command('report');
