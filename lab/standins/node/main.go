// Command zkevm-node is the lab's stand-in for a layer-2 node: the same command lines and configuration, real databases, and
// the same ways to fail, but no execution of transactions.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	_ "rpc-lab/node/memsize"
)

const standInNotice = "STAND-IN of the lab, not the real node: it copies blocks from the lab's trusted sequencer and executes nothing"

// builtFrom is the tag or commit of the source, set by make build.
var builtFrom = "no repository"

// generation has the differences between the node's two generations. The build tag `older` selects one.
type generation struct {
	version string
	// isOlder: the state database's section is [StateDB], not [State.DB], and both databases have fewer migrations.
	isOlder bool
	// anyWebSocketKey: its library takes any Sec-WebSocket-Key that is not empty.
	anyWebSocketKey bool
}

var (
	currentGeneration = generation{version: "v3.1.0"}
	olderGeneration   = generation{version: "v1.2.3", isOlder: true, anyWebSocketKey: true}
)

func main() {
	fmt.Fprintln(os.Stderr, standInNotice)
	own := ownGeneration
	var err error
	switch command := argument(1); command {
	case "run":
		err = runCommand(own, os.Args[2:])
	case "restore":
		err = restoreCommand(own, os.Args[2:])
	case "version":
		fmt.Println("Version:", own.version, "(stand-in, built from "+builtFrom+")")
	default:
		fmt.Printf("usage: %s run|restore|version [options]\n", filepath.Base(os.Args[0]))
		if command != "" && command != "help" && command != "--help" && command != "-h" {
			err = fmt.Errorf("no such command: %s", command)
		}
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func argument(index int) string {
	if index < len(os.Args) {
		return os.Args[index]
	}
	return ""
}

// words is an option with a list: repeated, or separated by commas, or both.
type words []string

func (w *words) String() string { return strings.Join(*w, ",") }

func (w *words) Set(value string) error {
	for _, word := range strings.Split(value, ",") {
		*w = append(*w, strings.TrimSpace(word))
	}
	return nil
}

// requireOptions reports all missing options at once, as the real program does.
func requireOptions(options map[string]string, order ...string) error {
	var missing []string
	for _, name := range order {
		if options[name] == "" {
			missing = append(missing, name)
		}
	}
	switch len(missing) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("Required flag %q not set", missing[0])
	default:
		return fmt.Errorf("Required flags %q not set", strings.Join(missing, ", "))
	}
}
