package main

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"
)

// metrics are served in Prometheus' text format, under the real program's names. What the real program lacks is absent here too: no
// height, nothing of WebSocket requests, no count of JSON-RPC errors, no jsonrpc_request_connection.
type metrics struct {
	mutex       sync.Mutex
	started     time.Time
	latestBatch *uint64
	handled     map[string]uint64
	histograms  map[string]*histogram
}

// histogram counts values up to each bound, and above all of them.
type histogram struct {
	bounds []float64
	counts []uint64
	sum    float64
}

var (
	// usual are the bounds of Prometheus' own library, seconds.
	usual = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}
	// requests are those of JSON-RPC: ten steps of 0.1, added up as the library adds them, so that 0.3 is 0.30000000000000004.
	requests = steps(0.1, 10)
)

const requestDuration = "jsonrpc_request_duration"

var synchronizerTimes = []string{
	"synchronizer_initialization_time", "synchronizer_full_trusted_sync_time", "synchronizer_full_L1_sync_time",
	"synchronizer_read_L1_data_time", "synchronizer_process_L1_data_time", "synchronizer_get_trusted_batchNumber_time",
	"synchronizer_get_trusted_batchInfo_time", "synchronizer_process_trusted_batch_time",
}

var ethermanTimes = []string{
	"etherman_read_and_process_all_event_time", "etherman_process_all_event_time", "etherman_process_single_event_time",
	"etherman_get_events_time", "etherman_get_forkIDs_time", "etherman_verify_genesisBlockNum_time",
}

func steps(width float64, count int) (bounds []float64) {
	for bound := width; len(bounds) < count; bound += width {
		bounds = append(bounds, bound)
	}
	return bounds
}

// newMetrics registers what the components of the node have.
func newMetrics(components ...string) *metrics {
	m := &metrics{started: time.Now(), handled: map[string]uint64{}, histograms: map[string]*histogram{}}
	register := func(bounds []float64, names ...string) {
		for _, name := range names {
			m.histograms[name] = &histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
		}
	}
	register(usual, ethermanTimes...)
	for _, component := range components {
		switch component {
		case "synchronizer":
			register(usual, synchronizerTimes...)
			m.latestBatch = new(uint64)
		case "rpc":
			register(requests, requestDuration)
		}
	}
	return m
}

// setLatestSyncedBatch is called once a round: the number stays while a long round catches up.
func (m *metrics) setLatestSyncedBatch(batch uint64) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.latestBatch = &batch
}

// observe adds the seconds since a time to a histogram.
func (m *metrics) observe(name string, since time.Time) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	h := m.histograms[name]
	if h == nil {
		return
	}
	seconds := time.Since(since).Seconds()
	h.sum += seconds
	h.counts[sort.SearchFloat64s(h.bounds, seconds)]++
}

// requestHandled counts an HTTP request: single, batch, invalid or error. One that cannot be decoded counts twice, as single or batch and
// as invalid; one whose answer cannot be sent, as single and as error. JSON-RPC errors are answers, and count as single.
func (m *metrics) requestHandled(kind string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.handled[kind]++
}

func (m *metrics) text() string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	var out strings.Builder
	one := func(name, kind, labels string, value any) {
		fmt.Fprintf(&out, "# TYPE %s %s\n%s%s %v\n", name, kind, name, labels, value)
	}
	if m.latestBatch != nil {
		one("synchronizer_latest_synced_batch_number", "gauge", "", *m.latestBatch)
	}
	if len(m.handled) > 0 {
		fmt.Fprintf(&out, "# TYPE jsonrpc_request_handled counter\n")
	}
	for _, kind := range []string{"batch", "error", "invalid", "single"} {
		if count, seen := m.handled[kind]; seen {
			fmt.Fprintf(&out, "jsonrpc_request_handled{type=%q} %d\n", kind, count)
		}
	}
	var names []string
	for name := range m.histograms {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		m.histograms[name].write(&out, name)
	}
	one("etherman_processed_events_counter", "counter", "", 0)
	one("go_goroutines", "gauge", "", runtime.NumGoroutine())
	one("go_info", "gauge", fmt.Sprintf("{version=%q}", runtime.Version()), 1)
	one("process_start_time_seconds", "gauge", "", float64(m.started.UnixMilli())/1000)
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		one("process_open_fds", "gauge", "", len(files))
	}
	return out.String()
}

func (h *histogram) write(out *strings.Builder, name string) {
	fmt.Fprintf(out, "# TYPE %s histogram\n", name)
	count := uint64(0)
	for i, bound := range h.bounds {
		count += h.counts[i]
		fmt.Fprintf(out, "%s_bucket{le=\"%v\"} %d\n", name, bound, count)
	}
	count += h.counts[len(h.bounds)]
	fmt.Fprintf(out, "%s_bucket{le=\"+Inf\"} %d\n%s_sum %v\n%s_count %d\n", name, count, name, h.sum, name, count)
}

func (m *metrics) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write([]byte(m.text()))
	})
	return mux
}
