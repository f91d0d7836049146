package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// bill is a software bill of materials: CycloneDX 1.6, as far as the build information of a Go program fills it.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Serial     string      `json:"serialNumber"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

// metadata is the subject of a bill.
type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

// component is the program, a module, or the standard library.
type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl,omitempty"`
}

// billOf returns the bill of materials of built programs, the first of which is the subject.
func billOf(at time.Time, programs ...string) ([]byte, error) {
	var all []*debug.BuildInfo
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, err
		}
		all = append(all, info)
	}
	return billFrom(at, all[0], all[1:]...)
}

// billFrom returns the bill of build information, with the modules of further programs.
func billFrom(at time.Time, info *debug.BuildInfo, others ...*debug.BuildInfo) ([]byte, error) {
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{
		Timestamp: at.Format(time.RFC3339), Component: moduleOf("application", info.Main),
	}}
	b.Components = []component{{Type: "library", Name: "stdlib", Version: info.GoVersion, PURL: "pkg:golang/stdlib@" + info.GoVersion}}
	b.Components = append(b.Components, libraries(info)...)
	for _, other := range others {
		b.Components = append(b.Components, moduleOf("application", other.Main))
		for _, c := range libraries(other) {
			if !slices.Contains(b.Components, c) {
				b.Components = append(b.Components, c)
			}
		}
	}
	b.Serial = serialOf(info, others...)
	raw, err := json.MarshalIndent(b, "", "  ")
	return append(raw, '\n'), err
}

// libraries returns the modules that a program was built with.
func libraries(info *debug.BuildInfo) (all []component) {
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		all = append(all, moduleOf("library", *d))
	}
	return all
}

func moduleOf(kind string, m debug.Module) component {
	return component{Type: kind, Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version}
}

// serialOf returns a UUID that depends on the build information alone.
func serialOf(info *debug.BuildInfo, others ...*debug.BuildInfo) string {
	all := info.String()
	for _, other := range others {
		all += other.String()
	}
	sum := sha256.Sum256([]byte(all))
	sum[6] = sum[6]&0x0f | 0x80 // version 8: of a hash of one's own
	sum[8] = sum[8]&0x3f | 0x80
	text := hex.EncodeToString(sum[:16])
	return fmt.Sprintf("urn:uuid:%s-%s-%s-%s-%s", text[:8], text[8:12], text[12:16], text[16:20], text[20:])
}
