//go:build postgres

package storetest

import (
	"testing"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/postgrestest"
)

// Postgres reports whether Options returns those of a store in PostgreSQL.
const Postgres = true

// Options returns the options of the store of a folder: the same one for each call with a folder. With the tag
// postgres, it is a schema of its own in the database of the run.
func Options(t testing.TB, dir string) store.Options {
	t.Helper()
	return store.Options{Dir: dir, URL: postgrestest.Schema(t, dir)}
}
