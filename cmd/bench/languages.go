package main

import (
	"context"
	"fmt"
	"path/filepath"
)

// languageServers returns the echo tool in each language, in a clean room for each call, in TypeScript kept too, and as a
// native server of the TypeScript SDK.
func languageServers() []toolServer {
	host := func(name, file, state string) toolServer {
		return toolServer{name, func(ctx context.Context, transport string) (*server, error) {
			return launchHost(ctx, "language_"+name, file, state, transport)
		}}
	}
	guest := func(language string) string {
		return filepath.Join("cmd", "bench", "testdata", "tools"+language, "tools.wasm")
	}
	script := func(name string) string { return filepath.Join("cmd", "bench", "testdata", "echoscripts", name) }
	return []toolServer{
		host("go", guestFile("tools"), "call"), host("tinygo", guest("tinygo"), "call"),
		host("ts", script("echo.ts"), "call"), host("ts_kept", script("echo.ts"), "plugin"),
		host("js", script("echo.js"), "call"),
		host("python", script("echo.py"), "call"),
		host("c", guest("c"), "call"), host("rust", guest("rust"), "call"),
		host("zig", guest("zig"), "call"), host("assemblyscript", guest("assemblyscript"), "call"),
		{"node", launchNode},
	}
}

// benchLanguages measures one call of 100 B and of 100 KB over stdio in each language.
func benchLanguages(ctx context.Context, o options) ([]row, error) {
	if err := buildGuests(ctx); err != nil {
		return nil, err
	}
	o.slice /= 2 * toolsShare
	rounds := 3 * o.rounds // the ratios are near 1, and those of single rounds are between a half and two
	servers, stop, err := startAll(ctx, languageServers(), "stdio")
	defer stop()
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, size := range []struct {
		name  string
		bytes int
	}{{"100B", 100}, {"100KB", 100_000}} {
		results, err := measureTools(servers, languageServers(), echoCall(payload(size.bytes)), 1, rounds, o.slice)
		if err != nil {
			return nil, err
		}
		setting := "language_" + size.name + "_"
		for _, s := range languageServers() {
			rows = append(rows, results[s.name].rows(setting+s.name)...)
		}
		rows = append(rows, timeOver(setting, results, [][2]string{{"ts", "ts_kept"}, {"ts", "node"}, {"python", "ts"}, {"c", "go"}, {"tinygo", "go"}})...)
	}
	return rows, nil
}

// startAll starts servers; stop ends those that were started.
func startAll(ctx context.Context, all []toolServer, transport string) (servers map[string]*server, stop func(), err error) {
	servers = map[string]*server{}
	stop = func() {
		for _, p := range servers {
			p.stop()
		}
	}
	for _, s := range all {
		p, err := s.start(ctx, transport)
		if err != nil {
			return nil, stop, fmt.Errorf("%s: %w", s.name, err)
		}
		servers[s.name] = p
	}
	return servers, stop, nil
}
