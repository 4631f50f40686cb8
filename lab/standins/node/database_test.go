package main

import (
	"strings"
	"testing"
)

// No password may reach a log through an error that quotes the URL.
func TestUnsafePasswordBreaksTheURLAndStaysSecret(t *testing.T) {
	for _, password := range []string{"se/cret", "se#cret", "se%cret", "se cret", "se?cret"} {
		_, err := DBConfig{User: "u", Password: password, Host: "127.0.0.1", Port: "1", Name: "d"}.open()
		if err == nil || strings.Contains(err.Error(), "cret") {
			t.Errorf("%q: %v", password, err)
		}
	}
}
