#!/usr/bin/env zx
// Logs in to every host.
import { command } from '../lib/start/program.mjs';

await command('ping');
