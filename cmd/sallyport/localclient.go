package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/host"
	"github.com/sallyport-mcp/sallyport/internal/jsonraw"
	"github.com/sallyport-mcp/sallyport/internal/jsonrpc"
	"github.com/sallyport-mcp/sallyport/protocol"
	"github.com/sallyport-mcp/sallyport/protocol/envelope"
)

// localClient sends requests to a host of this process, through the same server that clients use.
type localClient struct {
	host    *host.Host
	server  *protocol.Server
	conn    *protocol.Conn
	notices io.Writer // gets the notifications that precede a result, a line each
}

func newLocalClient(h *host.Host, notices io.Writer) *localClient {
	server := protocol.NewServer(h.Registry, &protocol.Options{Name: "sallyport", Version: host.Version(), Store: h.Store})
	return &localClient{host: h, server: server, conn: server.Connect(protocol.ConnOptions{Principal: "cli"}), notices: notices}
}

// close ends the client and its host.
func (c *localClient) close(ctx context.Context) error {
	c.conn.Close()
	return errors.Join(c.server.Close(ctx), closeWithin(drain, c.host.Close))
}

// answering returns the answers to the questions of a result; asked is false for a final result.
type answering func(ctx context.Context, result json.RawMessage) (a answers, asked bool, err error)

// request sends a request, and again with answers as long as the result asks questions.
func (c *localClient) request(ctx context.Context, method string, params json.RawMessage, ask answering) (protocol.Response, error) {
	first := params
	for range maxRounds {
		m := &jsonrpc.Message{ID: json.RawMessage("1"), Method: method, Params: params}
		r := c.conn.Handle(ctx, m, func(msg []byte) { fmt.Fprintln(c.notices, notice(msg)) })
		if r.Err != nil {
			return r, nil
		}
		a, asked, err := ask(ctx, jsonraw.Get(r.Body, "result"))
		if err != nil || !asked {
			return r, err
		}
		params = withAnswers(first, a)
	}
	return protocol.Response{}, fmt.Errorf("the tool asked %d times: that is enough", maxRounds)
}

// requestParams adds to the members of a method what a request of the latest protocol revision has, which needs no session.
// wishes are members of _meta that are true.
func requestParams(members jsonraw.Object, capabilities string, wishes ...string) json.RawMessage {
	var more string
	for _, w := range wishes {
		more += fmt.Sprintf(`,%q:true`, w)
	}
	members.Set("_meta", fmt.Appendf(nil, `{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":%s,`+
		`"io.modelcontextprotocol/logLevel":"debug","progressToken":1%s}`, envelope.Versions()[0], capabilities, more))
	return members.Append(nil)
}
