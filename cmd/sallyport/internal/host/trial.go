package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/settings"
	"github.com/sallyport-mcp/sallyport/cmd/sallyport/internal/userfile"
	"github.com/sallyport-mcp/sallyport/hostfuncs"
	"github.com/sallyport-mcp/sallyport/hostfuncs/egress"
	"github.com/sallyport-mcp/sallyport/hostfuncs/state/recording"
	"github.com/sallyport-mcp/sallyport/internal/sealed"
	"github.com/sallyport-mcp/sallyport/registry"
	"github.com/sallyport-mcp/sallyport/registry/plugin"
	"github.com/sallyport-mcp/sallyport/runtime"
)

// Recordings returns the recorded calls of these settings' state folder.
func Recordings(s *settings.Settings) *recording.Folder {
	return recording.NewFolder(recording.Options{Dir: s.State().Recorded(), Keys: func() (*sealed.Keys, error) {
		keys, err := userfile.OwnKeys(s.State().Keys())
		if err != nil {
			return nil, err
		}
		return keys.Keys(), nil
	}})
}

// pruneRecordings removes the recorded calls that are older than the settings keep them.
func pruneRecordings(s *settings.Settings) {
	ages := map[string]time.Duration{}
	for _, p := range s.Plugins {
		ages[p.Name] = p.Record
	}
	Recordings(s).Prune(ages)
}

// TrialTime is the time for the recorded calls of a plugin.
const TrialTime = time.Minute

// Trial runs the recorded calls of a plugin again with the reviewed bytes, as many as there is time for, and compares
// the effects. It returns nil if the plugin's calls are not recorded. Nothing leaves this machine: the gates take the
// answers of the recording, and have neither a network nor an operator, a client or other plugins to ask.
func Trial(ctx context.Context, s *settings.Settings, v *registry.Review, within time.Duration) (*recording.Report, error) {
	i := slices.IndexFunc(s.Plugins, func(p settings.Plugin) bool { return p.Name == v.Name })
	if i < 0 || s.Plugins[i].Record == 0 || v.Before.Digest == "" {
		return nil, nil
	}
	own := s.Plugins[i]
	calls, err := Recordings(s).Calls(own.Name, own.Record)
	if err != nil {
		return &recording.Report{Failed: fmt.Sprintf("they cannot be read: %v", err)}, nil
	}
	compared := recording.NewComparison(calls.All)
	err = try(ctx, s, own, v, within, calls.All, compared.Add)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	report := compared.Report()
	if report.Damaged = calls.Damaged; err != nil {
		report.Failed = err.Error()
	}
	return &report, nil
}

// try runs calls with the reviewed bytes, under the grants of the settings.
func try(ctx context.Context, s *settings.Settings, own settings.Plugin, v *registry.Review, within time.Duration, calls []recording.Call, made func(call, trial *recording.Call)) (err error) {
	if len(calls) == 0 {
		return nil
	}
	engine, err := newEngine(ctx, Options{Settings: s, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close(context.WithoutCancel(ctx))) }()
	h := &Host{settings: s, log: slog.New(slog.DiscardHandler), Store: OpenStore(s)}
	defer h.Store.Close()
	o := h.gateOptions([]registry.File{}) // nobody is asked
	o.Web = egress.Options{Resolver: offline{}, Dial: offline{}.dial}
	o.Recordings = nil
	gates := hostfuncs.NewHost(o)
	defer gates.Close()
	c := pluginConfig(s, own)
	limits, use := widest(c)
	t := plugin.Trial{Engine: engine, Host: gates, Dialects: Dialects(), Limits: limits, Within: within, Plugin: hostfuncs.Plugin{
		Name: own.Name, Digest: v.After.Digest, Grants: c.Grants, Config: v.Values, Workspace: c.Workspace, Frozen: c.Frozen, Seed: c.Seed,
		Limits: use,
	}}
	return t.Run(ctx, v.Bytes(), calls, made)
}

// widest returns the most that a call of any caller has: a recorded call is without the groups of its caller.
func widest(c registry.Config) (runtime.Limits, hostfuncs.Limits) {
	limits, use := c.Limits, hostfuncs.Limits{Sent: c.Use.Sent, Received: c.Use.Received}
	for _, class := range c.Classes {
		limits.Memory = max(limits.Memory, class.Limits.Memory)
		limits.Deadline = max(limits.Deadline, class.Limits.Deadline)
		if use.Sent > 0 {
			use.Sent = max(use.Sent, class.Use.Sent)
		}
		if use.Received > 0 {
			use.Received = max(use.Received, class.Use.Received)
		}
	}
	return limits, use
}

// offline is a network without a connection. The gates of a trial reach none; this is the second wall.
type offline struct{}

var errOffline = errors.New("nothing is sent in a trial")

var _ egress.Resolver = offline{}

// LookupNetIP fails.
func (offline) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return nil, errOffline
}

func (offline) dial(context.Context, string, string) (net.Conn, error) { return nil, errOffline }
