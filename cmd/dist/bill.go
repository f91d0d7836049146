package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime/debug"
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

// billOf returns the bill of materials of a built program.
func billOf(program string, at time.Time) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	return billFrom(info, at)
}

// billFrom returns the bill of build information.
func billFrom(info *debug.BuildInfo, at time.Time) ([]byte, error) {
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{
		Timestamp: at.Format(time.RFC3339), Component: moduleOf("application", info.Main),
	}}
	b.Components = []component{{Type: "library", Name: "stdlib", Version: info.GoVersion, PURL: "pkg:golang/stdlib@" + info.GoVersion}}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		b.Components = append(b.Components, moduleOf("library", *d))
	}
	b.Serial = serialOf(info)
	raw, err := json.MarshalIndent(b, "", "  ")
	return append(raw, '\n'), err
}

func moduleOf(kind string, m debug.Module) component {
	return component{Type: kind, Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version}
}

// serialOf returns a UUID that depends on the build information alone.
func serialOf(info *debug.BuildInfo) string {
	sum := sha256.Sum256([]byte(info.String()))
	sum[6] = sum[6]&0x0f | 0x80 // version 8: of a hash of one's own
	sum[8] = sum[8]&0x3f | 0x80
	text := hex.EncodeToString(sum[:16])
	return fmt.Sprintf("urn:uuid:%s-%s-%s-%s-%s", text[:8], text[8:12], text[12:16], text[16:20], text[20:])
}
