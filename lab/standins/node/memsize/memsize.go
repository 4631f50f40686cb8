// Package memsize makes the stand-in as hard to build as the real node, which has github.com/fjl/memsize through go-ethereum: both
// call a function of Go's runtime that is not exported. From Go 1.23 on the linker refuses that, unless -checklinkname=0 is given.
package memsize

import _ "unsafe" // for go:linkname

//go:linkname stopTheWorld runtime.stopTheWorld
func stopTheWorld(reason uint8)

// Scan is never called: the linker looks at what is referred to.
func Scan() { stopTheWorld(0) }
