//go:build !older

package main

import "embed"

// ownGeneration is that of this program. As in the real one, it holds the names of its own migrations and no others.
var ownGeneration = currentGeneration

//go:embed migrations/state/*.sql
//go:embed migrations/pool/0*.sql migrations/pool/specialed-001.sql migrations/pool/validium-001.sql
var migrationFiles embed.FS
