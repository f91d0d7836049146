// Package scale is the capacity model of docs/scale.md, and the simulation that checks it.
//
//	in, err := scale.Read()                                    // measured by make scale
//	f := scale.Fleet{Replicas: 100, Clients: 1_000_000, PerMinute: 1}
//	in.Model(f)          // use of processors and database, memory: by arithmetic
//	in.Simulate(f, seed) // the same, and latency: call by call
package scale

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// The assumed machines: those of a replica, and that of the database.
const (
	ReplicaCores  = 2
	DatabaseCores = 8
	// Plugins is the number of Go plugins that are loaded in a replica.
	Plugins = 20
	// Full is the share of a resource over which its queue is taken for too long.
	Full = 0.7
	// Memory is that of a replica, in bytes.
	Memory = 4 << 30
	// Sessions is the default of http.sessions, and also that of http.connections.
	Sessions = 1024
)

// share is the share of a kind of calls.
type share struct {
	kind    string
	percent int
	bound   bool // to the replica of the client's session
}

// mix is the assumed mix of calls.
func mix() []share {
	return []share{{"plain", 50, false}, {"session", 25, true}, {"kv", 10, false}, {"key", 5, false}, {"question", 5, false}, {"task", 5, false}}
}

//go:embed measured.json
var measured []byte

// Inputs are the measured costs by name, in the units of make scale: µs, bytes and writing transactions.
type Inputs map[string]float64

// Read returns the inputs of measured.json.
func Read() (Inputs, error) {
	var rows []struct {
		Name  string
		Value float64
	}
	if err := json.Unmarshal(measured, &rows); err != nil {
		return nil, err
	}
	in := Inputs{}
	for _, r := range rows {
		in[r.Name] = r.Value
	}
	for _, name := range names() {
		if _, there := in[name]; !there {
			return nil, fmt.Errorf("measured.json has no row %s: run make scale", name)
		}
	}
	return in, nil
}

// names returns the inputs that the model needs.
func names() []string {
	all := []string{"scale_host_memory", "scale_plugin_memory", "scale_session_memory", "scale_connection_memory", "scale_database_cpu"}
	for _, s := range mix() {
		for _, of := range []string{"cpu", "writes", "row", "audit"} {
			all = append(all, input(s.kind, of))
		}
	}
	return all
}

func input(kind, of string) string { return "scale_" + kind + "_" + of }

// Fleet is a number of replicas with one database, and its load.
type Fleet struct {
	Replicas  int
	Clients   int // each with a session of 2025-11-25 and a connection that waits
	PerMinute int // calls of each client
}

// rate returns the calls per second.
func (f Fleet) rate() float64 { return float64(f.Clients*f.PerMinute) / 60 }

// Use is the load of a fleet. Processor and Database are shares of what there is, over 1 if more is asked for.
type Use struct {
	Processor, Database float64
	Memory              float64 // of one replica, in bytes
	Audit, Rows         float64 // bytes written per second: of the audit logs, and left in the database
}

// mean returns the mean over the mix of calls.
func (in Inputs) mean(of string) (sum float64) {
	for _, s := range mix() {
		sum += in[input(s.kind, of)] * float64(s.percent) / 100
	}
	return sum
}

// Model computes the use of a fleet.
func (in Inputs) Model(f Fleet) Use {
	each := float64(f.Clients) / float64(f.Replicas)
	return Use{
		Processor: f.rate() * in.mean("cpu") / 1e6 / float64(f.Replicas*ReplicaCores),
		Database:  f.rate() * in.mean("writes") * in["scale_database_cpu"] / 1e6 / DatabaseCores,
		Memory:    in["scale_host_memory"] + Plugins*in["scale_plugin_memory"] + each*in.client(),
		Audit:     f.rate() * in.mean("audit"),
		Rows:      f.rate() * in.mean("row"),
	}
}

// client is the memory of a client with a session and a connection, in bytes.
func (in Inputs) client() float64 { return in["scale_session_memory"] + in["scale_connection_memory"] }

// Walls are the numbers of clients at which a resource is full: those of one replica, and of all with the database.
type Walls struct{ Processor, Memory, Database float64 }

// Walls returns the walls for clients with so many calls a minute.
func (in Inputs) Walls(perMinute int) Walls {
	one := in.Model(Fleet{Replicas: 1, Clients: 1_000_000, PerMinute: perMinute})
	return Walls{
		Processor: 1_000_000 * Full / one.Processor,
		Database:  1_000_000 * Full / one.Database,
		Memory:    (Full*Memory - in["scale_host_memory"] - Plugins*in["scale_plugin_memory"]) / in.client(),
	}
}
