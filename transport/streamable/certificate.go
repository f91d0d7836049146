package streamable

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
)

// maxPEM bounds a file of a certificate chain or a key, in bytes.
const maxPEM = 1 << 20

// certificate is the certificate of the files in force. The files are read at each handshake, which takes some
// microseconds of a handshake's hundreds, so that a renewed certificate needs neither a signal nor a watch.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu       sync.Mutex
	pair     pemPair // as read last, good or not
	inForce  *tls.Certificate
	reported string // the last error, logged once
}

// pemPair is the contents of the two files.
type pemPair struct{ cert, key []byte }

// loadCertificate reads the files for the first time.
func loadCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	return c, c.reload()
}

// get returns the certificate of a handshake. While the files are not a valid pair, it is the one before.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.reload(); err != nil && err.Error() != c.reported {
		c.reported = err.Error()
		c.log.Error("the changed certificate is not in force: the one before stays", "error", err)
	}
	return c.inForce, nil
}

// reload puts the files in force if they changed. c.mu is held, or c is not shared yet.
func (c *certificate) reload() error {
	pair, err := readPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	if c.inForce != nil && bytes.Equal(pair.cert, c.pair.cert) && bytes.Equal(pair.key, c.pair.key) {
		return nil
	}
	c.pair = pair
	cert, err := tls.X509KeyPair(pair.cert, pair.key)
	if err != nil {
		return fmt.Errorf("%s and %s: %w", c.certFile, c.keyFile, err)
	}
	if c.inForce != nil {
		c.log.Info("the changed certificate is in force", "file", c.certFile, "until", cert.Leaf.NotAfter)
	}
	c.inForce, c.reported = &cert, ""
	return nil
}

func readPair(certFile, keyFile string) (p pemPair, err error) {
	if p.cert, err = readPEM(certFile); err != nil {
		return p, err
	}
	p.key, err = readPEM(keyFile)
	return p, err
}

func readPEM(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPEM+1))
	if err == nil && len(data) > maxPEM {
		err = errors.New(file + " is over 1 MiB")
	}
	return data, err
}
