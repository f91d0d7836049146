package scale

import (
	"fmt"
	"strings"
	"time"
)

// loads are the calls of a client in a minute: of a person, and of an agent that works all the time.
func loads() []int { return []int{1, 12} }

// fleets are the fleets of the table, with a load.
func fleets(perMinute int) (all []Fleet) {
	for _, size := range [][2]int{{1, 1_000}, {3, 10_000}, {10, 100_000}, {30, 300_000}, {100, 1_000_000}} {
		all = append(all, Fleet{size[0], size[1], perMinute})
	}
	return all
}

// seed is that of the simulations in the tables.
const seed = 16

// Tables returns the tables of docs/scale.md in Markdown.
func (in Inputs) Tables() string {
	var b strings.Builder
	in.costs(&b)
	in.walls(&b)
	in.fleets(&b)
	return b.String()
}

// costs prints the measured inputs.
func (in Inputs) costs(b *strings.Builder) {
	b.WriteString("\n### Measured\n\n| call | share | processor | writing transactions | left in the store | audit log |\n|---|--:|--:|--:|--:|--:|\n")
	for _, s := range mix() {
		fmt.Fprintf(b, "| %s | %d %% | %s | %.0f | %s | %s |\n", s.kind, s.percent, micros(in[input(s.kind, "cpu")]),
			in[input(s.kind, "writes")], size(in[input(s.kind, "row")]), size(in[input(s.kind, "audit")]))
	}
	fmt.Fprintf(b, "| mean | | %s | %.2f | %s | %s |\n", micros(in.mean("cpu")), in.mean("writes"), size(in.mean("row")), size(in.mean("audit")))
	fmt.Fprintf(b, "\n| | |\n|---|--:|\n| a host with one plugin, resident | %s |\n| each further Go plugin, called | %s |\n", size(in["scale_host_memory"]), size(in["scale_plugin_memory"]))
	fmt.Fprintf(b, "| a session of 2025-11-25 | %s |\n| a connection that waits | %s |\n", size(in["scale_session_memory"]), size(in["scale_connection_memory"]))
	fmt.Fprintf(b, "| PostgreSQL, one writing transaction | %s |\n", micros(in["scale_database_cpu"]))
}

// walls prints the number of clients at which each resource is full.
func (in Inputs) walls(b *strings.Builder) {
	b.WriteString("\n### Walls, in clients\n\n| | 1 call a minute | 12 calls a minute |\n|---|--:|--:|\n")
	fmt.Fprintf(b, "| a replica: `http.sessions` and `http.connections` as they come | %s | %[1]s |\n", whole(Sessions))
	person, agent := in.Walls(loads()[0]), in.Walls(loads()[1])
	fmt.Fprintf(b, "| a replica: its %d processors | %s | %s |\n", ReplicaCores, whole(person.Processor), whole(agent.Processor))
	fmt.Fprintf(b, "| a replica: its memory | %s | %s |\n", whole(person.Memory), whole(agent.Memory))
	fmt.Fprintf(b, "| all replicas: the %d processors of the database | %s | %s |\n", DatabaseCores, whole(person.Database), whole(agent.Database))
}

// fleets prints the model and the simulation of fleets.
func (in Inputs) fleets(b *strings.Builder) {
	b.WriteString("\n### Fleets\n\n| replicas | clients | calls/s | `http.sessions` | memory of a replica | processors: model | simulated | busiest | database: model | simulated | p50 | p99 | audit logs, a day | 1 GiB of a replica's lasts |\n" +
		"|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, perMinute := range loads() {
		for _, f := range fleets(perMinute) {
			m, r := in.Model(f), in.Simulate(f, seed)
			fmt.Fprintf(b, "| %d | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", f.Replicas, whole(float64(f.Clients)), whole(f.rate()),
				whole(float64(f.Clients/f.Replicas)), size(m.Memory), percent(m.Processor), percent(r.Processor), percent(r.Busiest),
				percent(m.Database), percent(r.Database), r.latency(r.Median), r.latency(r.Tail), size(m.Audit*86_400), span(1<<30*float64(f.Replicas)/m.Audit))
		}
	}
}

// latency prints a time of calls, unless a queue grows.
func (r Run) latency(d time.Duration) string {
	if r.Busiest >= 1 || r.Database >= 1 {
		return "grows"
	}
	return micros(float64(d.Microseconds()))
}

func percent(share float64) string {
	if share < .1 {
		return fmt.Sprintf("%.1f %%", share*100)
	}
	return fmt.Sprintf("%.0f %%", share*100)
}

// whole prints a number with three digits that count, and groups of thousands.
func whole(n float64) string {
	step := 1.0
	for n/step >= 10_000 {
		step *= 10
	}
	text := fmt.Sprintf("%.0f", float64(int(n/step))*step)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// micros prints a time in microseconds.
func micros(n float64) string {
	if n >= 1000 {
		return fmt.Sprintf("%.1f ms", n/1000)
	}
	return fmt.Sprintf("%.0f µs", n)
}

// span prints a number of seconds.
func span(seconds float64) string {
	switch {
	case seconds >= 48*3600:
		return fmt.Sprintf("%.0f days", seconds/86_400)
	case seconds >= 2*3600:
		return fmt.Sprintf("%.0f h", seconds/3600)
	}
	return fmt.Sprintf("%.0f min", seconds/60)
}

// size prints a number of bytes.
func size(n float64) string {
	units := []string{"B", "KB", "MB", "GB", "TB"}
	i := 0
	for ; n >= 1000 && i < len(units)-1; i++ {
		n /= 1000
	}
	if i == 0 || n >= 100 {
		return fmt.Sprintf("%.0f %s", n, units[i])
	}
	return fmt.Sprintf("%.1f %s", n, units[i])
}
