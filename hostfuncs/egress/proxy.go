package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	tunnelTime     = 20 * time.Second // until a proxy has connected
	maxProxyAnswer = 16 << 10         // bytes of the response header of a proxy
)

type proxyKey struct{}

// withProxy sets the proxy for the connections of a request. It must depend only on scheme, host and port, as
// connections do.
func withProxy(ctx context.Context, proxy *url.URL) context.Context {
	return context.WithValue(ctx, proxyKey{}, proxy)
}

func proxyFrom(ctx context.Context) *url.URL {
	proxy, _ := ctx.Value(proxyKey{}).(*url.URL)
	return proxy
}

// proxyError is the reason that a proxy opened no tunnel.
type proxyError struct {
	reason string
}

// Error returns the reason.
func (e *proxyError) Error() string { return "proxy: " + e.reason }

// tunnel asks a proxy for a connection to a checked address. The address of the proxy itself is set by the operator
// and not checked.
func (d *dialer) tunnel(ctx context.Context, proxy *url.URL, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, tunnelTime)
	defer cancel()
	conn, err := d.dialProxy(ctx, proxy)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	err = askTunnel(conn, proxy, address)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func (d *dialer) dialProxy(ctx context.Context, proxy *url.URL) (net.Conn, error) {
	port := proxy.Port()
	switch {
	case proxy.Scheme != "http" && proxy.Scheme != "https":
		return nil, &proxyError{"a proxy speaks http or https"}
	case port == "" && proxy.Scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	conn, err := d.open(ctx, "tcp", net.JoinHostPort(proxy.Hostname(), port))
	if err != nil {
		return nil, &proxyError{"it cannot be reached"}
	}
	if proxy.Scheme == "http" {
		return conn, nil
	}
	config := d.tls.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	config.ServerName, config.NextProtos = proxy.Hostname(), nil
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, &proxyError{"its certificate is not good"}
	}
	return secure, nil
}

// askTunnel sends CONNECT and reads the response header.
func askTunnel(conn net.Conn, proxy *url.URL, address string) error {
	connect := "CONNECT " + address + " HTTP/1.1\r\nHost: " + address + "\r\n"
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		token := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		connect += "Proxy-Authorization: Basic " + token + "\r\n"
	}
	if _, err := io.WriteString(conn, connect+"\r\n"); err != nil {
		return ended(err)
	}
	r := bufio.NewReader(io.LimitReader(conn, maxProxyAnswer))
	res, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	switch {
	case err != nil:
		return ended(err)
	case res.StatusCode != http.StatusOK:
		return &proxyError{fmt.Sprintf("it answers %d", res.StatusCode)}
	case r.Buffered() > 0:
		return &proxyError{"it speaks before it is spoken to"}
	}
	return nil
}

// ended converts the error of a proxy that did not answer. A timeout is returned unchanged.
func ended(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return err
	}
	return &proxyError{"it does not answer"}
}
