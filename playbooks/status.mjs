#!/usr/bin/env zx
// Shows how every host is, once or again and again. It only looks.
import { command } from '../lib/start/program.mjs';

await command('status');
