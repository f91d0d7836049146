package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"strings"
	"time"
)

// member is a file of an archive, or a folder if its name ends with a slash.
type member struct {
	name    string
	mode    fs.FileMode
	content []byte
	owner   int // user and group; 0 is root
}

// archives returns the archive of each program: a zip for Windows.
func archives(r *release) (files []artefact, err error) {
	for _, p := range r.programs {
		pack := tarball
		if p.os == "windows" {
			pack = zipped
		}
		archive, err := pack(append(p.executables(""), r.docs...), r.at)
		if err != nil {
			return nil, err
		}
		files = append(files, artefact{p.archive(), archive})
	}
	return files, nil
}

// archive returns the name of the archive.
func (t target) archive() string {
	if t.os == "windows" {
		return "sallyport_" + t.String() + ".zip"
	}
	return "sallyport_" + t.String() + ".tar.gz"
}

// tarball returns a compressed tar archive, which depends on nothing but its arguments.
func tarball(members []member, at time.Time) ([]byte, error) {
	plain, err := tarred(members, at)
	if err != nil {
		return nil, err
	}
	return compressed(plain)
}

// tarred returns a tar archive.
func tarred(members []member, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: int64(m.mode), Size: int64(len(m.content)), ModTime: at, Format: tar.FormatUSTAR, Uid: m.owner, Gid: m.owner}
		if strings.HasSuffix(m.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(m.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// compressed returns bytes compressed with gzip, without a name or a time.
func compressed(plain []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = z.Write(plain)
	err = errors.Join(err, z.Close())
	return out.Bytes(), err
}

// zipped returns a zip archive, which depends on nothing but its arguments.
func zipped(members []member, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: at}
		h.SetMode(m.mode)
		f, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(m.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
