package main

import (
	"net/http"
	"os"
	"testing"
)

// TestServe is json-rpc of the stand-in without the rest of the node, for test/alerts/json-rpc.test.ts, until it is killed. The state
// database is state_db on 127.0.0.1.
func TestServe(t *testing.T) {
	n := &node{own: currentGeneration, config: defaultConfig(), metrics: newMetrics("rpc")}
	n.config.State.DB.Host, n.config.State.DB.Port = "127.0.0.1", os.Getenv("STATE_DB_PORT")
	var err error
	if n.state, err = n.config.State.DB.open(); err != nil {
		t.Fatal(err)
	}
	go func() { log.fatal(http.ListenAndServe(os.Getenv("METRICS"), n.metrics.handler())) }()
	log.fatal(http.ListenAndServe(os.Getenv("JSON_RPC"), http.HandlerFunc(newRPCServer(n, []string{"eth"}).serveHTTP)))
}
