package main

import (
	"net/http"
	"sync"
	"time"
)

// rateLimit counts the requests of each caller in each second.
type rateLimit struct {
	most   float64
	mutex  sync.Mutex
	second int64
	counts map[string]float64
}

func newRateLimit(most float64) *rateLimit { return &rateLimit{most: most} }

func (l *rateLimit) allows(caller string, now time.Time) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if second := now.Unix(); second != l.second || l.counts == nil {
		l.second, l.counts = second, map[string]float64{}
	}
	l.counts[caller]++
	return l.counts[caller] <= l.most
}

func (l *rateLimit) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.allows(callerOf(r), time.Now()) {
			http.Error(w, "You have reached maximum request limit.", http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
}
