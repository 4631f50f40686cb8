package main

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"
)

// alert is a message as it was received.
type alert struct {
	ReceivedAt  string `json:"received_at"`
	From        string `json:"from"`
	ContentType string `json:"content_type"`
	// Body is parsed if it is JSON, and text otherwise.
	Body any `json:"body"`
}

// alertSink stores messages that are posted to /alert; GET /alerts lists them, oldest first, and DELETE /alerts removes them.
func alertSink() http.Handler {
	var mutex sync.Mutex
	alerts := []alert{}
	mux := http.NewServeMux()
	mux.HandleFunc("/alert", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.Error(w, "only POST", http.StatusMethodNotAllowed)
			return
		}
		content, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		received := alert{time.Now().UTC().Format(time.RFC3339), r.RemoteAddr, r.Header.Get("Content-Type"), nil}
		if json.Unmarshal(content, &received.Body) != nil {
			received.Body = string(content)
		}
		mutex.Lock()
		defer mutex.Unlock()
		alerts = append(alerts, received)
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("/alerts", func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		switch r.Method {
		case http.MethodGet:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(alerts)
		case http.MethodDelete:
			alerts = []alert{}
			w.WriteHeader(http.StatusNoContent)
		default:
			http.Error(w, "only GET and DELETE", http.StatusMethodNotAllowed)
		}
	})
	return mux
}
