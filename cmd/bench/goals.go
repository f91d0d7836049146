package main

import (
	"fmt"
	"slices"
	"strings"
)

// goal is the value that a row has to reach: at most limit, or at least it.
type goal struct {
	row   string
	limit float64
	least bool
}

// goals returns the rows that compare this host with a native server, or with a former state of itself.
func goals() []goal {
	return []goal{
		{row: "tools_stdio_report_1_go_over_gosdk", limit: 1.3},
		{row: "tools_stdio_report_1_go_over_go_kept", limit: 1.15},
		{row: "language_100B_ts_p50", limit: 250},
		{row: "language_100B_ts_over_ts_kept", limit: 1.25},
		{row: "language_100B_ts_over_node", limit: 1},
		{row: "tools_http_report_1_rust_over_mcpgo", limit: 1},
		{row: "tools_http_report_8_rust_over_mcpgo", limit: 1},
		{row: "tools_http_report_32_rust_over_mcpgo", limit: 1},
		{row: "tools_http_echo_1_rust_over_mcpgo", limit: 1},
		{row: "tools_http_report_32_go_tail", limit: 3},
		{row: "first_call_warm_go_ms", limit: 10},
		{row: "first_call_chosen_go_ms", limit: 10},
		{row: "store_unused_postgres_1_over_file", limit: 1.05},
		{row: "auth_cached_us", limit: 10},
		{row: "plugins_50_rss_MB", limit: 600},
		{row: "plugins_50_rss_idle_MB", limit: 150},
		{row: "plugins_50_state_over_plugins", limit: 2.5},
		{row: "tools_stdio_echo_1_extism_p50", limit: 80},
		{row: "tools_stdio_echo_1_extism_over_plainextism", limit: 2},
		{row: "extism_kept_over_wazero_tools", limit: 1.35},
		{row: "extism_fuel_clean_over_kept_tools", limit: 1.02},
		{row: "metered_over_plain_geomean", limit: 1.1},
		{row: "sha_over_before", limit: 0.75},
		{row: "server_call_over_native_1", limit: 1, least: true},
		{row: "server_call_over_wazero_1", limit: 1, least: true},
		{row: "servers_100_call_idle_each_MB", limit: 5},
		{row: "servers_100_session_idle_each_MB", limit: 5},
		{row: "servers_100_call_idle_cpu", limit: 0.1},
		{row: "servers_100_session_idle_cpu", limit: 0.1},
		{row: "cores_echo_2_over_1", limit: 1.7, least: true},
		{row: "cores_echo_2_over_processes", limit: 0.9, least: true},
		{row: "gojq_wrapped_once_over_exec_1", limit: 1, least: true},
		{row: "gojq_wrapped_once_over_exec_16", limit: 1, least: true},
		{row: "gojq_wrapped_args_over_exec_1", limit: 1, least: true},
		{row: "gojq_wrapped_args_over_exec_16", limit: 1, least: true},
	}
}

// goal returns the goal of the row as text, "" if it has none.
func (r row) goal() string {
	i := slices.IndexFunc(goals(), func(g goal) bool { return g.row == r.Name })
	if i < 0 {
		return ""
	}
	g, sign := goals()[i], "≤"
	missed := r.Value > g.limit
	if g.least {
		sign, missed = "≥", r.Value < g.limit
	}
	text := fmt.Sprintf("%s %.3g", sign, g.limit)
	if missed {
		text += " missed"
	}
	return text
}

// unmeasured returns an error that names the goals without a row.
func unmeasured(rows []row) error {
	var names []string
	for _, g := range goals() {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.Name == g.row }) {
			names = append(names, g.row)
		}
	}
	if names != nil {
		return fmt.Errorf("goals without a row: %s", strings.Join(names, ", "))
	}
	return nil
}
