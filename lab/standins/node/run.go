package main

import (
	"database/sql"
	"flag"
	"fmt"
	"net/http"
	_ "net/http/pprof" // profiling listener
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// node has the objects that the components share.
type node struct {
	own     generation
	config  Config
	genesis Genesis
	state   *sql.DB
	pool    *sql.DB
	layer1  *etherman
	chainID uint64
	metrics *metrics
}

type runOptions struct {
	config, network, genesis string
	components, apis         words
}

func parseRun(arguments []string) (runOptions, error) {
	var options runOptions
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.StringVar(&options.config, "cfg", "", "configuration file")
	flags.StringVar(&options.config, "c", "", "configuration file")
	flags.StringVar(&options.network, "network", "", "network, here only: custom")
	flags.StringVar(&options.network, "net", "", "network")
	flags.StringVar(&options.genesis, "custom-network-file", "", "genesis file")
	flags.Var(&options.components, "components", "synchronizer, rpc")
	flags.Var(&options.apis, "http.api", "namespaces of JSON-RPC that are served")
	if err := flags.Parse(arguments); err != nil {
		return options, err
	}
	if flags.NArg() > 0 {
		return options, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if len(options.apis) == 0 {
		// Without --http.api there is no debug endpoint.
		options.apis = words{"eth", "net", "web3", "zkevm", "txpool"}
	}
	return options, requireOptions(map[string]string{"cfg": options.config, "network": options.network}, "cfg", "network")
}

// runCommand starts the components and returns only with an error; its checks have the real program's order.
func runCommand(own generation, arguments []string) error {
	options, err := parseRun(arguments)
	if err != nil {
		return err
	}
	n := &node{own: own, metrics: newMetrics(options.components...)}
	if n.config, err = loadConfig(own, options.config); err != nil {
		return err
	}
	if err := setUpLog(n.config.Log, own.version); err != nil {
		return err
	}
	log.info("starting node %s, components: %s", own.version, options.components.String())
	if n.genesis, err = loadGenesis(options.network, options.genesis); err != nil {
		log.fatal(err)
	}
	synchronizes := false
	for _, component := range options.components {
		switch component {
		case "synchronizer":
			synchronizes = true
		case "rpc":
		default:
			return fmt.Errorf("the stand-in has no component %q", component)
		}
	}
	n.connect(synchronizes)
	if n.config.Metrics.ProfilingEnabled {
		go serve("profiling", address(n.config.Metrics.ProfilingHost, n.config.Metrics.ProfilingPort), http.DefaultServeMux)
	}
	for _, component := range options.components {
		switch component {
		case "synchronizer":
			go newSynchronizer(n).run()
		case "rpc":
			newRPCServer(n, options.apis).start()
		}
	}
	if n.config.Metrics.Enabled {
		go serve("metrics", address(n.config.Metrics.Host, n.config.Metrics.Port), n.metrics.handler())
	}
	stop := make(chan os.Signal, 1)
	// SIGTERM is not caught: it ends the program at once, and requests are cut. So do those of the HTTP servers after SIGINT.
	signal.Notify(stop, syscall.SIGINT)
	<-stop
	log.info("terminating application gracefully...")
	return nil
}

// connect makes the connections of the start in the real program's order; whatever does not answer ends the program.
func (n *node) connect(synchronizes bool) {
	err := n.openState(synchronizes)
	if err == nil {
		err = n.readChainID()
	}
	if err == nil {
		err = waitForProver("executor", n.config.Executor.URI, proverWait)
	}
	if err == nil {
		err = waitForProver("hash database", n.config.MTClient.URI, proverWait)
	}
	if err == nil && !n.own.isOlder {
		err = n.layer1.checkDataAvailability()
	}
	if err == nil {
		err = n.openPool()
	}
	if err != nil {
		log.fatal(err)
	}
}

// openState connects to the state database; only a synchronizer migrates it, and all other components require it to be migrated.
func (n *node) openState(synchronizes bool) error {
	c := n.config.State.DB
	var err error
	if n.state, err = c.open(); err != nil {
		return fmt.Errorf("state database %s at %s:%s: %w", c.Name, c.Host, c.Port, err)
	}
	known, err := knownMigrations("state")
	if err != nil {
		return err
	}
	if synchronizes {
		log.info("Running DB migrations host: %s:%s db:%s user:%s", c.Host, c.Port, c.Name, c.User)
		if err := runMigrations("zkevm-state-db", n.state, known); err != nil {
			return err
		}
	}
	return checkMigrations(n.state, known)
}

func (n *node) openPool() error {
	var err error
	if n.pool, err = n.config.Pool.DB.open(); err != nil {
		return err
	}
	known, err := knownMigrations("pool")
	if err != nil {
		return err
	}
	return runMigrations("zkevm-pool-db", n.pool, known)
}

// runMigrations logs what the real program does about them.
func runMigrations(name string, database *sql.DB, known []migration) error {
	log.info("running migrations for %s", name)
	log.info("running migrations up")
	count, err := migrate(database, known)
	if err == nil {
		log.info("successfully ran %d migrations", count)
	}
	return err
}

// readChainID reads the chain id of layer 2 from the rollup's contracts on layer 1.
func (n *node) readChainID() (err error) {
	if n.layer1, err = newEtherman(n); err != nil {
		return err
	}
	if n.chainID, err = n.layer1.chainID(); err != nil {
		return err
	}
	log.info("Chain ID read from POE SC = %v", n.chainID)
	return nil
}

func address(host string, port int) string { return host + ":" + strconv.Itoa(port) }

// serve ends the program if it cannot listen.
func serve(what, address string, handler http.Handler) {
	log.info("%s listens on %s", what, address)
	log.fatal(fmt.Errorf("%s: %w", what, http.ListenAndServe(address, handler)))
}
