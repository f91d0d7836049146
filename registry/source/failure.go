package source

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
)

// Error is a failed fetch. Its text is a sentence for the operator.
type Error struct {
	From string // the reference
	Hint string // the next step; "" for none
	Err  error
}

// Error returns the reference and the reason.
func (e *Error) Error() string { return e.From + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// statusError is an answer of a web server that is no file.
type statusError struct{ code int }

// Error returns the code.
func (e *statusError) Error() string { return fmt.Sprintf("it answers %d", e.code) }

// failure returns the error of a fetch in words of its own for each cause.
func failure(r Ref, err error) error {
	if err == nil {
		return nil
	}
	hint, text := r.explain(err)
	return &Error{From: r.String(), Hint: hint, Err: text}
}

// explain returns the next step after a failed fetch, and the reason.
func (r Ref) explain(err error) (hint string, reason error) {
	host := r.host()
	var refused *egress.AddressError
	var plain *plainError
	var status *statusError
	var answer *errcode.ErrorResponse
	switch {
	case errors.As(err, &refused) && refused.Elsewhere():
		return "", fmt.Errorf("it is refused: %w, %s", refused, refused.Addr)
	case errors.As(err, &refused):
		return "--host " + refused.Host + " names it, if it is yours", fmt.Errorf("it leads to %s, a %s address, which is refused: %w", refused.Host, refused.Class, refused)
	case errors.As(err, &plain):
		return "", plain
	case errors.Is(err, errRedirects):
		return "", fmt.Errorf("it leads through %w", errRedirects)
	case errors.As(err, &answer):
		return r.answered(answer.StatusCode, said(answer.Errors))
	case errors.As(err, &status):
		return r.answered(status.code, "")
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return r.answered(http.StatusUnauthorized, "")
	case errors.Is(err, errdef.ErrNotFound):
		return r.answered(http.StatusNotFound, "")
	case errors.Is(err, errdef.ErrSizeExceedsLimit):
		return "", fmt.Errorf("its manifest is over %d MiB", maxManifest>>20)
	}
	return transferred(host, err)
}

// answered explains an answer of the server.
func (r Ref) answered(code int, said string) (hint string, reason error) {
	host := r.image.Registry
	if r.url != nil {
		host = r.url.Host
	}
	switch {
	case code == http.StatusUnauthorized && r.scheme == schemeOCI:
		return "docker login " + host, errors.New("the registry asks for a login, or refuses the one of Docker")
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return "", fmt.Errorf("%s denies access (%d)", host, code)
	case code == http.StatusNotFound:
		return "", fmt.Errorf("%s has no such plugin", host)
	case code == http.StatusTooManyRequests:
		return "", fmt.Errorf("%s was asked too often (429): try again later", host)
	case code >= 500:
		return "", fmt.Errorf("%s fails (%d): try again later", host, code)
	}
	return "", errors.New(strings.TrimSpace(fmt.Sprintf("%s answers %d %s", host, code, said)))
}

// said returns the text of a registry's errors.
func said(all errcode.Errors) string {
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%.200q", all.Error())
}

// Parts of errors of libraries that have no value of their own.
const (
	mismatch   = "mismatch Content-Length"                // an answer of another size than announced
	brokenHTTP = "transport connection broken"            // an answer that is not HTTP, or whose head is too long
	untyped    = "invalid response `Content-Type` header" // a manifest without a type
)

// transferred explains an error below HTTP, or of the bytes.
func transferred(host string, err error) (hint string, reason error) {
	var dns *net.DNSError
	var timeout net.Error
	var errno syscall.Errno
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var handshake *tls.CertificateVerificationError
	switch {
	case errors.Is(err, content.ErrMismatchedDigest), errors.Is(err, content.ErrTrailingData):
		return "", errors.New("its bytes are not those of the digest that names them: it is refused")
	case strings.HasSuffix(err.Error(), mismatch):
		return "try again", errors.New("more or fewer bytes came than were announced: it is refused")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, content.ErrInvalidDescriptorSize):
		return "try again", errors.New("it ended early: fewer bytes came than were announced")
	case errors.As(err, &unknown), errors.As(err, &name), errors.As(err, &invalid), errors.As(err, &handshake):
		return "", fmt.Errorf("the certificate of %s is not valid: %w", host, err)
	case errors.Is(err, http.ErrSchemeMismatch):
		return "", fmt.Errorf("%s does not speak https", host)
	case strings.Contains(err.Error(), brokenHTTP):
		return "", fmt.Errorf("%s does not speak HTTP, or its answer is damaged: it is refused", host)
	case strings.Contains(err.Error(), untyped):
		return "", errors.New("the registry does not name the type of its manifest: it is refused")
	case errors.Is(err, io.EOF):
		return "try again", fmt.Errorf("%s closed the connection without an answer", host)
	case errors.As(err, &dns) && dns.IsNotFound:
		return "", fmt.Errorf("the host of %s is not known", host)
	case errors.Is(err, context.Canceled):
		return "", err
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "try again", fmt.Errorf("%s does not answer in time", host)
	case errors.As(err, &errno):
		return "", fmt.Errorf("%s cannot be reached: %w", host, errno)
	}
	return "", err
}
