package store

import (
	"context"
	"database/sql"
	"errors"
)

// ErrFenced is returned for a change whose host lost its work to another one.
var ErrFenced = errors.New("another host has taken over")

// Fence is a fencing token: the state of a record, such as a task, in which the holder of the token may change the store.
type Fence struct {
	Kind  Kind
	ID    string
	Label string // of the record, such as its owner
	// Version is that of the record, or 0 for any.
	Version int64
}

type fenceKey struct{}

// Fenced returns a context under which each change fails with ErrFenced if the record of the fence is in another state. The
// transaction of the change compares it, so that a host that was paused or cut off changes nothing afterwards.
func Fenced(ctx context.Context, f Fence) context.Context {
	return context.WithValue(ctx, fenceKey{}, f)
}

// fenced compares the fence of a context in a transaction. The record does not change before its end.
func (d *database) fenced(ctx context.Context, tx querier) error {
	f, is := ctx.Value(fenceKey{}).(Fence)
	if !is {
		return nil
	}
	var one int
	err := tx.QueryRowContext(ctx, "SELECT 1 FROM records WHERE kind = ? AND id = ? AND plugin = ? AND (version = ? OR ?)"+d.engine.unchanged(),
		f.Kind, f.ID, f.Label, f.Version, f.Version == 0).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrFenced
	}
	return err
}
