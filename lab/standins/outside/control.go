package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// servers are those that the lab can make fail.
type servers struct {
	trusted  *sequencer
	layer1   *layer1
	files    *fileServer
	failures map[string]*failing
}

// options are the actions with a number, and its name.
var options = map[string]string{
	"sequencer fork": "from", "sequencer chain": "id", "sequencer fail": "status",
	"layer1 fork": "from", "layer1 chain": "id", "layer1 fail": "status", "files rate": "bytes",
}

func (s servers) set(action string, number uint64) error {
	switch action {
	case "sequencer fork":
		return s.trusted.fork(number)
	case "layer1 fork":
		s.layer1.fork(number)
	case "sequencer chain":
		s.trusted.setChainID(orOwn(number, chainID))
	case "layer1 chain":
		s.layer1.setChainID(orOwn(number, layer1ID))
	case "sequencer fail", "layer1 fail":
		s.failures[strings.Fields(action)[0]].set(int64(number))
	case "files rate":
		s.files.setRate(int64(number))
	}
	return nil
}

func orOwn(number, own uint64) uint64 {
	if number == 0 {
		return own
	}
	return number
}

// control is the lab's control interface, to test a deployment while an external service fails:
//
//	POST /control/SERVICE/stop, /start         files, alerts, sequencer, layer1, registry, time, packages
//	POST /control/sequencer/hold, /release     no more blocks; more blocks
//	POST /control/sequencer/fork?from=NUMBER   other blocks from that number on; from=0 ends the fork; so for layer1
//	POST /control/sequencer/chain?id=NUMBER    another chain id; id=0 is the own one; so for layer1, where no contract is then
//	POST /control/sequencer/fail?status=NUMBER every answer is an error: a status of HTTP, or with 200 one of JSON-RPC; status=0
//	                                           ends it; so for layer1
//	POST /control/files/rate?bytes=NUMBER      maximum bytes per second of each download; bytes=0 is no limit
func control(services map[string]service, servers servers) http.Handler {
	act := func(name, action string, r *http.Request) (bool, error) {
		one, known := services[name]
		if !known {
			return false, nil
		}
		if option, takes := options[name+" "+action]; takes {
			number, err := strconv.ParseUint(r.URL.Query().Get(option), 10, 32)
			if err != nil {
				return true, err
			}
			return true, servers.set(name+" "+action, number)
		}
		switch name + " " + action {
		case "sequencer hold":
			servers.trusted.hold()
		case "sequencer release":
			servers.trusted.letGo()
		case name + " stop":
			one.stop()
		case name + " start":
			return true, one.start()
		default:
			return false, nil
		}
		return true, nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		words := strings.Split(strings.TrimPrefix(r.URL.Path, "/control/"), "/")
		if r.Method != http.MethodPost || len(words) != 2 {
			http.Error(w, "POST /control/SERVICE/ACTION", http.StatusNotFound)
			return
		}
		known, err := act(words[0], words[1], r)
		switch {
		case !known:
			http.Error(w, fmt.Sprintf("no %s for %s", words[1], words[0]), http.StatusNotFound)
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	})
}
