// Package memsize makes the stand-in as hard to build as the real node, which has github.com/fjl/memsize through go-ethereum: both
// call a function of Go's runtime that is not exported. Since Go 1.23 the linker refuses that without -checklinkname=0.
package memsize

import _ "unsafe" // for go:linkname

//go:linkname stopTheWorld runtime.stopTheWorld
func stopTheWorld(reason uint8)

// Scan is never called: the linker checks references only.
func Scan() { stopTheWorld(0) }
