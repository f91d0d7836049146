//go:build !postgres

package storetest

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
)

// Postgres reports whether Options returns those of a store in PostgreSQL.
const Postgres = false

// Options returns the options of the store of a folder: the same one for each call with a folder.
func Options(_ testing.TB, dir string) store.Options { return store.Options{Dir: dir} }
