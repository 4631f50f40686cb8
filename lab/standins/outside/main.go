// Command outside is the lab's external services of a deployment: it implements files with ranges, trusted sequencer, layer 1 and
// a sink for alerts; it runs real programs for image registry, package cache and time server.
package main

import (
	"fmt"
	"os"
	"time"
)

const standInNotice = "STAND-IN of the lab: trusted sequencer, layer 1, genesis file, snapshots and alert sink are not real; registry, package cache and time server are"

func main() {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "serve":
		fmt.Println(standInNotice)
		err = serve()
	case len(os.Args) == 3 && os.Args[1] == "make-chain":
		err = makeChain(os.Args[2], time.Now())
	case len(os.Args) == 4 && os.Args[1] == "snapshot":
		err = writeSnapshot(os.Stdout, os.Args[2], os.Args[3])
	default:
		err = fmt.Errorf("usage: outside serve | make-chain FILE | snapshot state|prover FILE")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "outside:", err)
		os.Exit(1)
	}
}
