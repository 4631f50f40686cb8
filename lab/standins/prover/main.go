// Command zkProver is the lab's stand-in for the prover: it reads the same configuration with the same quirks, really opens its
// database connections, and listens as executor and hash database. It proves and executes nothing.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const standInNotice = "STAND-IN of the lab, not the real prover: it holds its database connections and its ports, and executes nothing"

// noSuchInstruction is the exit code of a program after an instruction that its processor lacks (128 + SIGILL).
const noSuchInstruction = 132

func main() {
	// Before the first line of output: the real program ends without any.
	if len(missingFlags()) > 0 {
		os.Exit(noSuchInstruction)
	}
	fmt.Println(standInNotice)
	c, err := loadConfig(configPath(os.Args[1:]))
	if err != nil {
		fail(err)
	}
	if err := c.check(); err != nil {
		fail(err)
	}
	if c.DatabaseURL == "local" {
		fmt.Println("databaseURL is local: the hash database is held in memory, and lost at the end")
	} else if err := openDatabase(c); err != nil {
		fail(err)
	}
	if c.RunHashDBServer {
		listen("hash database server", c.HashDBServerPort)
	}
	if c.RunExecutorServer {
		listen("executor server", c.ExecutorServerPort)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	<-stop
}

// configPath: -c counts only as the first of exactly two arguments; anything else is ignored, and the default is used.
func configPath(arguments []string) string {
	if len(arguments) == 2 && arguments[0] == "-c" {
		return arguments[1]
	}
	return "config.json"
}
