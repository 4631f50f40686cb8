#!/usr/bin/env zx
// Renders every file of every host, offline: to DIR/HOST/FILENAME, or compared with another
// generation or inventory.
import { command } from '../lib/start/program.mjs';

await command('render');
