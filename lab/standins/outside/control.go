package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// control is the lab's control interface, to test a deployment while an external service fails:
//
//	POST /control/SERVICE/stop, /start         files, alerts, sequencer, layer1, registry, time, packages
//	POST /control/sequencer/hold, /release     no more blocks; more blocks
//	POST /control/sequencer/fork?from=NUMBER   other blocks from that number on; from=0 ends the fork
//	POST /control/files/rate?bytes=NUMBER      maximum bytes per second of each download; bytes=0 is no limit
func control(services map[string]service, trusted *sequencer, files *fileServer) http.Handler {
	act := func(name, action string, r *http.Request) (bool, error) {
		one, known := services[name]
		if !known {
			return false, nil
		}
		switch name + " " + action {
		case "sequencer hold":
			trusted.hold()
		case "sequencer release":
			trusted.letGo()
		case "sequencer fork":
			from, err := strconv.ParseUint(r.URL.Query().Get("from"), 10, 64)
			if err != nil {
				return true, err
			}
			return true, trusted.fork(from)
		case "files rate":
			bytes, err := strconv.ParseInt(r.URL.Query().Get("bytes"), 10, 64)
			if err != nil {
				return true, err
			}
			files.setRate(bytes)
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
