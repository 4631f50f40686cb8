package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// metrics are served in Prometheus' text format.
type metrics struct {
	mutex       sync.Mutex
	latestBatch *uint64
	handled     map[string]uint64
	buckets     []uint64
	sum         float64
}

// durations are the upper bounds of the histogram's buckets, seconds.
var durations = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

func newMetrics() *metrics {
	return &metrics{handled: map[string]uint64{}, buckets: make([]uint64, len(durations)+1)}
}

func (m *metrics) setLatestSyncedBatch(batch uint64) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.latestBatch = &batch
}

func (m *metrics) requestHandled(ok bool, took time.Duration) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	kind := "error"
	if ok {
		kind = "single"
	}
	m.handled[kind]++
	m.sum += took.Seconds()
	bucket := 0
	for bucket < len(durations) && took.Seconds() > durations[bucket] {
		bucket++
	}
	m.buckets[bucket]++
}

func (m *metrics) text() string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	var out strings.Builder
	if m.latestBatch != nil {
		const name = "synchronizer_latest_synced_batch_number"
		fmt.Fprintf(&out, "# TYPE %s gauge\n%s %d\n", name, name, *m.latestBatch)
	}
	const handled = "jsonrpc_request_handled"
	fmt.Fprintf(&out, "# TYPE %s counter\n", handled)
	for _, kind := range []string{"single", "error"} {
		fmt.Fprintf(&out, "%s{type=%q} %d\n", handled, kind, m.handled[kind])
	}
	const duration = "jsonrpc_request_duration"
	fmt.Fprintf(&out, "# TYPE %s histogram\n", duration)
	count := uint64(0)
	for i, bound := range durations {
		count += m.buckets[i]
		fmt.Fprintf(&out, "%s_bucket{le=\"%g\"} %d\n", duration, bound, count)
	}
	count += m.buckets[len(durations)]
	fmt.Fprintf(&out, "%s_bucket{le=\"+Inf\"} %d\n%s_sum %g\n%s_count %d\n", duration, count, duration, m.sum, duration, count)
	return out.String()
}

func (m *metrics) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = w.Write([]byte(m.text()))
	})
	return mux
}
