package main

import (
	"net/http"
	"sync/atomic"
	"time"
)

// fileServer serves the downloads of a deployment, with ranges, and the node's source by git's plain HTTP.
type fileServer struct {
	// bytesPerSecond limits each download; 0 is no limit.
	bytesPerSecond int64
}

func (f *fileServer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir("/srv/www")))
	mux.Handle("/git/", http.StripPrefix("/git/", http.FileServer(http.Dir("/srv/git"))))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(slowWriter{w, &f.bytesPerSecond}, r)
	})
}

func (f *fileServer) setRate(bytesPerSecond int64) {
	atomic.StoreInt64(&f.bytesPerSecond, bytesPerSecond)
}

type slowWriter struct {
	http.ResponseWriter
	bytesPerSecond *int64
}

func (w slowWriter) Write(data []byte) (int, error) {
	written := 0
	for len(data) > 0 {
		piece := len(data)
		rate := atomic.LoadInt64(w.bytesPerSecond)
		if tenth := int(rate / 10); rate > 0 && piece > tenth+1 {
			piece = tenth + 1
		}
		count, err := w.ResponseWriter.Write(data[:piece])
		written += count
		if err != nil {
			return written, err
		}
		data = data[piece:]
		if rate > 0 {
			if flusher, can := w.ResponseWriter.(http.Flusher); can {
				flusher.Flush()
			}
			time.Sleep(time.Second / 10)
		}
	}
	return written, nil
}
