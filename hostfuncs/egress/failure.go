package egress

import (
	"errors"
	"net"
	"syscall"

	"github.com/sallyport-mcp/sallyport/runtime"
)

// failure translates the error of a request for the guest, without details of the network or the resolver about
// machines that the guest may not see.
func (r *Request) failure(err error) error {
	var refused *AddressError
	var dns *net.DNSError
	var timeout net.Error
	var errno syscall.Errno
	var proxy *proxyError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &dns) && dns.IsNotFound:
		return runtime.AskErrorf(runtime.KindUnavailable, "host %s is not known", r.URL.Hostname())
	case errors.As(err, &timeout) && timeout.Timeout():
		return runtime.AskErrorf(runtime.KindTimeout, "%s does not answer in time", r.URL.Host)
	case errors.As(err, &dns):
		return runtime.AskErrorf(runtime.KindUnavailable, "host %s cannot be looked up", r.URL.Hostname())
	case errors.As(err, &proxy):
		return runtime.AskErrorf(runtime.KindUnavailable, "the proxy gives no way to %s: %s", r.URL.Host, proxy.reason)
	case errors.As(err, &errno):
		return runtime.AskErrorf(runtime.KindUnavailable, "%s cannot be reached: %s", r.URL.Host, errno)
	}
	return runtime.AskErrorf(runtime.KindUnavailable, "%s gives no answer: %s", r.URL.Host, shown(err.Error()))
}
