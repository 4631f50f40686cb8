package main

/*
#cgo CFLAGS: -I/usr/include/postgresql
#cgo LDFLAGS: -lpq
#include <libpq-fe.h>
#include <stdlib.h>
#include <sys/resource.h>

static struct rlimit given;

// Runs before Go's own start, which raises the limit of open files.
__attribute__((constructor)) static void remember_limit(void) { getrlimit(RLIMIT_NOFILE, &given); }

static int restore_limit(void) { return setrlimit(RLIMIT_NOFILE, &given); }
*/
import "C"

import (
	"errors"
	"strings"
	"unsafe"
)

// init takes back what Go's runtime does and the real program, in C++, does not: it raises the limit of open files.
func init() {
	if C.restore_limit() != 0 {
		panic("the limit of open files cannot be restored")
	}
}

// connection is one of PostgreSQL's own library, libpq, which the real program uses, too. So it fails with the same words.
type connection struct{ of *C.PGconn }

// connect opens a connection. The error is libpq's text, in which there is no password.
func connect(address string) (connection, error) {
	text := C.CString(address)
	defer C.free(unsafe.Pointer(text))
	c := connection{C.PQconnectdb(text)}
	if C.PQstatus(c.of) != C.CONNECTION_OK {
		err := c.lastError()
		C.PQfinish(c.of)
		return connection{}, err
	}
	return c, nil
}

// exec runs a statement, and drops its rows.
func (c connection) exec(statement string) error {
	text := C.CString(statement)
	defer C.free(unsafe.Pointer(text))
	result := C.PQexec(c.of, text)
	defer C.PQclear(result)
	switch C.PQresultStatus(result) {
	case C.PGRES_COMMAND_OK, C.PGRES_TUPLES_OK, C.PGRES_EMPTY_QUERY:
		return nil
	}
	return c.lastError()
}

// reopen connects again.
func (c connection) reopen() error {
	C.PQreset(c.of)
	if C.PQstatus(c.of) != C.CONNECTION_OK {
		return c.lastError()
	}
	return nil
}

func (c connection) lastError() error {
	return errors.New(strings.TrimSpace(C.GoString(C.PQerrorMessage(c.of))))
}
