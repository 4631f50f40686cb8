//go:build older

package main

import "embed"

// ownGeneration is that of this program. As in the real one, it holds the names of its own migrations and no others.
var ownGeneration = olderGeneration

//go:embed migrations/state/000[1-8].sql
//go:embed migrations/pool/000[1-9].sql migrations/pool/0010.sql migrations/pool/supernets-0001.sql
var migrationFiles embed.FS
