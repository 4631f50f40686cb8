#!/usr/bin/env zx
// Puts a timer for check mode on this machine.
import { runSchedule } from '../lib/start/playbook.mjs';

await runSchedule();
