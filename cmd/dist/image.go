package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nonRoot is the user of the container, as in distroless images.
const nonRoot = 65532

// images returns one image for all Linux programs, as an archive with an OCI layout. It holds the program, the roots of
// public certificate authorities and a home, and nothing else: no shell.
func images(r *release) ([]artefact, error) {
	l := layout{at: r.at}
	index := v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Annotations: r.annotations()}
	for _, p := range r.programs {
		if p.os != "linux" {
			continue
		}
		image, err := l.image(r, p)
		if err != nil {
			return nil, err
		}
		index.Manifests = append(index.Manifests, image)
	}
	if index.Manifests == nil {
		return nil, nil
	}
	all, err := l.add(v1.MediaTypeImageIndex, index)
	if err != nil {
		return nil, err
	}
	all.Annotations = map[string]string{v1.AnnotationRefName: "sallyport:" + r.version.semantic()} // the name that podman load gives it
	content, err := l.archive(v1.Index{Versioned: index.Versioned, MediaType: v1.MediaTypeImageIndex, Manifests: []v1.Descriptor{all}})
	return []artefact{{"sallyport_image.tar", content}}, err
}

// layout is an OCI layout: blobs by their digests.
type layout struct {
	at    time.Time
	blobs []member
}

// image adds the image of a program.
func (l *layout) image(r *release, p built) (v1.Descriptor, error) {
	platform := v1.Platform{OS: p.os, Architecture: p.arch}
	plain, err := tarred(append([]member{
		{name: "etc/", mode: 0o755}, {name: "etc/ssl/", mode: 0o755}, {name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: publicRoots()},
		{name: "etc/passwd", mode: 0o644, content: []byte("nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")},
		{name: "home/", mode: 0o755}, {name: "home/nonroot/", mode: 0o700, owner: nonRoot}, {name: "plugins/", mode: 0o755}, {name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755}, {name: "usr/bin/", mode: 0o755},
	}, p.executables("usr/bin/")...), r.at)
	if err != nil {
		return v1.Descriptor{}, err
	}
	zip, err := compressed(plain)
	if err != nil {
		return v1.Descriptor{}, err
	}
	layer := l.put(v1.MediaTypeImageLayerGzip, zip)
	config, err := l.add(v1.MediaTypeImageConfig, v1.Image{
		Created: &r.at, Platform: platform,
		Config: v1.ImageConfig{
			User: "65532:65532", Env: []string{"HOME=/home/nonroot", "PATH=/usr/bin"}, WorkingDir: "/home/nonroot",
			Entrypoint: []string{"/usr/bin/sallyport"}, Cmd: []string{"serve", "/plugins"}, Labels: r.annotations(),
		},
		RootFS: v1.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromBytes(plain)}},
	})
	if err != nil {
		return v1.Descriptor{}, err
	}
	d, err := l.add(v1.MediaTypeImageManifest, v1.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest, Config: config, Layers: []v1.Descriptor{layer}})
	d.Platform = &platform
	return d, err
}

// annotations returns the names of the image. The last is the one by which the registry of MCP servers verifies the owner.
func (r *release) annotations() map[string]string {
	return map[string]string{
		v1.AnnotationTitle: "sallyport", v1.AnnotationVersion: r.version.semantic(), v1.AnnotationDescription: summary, v1.AnnotationLicenses: licence,
		v1.AnnotationSource: homepage, "io.modelcontextprotocol.server.name": serverName,
	}
}

// add adds a JSON document.
func (l *layout) add(mediaType string, v any) (v1.Descriptor, error) {
	raw, err := json.Marshal(v)
	return l.put(mediaType, raw), err
}

// put adds a blob.
func (l *layout) put(mediaType string, content []byte) v1.Descriptor {
	sum := sha256.Sum256(content)
	l.blobs = append(l.blobs, member{name: "blobs/sha256/" + hex.EncodeToString(sum[:]), mode: 0o644, content: content})
	return v1.Descriptor{MediaType: mediaType, Digest: digest.NewDigestFromBytes(digest.SHA256, sum[:]), Size: int64(len(content))}
}

// archive returns the layout as a tar archive, with the index of its images.
func (l *layout) archive(index v1.Index) ([]byte, error) {
	raw, err := json.Marshal(index)
	if err != nil {
		return nil, err
	}
	head := []member{
		{name: v1.ImageLayoutFile, mode: 0o644, content: []byte(`{"imageLayoutVersion":"` + v1.ImageLayoutVersion + `"}`)},
		{name: v1.ImageIndexFile, mode: 0o644, content: raw}, {name: "blobs/", mode: 0o755}, {name: "blobs/sha256/", mode: 0o755},
	}
	return tarred(append(head, l.blobs...), l.at)
}

// publicRoots returns the certificates of the authorities that browsers trust, without those that are limited.
func publicRoots() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes all
		}
	}
	return out.Bytes()
}
