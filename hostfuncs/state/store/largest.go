package store

import (
	"context"
	"strings"
)

// removeFromLargest makes room for a record below a session: it removes an eighth of the records of the session that has the
// most of its principal, in number or in bytes, the oldest first, and returns how many. It removes none if that is the
// session of r: a caller without a name who fills the room of all loses its own records, and not those of others.
func removeFromLargest(ctx context.Context, tx querier, k Kind, r Record, inNumber bool) (n int64, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, length(data) FROM records WHERE kind = ? AND principal = ? ORDER BY created, version", k, r.Principal)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	ids, has, largest := map[string][]string{}, map[string]int64{}, sessionOf(r.ID)
	add := func(session string, size int64) {
		if inNumber {
			size = 1
		}
		if has[session] += size; has[session] > has[largest] {
			largest = session
		}
	}
	add(largest, int64(len(r.Data)))
	for rows.Next() {
		var id string
		var size int64
		if err := rows.Scan(&id, &size); err != nil {
			return 0, err
		}
		session := sessionOf(id)
		ids[session] = append(ids[session], id)
		add(session, size)
	}
	if err := rows.Err(); err != nil || largest == sessionOf(r.ID) {
		return 0, err
	}
	for _, id := range ids[largest][:max(1, len(ids[largest])/8)] {
		if _, err := tx.ExecContext(ctx, "DELETE FROM records WHERE kind = ? AND id = ?", k, id); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// sessionOf returns the session of a record below one.
func sessionOf(id string) string {
	session, _, _ := strings.Cut(id, "/")
	return session
}
