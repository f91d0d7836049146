package lock

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/state/store"
	"github.com/sallyport-mcp/sallyport/internal/fileid"
)

// codeFolder is the first part of the IDs of records with copies. The rest is the name of the file in a folder of copies.
const codeFolder = "approved"

// ErrNotShared is returned for bytes that the database does not have.
var ErrNotShared = errors.New("the database does not have these bytes")

// sharedFile is a file of a copy in the database.
type sharedFile struct {
	id    string
	local string             // its path
	valid func([]byte) error // checks its content
}

// sharedFiles returns the files of a pin, the code last: other hosts look for it.
func (c Copies) sharedFiles(p Pin) (all []sharedFile) {
	name, ok := digits(p.Digest)
	if !ok || c.dir == "" {
		return nil
	}
	if hash := p.Definitions[Manifest]; hash != "" {
		all = append(all, c.sharedFile(strings.TrimPrefix(hash, "sha256:")+manifestSuffix, func(raw []byte) error { return changedUnless(Hash(raw) == hash) }))
	}
	return append(all,
		c.sharedFile(name+".json", func(raw []byte) error {
			var t Terms
			err := json.Unmarshal(raw, &t)
			return errors.Join(err, changedUnless(t.Digest == p.Digest))
		}),
		c.sharedFile(name+".wasm", func(raw []byte) error { return changedUnless(fileid.Digest(raw) == p.Digest) }))
}

func (c Copies) sharedFile(name string, valid func([]byte) error) sharedFile {
	return sharedFile{id: codeFolder + "/" + name, local: filepath.Join(c.dir, name), valid: valid}
}

func changedUnless(same bool) error {
	if same {
		return nil
	}
	return errors.New("these bytes are not those of their digest")
}

// Send stores the copy of a pin in the database for other hosts, as far as it is not there. A lock file, or a host without
// the copy, sends nothing.
func (c Copies) Send(ctx context.Context, p Pin) error {
	if c.store == nil || c.readOnly || !c.HasAll(p) {
		return nil
	}
	for _, f := range c.sharedFiles(p) {
		_, err := c.store.VersionOf(ctx, store.Code, f.id)
		if !errors.Is(err, store.ErrNotFound) {
			if err != nil {
				return err
			}
			continue
		}
		raw, _, err := fileid.Read(f.local)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the terms of a copy may be missing
		}
		if err == nil {
			err = f.valid(raw)
		}
		if err == nil {
			_, err = c.store.Add(ctx, store.Code, store.Record{ID: f.id, Principal: p.Digest, Data: raw})
		}
		if err != nil && !errors.Is(err, store.ErrExists) {
			return err
		}
	}
	return nil
}

// Fetch stores the copy of a pin that the database has, also for a lock that is not written. Its bytes are verified. The
// error is ErrNotShared if the database lacks them.
func (c Copies) Fetch(ctx context.Context, p Pin) error {
	if c.store == nil {
		return ErrNotShared
	}
	for _, f := range c.sharedFiles(p) {
		r, err := c.store.Get(ctx, store.Code, f.id)
		if errors.Is(err, store.ErrNotFound) {
			if strings.HasSuffix(f.id, ".json") {
				continue
			}
			return ErrNotShared
		}
		if err == nil {
			err = f.valid(r.Data)
		}
		if err == nil {
			err = replace(f.local, r.Data, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// PruneShared removes the copies in the database that no pin needs and that were stored a time ago. It returns the number of
// the files.
func (l *Lock) PruneShared(ctx context.Context, unused time.Duration) (files int, err error) {
	d, shared := l.place.(*database)
	if !shared || l.o.ReadOnly {
		return 0, nil
	}
	return d.prune(ctx, unused)
}

// prune replaces the record of pins by an equal one in the transaction that removes copies: an update that has seen them there
// conflicts, and sends its own again.
func (d *database) prune(ctx context.Context, unused time.Duration) (files int, err error) {
	for try := 1; ; try++ {
		pins, r, err := d.get(ctx)
		if err != nil {
			return 0, err
		}
		all, err := d.store.NamesBelow(ctx, store.Code, codeFolder)
		if err != nil {
			return 0, err
		}
		pinned, gone := pinnedNames(pins), []string{}
		for _, c := range all {
			name, _, _ := strings.Cut(strings.TrimPrefix(c.ID, codeFolder+"/"), ".")
			if !pinned[name] && time.Since(c.Created) >= unused {
				gone = append(gone, c.ID)
			}
		}
		if len(gone) == 0 || r.Version == 0 { // without a record, the first pins may be about to come
			return 0, nil
		}
		_, err = d.store.ReplaceAndRemove(ctx, store.Lock, r, store.Code, gone...)
		if err == nil || !errors.Is(err, store.ErrConflict) || try == maxTries {
			return len(gone), err
		}
	}
}
