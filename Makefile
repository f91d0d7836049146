# make run        build everything and serve the bundled plugins on 127.0.0.1:8470/mcp
# make test       every test that needs only Go, make and git
# make test-all   the rest: real clients, conformance, race, fuzzing, other systems (installs what it needs)
# make help       all targets

BIN      := build/sallyport
SIGSTORE := build/sallyport-sigstore
PLUGINS  := time fetch files git conformance
PROGRAMS := gojq goawk everything
WASM     := $(PLUGINS:%=build/plugins/%.wasm) $(PROGRAMS:%=build/plugins/%.wasm)
ADDR     ?= 127.0.0.1:8470
FUZZTIME ?= 10s
SCHEDULES ?= 100000
REPLICASTIME ?= 60s
ORACLE   := build/oracle/release/oracle
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help fmt build dist dist-test plugins install run test test-all check race portable fuzz cross goroot wasi-suite spec oracles decoders escape-guest tools-guest rmcp-guest script-engine python-engine bench scale challenges conformance clients programs servers registry postgres replicas browser signin dashboard deploy clean FORCE
.DEFAULT_GOAL := help

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n",$$1,$$2}' Makefile

build: $(BIN) $(SIGSTORE) ## the host, build/sallyport, and the program beside it that verifies signatures of sigstore

$(BIN): FORCE
	@echo "building $@"
	@go build -trimpath -o $@ ./cmd/sallyport

$(SIGSTORE): FORCE
	@echo "building $@"
	@cd cmd/sallyport-sigstore && CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o ../../$@ .

install: ## put sallyport on the PATH
	go install -trimpath ./cmd/sallyport
	cd cmd/sallyport-sigstore && CGO_ENABLED=0 go install -trimpath -ldflags='-s -w' .

dist: ## archives and packages for six systems, checksums and a bill of materials, in build/dist
	go run ./cmd/dist -o build/dist

build/uv/bin/uv:
	python3 -m venv build/uv && build/uv/bin/pip install -q uv==0.13.8

# SYSTEMS= compares the whole release, which compiles all of it twice.
SYSTEMS ?= $(shell go env GOOS)_$(shell go env GOARCH)
dist-test: plugins build/uv/bin/uv ## the release for this system (or SYSTEMS) twice, which has to be equal, and a first call from each package in an empty place
	@.ci/apt 'command -v skopeo && command -v ruby' skopeo ruby
	go test -tags dist ./cmd/dist -run TestDist -count=1 -v -timeout 40m -systems '$(SYSTEMS)'

plugins: $(WASM) ## the bundled plugins, build/plugins/*.wasm

# A plugin is built beside its place, packed (its description goes into the file), then moved.
build/plugins/%.wasm: $(BIN) FORCE
	@echo "building $@"
	@mkdir -p build/plugins build/wasm
	@cd plugins && GOOS=wasip1 GOARCH=wasm go build -trimpath -buildmode=c-shared -ldflags='-s -w' -o ../build/wasm/$*.wasm ./$*
	@$(BIN) pack build/wasm/$*.wasm --state build/state >/dev/null
	@cmp -s build/wasm/$*.wasm $@ || cp build/wasm/$*.wasm $@.new && { [ ! -f $@.new ] || mv $@.new $@; }

# A program of others, the tool of its go.mod, with the tool file that makes tools of it; an MCP server has none, and is packed.
$(PROGRAMS:%=build/plugins/%.wasm): build/plugins/%.wasm: $(BIN) FORCE
	@echo "building $@"
	@mkdir -p build/plugins build/wasm
	@cd plugins/$* && GOOS=wasip1 GOARCH=wasm go build -trimpath -ldflags='-s -w' -o ../../build/wasm/$*.wasm tool
	@if [ ! -f plugins/$*/$*.tool.yaml ]; then $(BIN) pack build/wasm/$*.wasm --state build/state >/dev/null; \
	else cmp -s plugins/$*/$*.tool.yaml build/plugins/$*.tool.yaml || cp plugins/$*/$*.tool.yaml build/plugins/; fi
	@cmp -s build/wasm/$*.wasm $@ || cp build/wasm/$*.wasm $@.new && { [ ! -f $@.new ] || mv $@.new $@; }

run: $(BIN) plugins ## build all and serve build/plugins on 127.0.0.1:8470/mcp, or ADDR
	$(BIN) serve build/plugins --http $(ADDR) --no-token --config plugins/sallyport.yaml --state build/state

# A test that is skipped fails: see cmd/strict.
STRICT := build/strict
build/strict: FORCE
	@go build -o $@ ./cmd/strict

test: fmt $(BIN) plugins $(STRICT) ## every test that needs only Go, make and git
	$(STRICT) -timeout 20m ./...
	cd pdk/go && ../../$(STRICT) ./...
	cd plugins && ../$(STRICT) ./...
	cd cmd/sallyport-sigstore && CGO_ENABLED=0 ../../$(STRICT) ./...

# The shortest first, so that what is broken is soon known. Those of WAITING wait for other processes half of the time.
QUICK := check deploy spec cross registry conformance goroot oracles decoders challenges
WAITING := postgres signin dashboard clients browser
LONG := servers programs dist-test portable race fuzz
test-all: ## everything else, with what it needs
	@set -e; run() { begin=$$(date +%s); echo "== make $$*"; $(MAKE) --no-print-directory "$$@"; echo "== make $$* took $$(($$(date +%s) - begin)) s"; }; \
	for t in $(QUICK); do run $$t; done; run -j2 -Otarget $(WAITING); for t in $(LONG); do run $$t; done

fmt:
	@bad=$$(gofmt -l cmd deploy hostfuncs internal pdk plugins protocol registry runtime transport); \
	  [ -z "$$bad" ] || { echo "not gofmt-ed: $$bad"; exit 1; }

check: fmt ## gofmt, vet, staticcheck, unowned notes
	@! grep -rnE '(^|[^a-zA-Z])(TODO|FIXME|XXX)($$|[^(a-zA-Z])' --include='*.go' --exclude-dir=build . || { echo 'a TODO needs an owner: TODO(name)'; exit 1; }
	go vet ./... && (cd pdk/go && go vet ./...) && (cd plugins && go vet ./...) && (cd cmd/sallyport-sigstore && CGO_ENABLED=0 go vet ./...)
	go run $(STATICCHECK) ./...
	cd pdk/go && go run $(STATICCHECK) ./...
	cd plugins && go run $(STATICCHECK) ./...

# The tests of cmd/sallyport itself drive a built binary, which the detector would not see into. Those of the schemas
# compute for minutes under it, on one goroutine; the packages above use the schemas on many. The model of at most
# once runs most of its schedules without it, since SQLite is ten times as slow under it.
race: plugins ## every package with goroutines, channels or locks under the race detector, and SCHEDULES (100000) of the model of at most once
	go test -race -timeout 20m $$(grep -rlE --include='*.go' --exclude='*_test.go' --exclude-dir=testdata '"sync(/atomic)?"|^\s+go [a-z]|\bchan ' \
	  cmd hostfuncs internal protocol registry runtime transport | xargs -n1 dirname | sort -u | sed '/^cmd.sallyport$$/d; /^internal.jsonschema$$/d; s|^|./|')
	go test ./protocol -run 'TestModel$$' -count=1 -v -timeout 30m -model.n $(SCHEDULES)

portable: plugins ## the packages that run guests, without what only Linux has
	go test -tags portable -timeout 20m ./runtime/... ./hostfuncs/wasi ./registry/script

# Two at a time, with one worker each. Whatever a target finds is printed and left in its testdata.
fuzz: $(ORACLE) ## each fuzz target for FUZZTIME
	@grep -rnoE --include='*_test.go' --exclude-dir=build '^func Fuzz[A-Za-z_0-9]*' . | sort -u | \
	  sed -E 's|/[^/]*_test.go:[0-9]+:func | |' | xargs -P2 -L1 .ci/fuzz $(FUZZTIME)

# Only cmd/sallyport-sigstore has files for one processor alone.
cross: ## build and vet for Linux and macOS on arm64, and for Windows on amd64
	@set -e; for target in linux/arm64 darwin/arm64 windows/amd64; do \
	  echo "$$target"; export GOOS=$${target%/*} GOARCH=$${target#*/}; go vet ./... && go build -o /dev/null ./cmd/sallyport; \
	done
	cd cmd/sallyport-sigstore && GOOS=linux GOARCH=arm64 go vet . && GOOS=windows GOARCH=amd64 go vet . # one for each of its files

goroot: ## Go's own tests of os, io/fs, path/filepath and time, as guests
	go test -tags goroot -timeout 20m ./hostfuncs/wasi -run TestGoroot -count=1 -v

build/wasmtime/bin/python:
	python3 -m venv build/wasmtime && build/wasmtime/bin/pip install -q wasmtime==50.0.1

# Not part of test-all: the suite's binaries are in no registry of packages.
wasi-suite: build/wasmtime/bin/python ## the public suite of WASI preview 1 in SUITE, a checkout of it, here, on plain wazero and on wasmtime
	go test -tags testsuite ./hostfuncs/wasi -run TestSuite -count=1 -v -args -suite $(abspath $(SUITE)) -python $(abspath build/wasmtime/bin/python)

spec: ## the WebAssembly specification's own tests, of both versions, exceptions, extended constants and tail calls, with modules as they are and rewritten
	go test ./runtime/wasmbin/rewrite -run TestSpec -count=1 -v -spec v1,v2,exception-handling,extended-const,tail-call

oracles: $(STRICT) ## the bundled plugins beside other implementations: Python's zoneinfo, git
	cd plugins && ../$(STRICT) -tags oracle ./... -run Oracle -v

# A second decoder and validator, wasmtime's, as a process that the tests ask.
$(ORACLE): runtime/wasmbin/rewrite/testdata/oracle/Cargo.toml runtime/wasmbin/rewrite/testdata/oracle/Cargo.lock runtime/wasmbin/rewrite/testdata/oracle/src/main.rs
	@.ci/apt 'command -v cargo' cargo
	cd runtime/wasmbin/rewrite/testdata/oracle && cargo build --quiet --release --locked --target-dir ../../../../../build/oracle
	@touch $@

decoders: $(ORACLE) ## instructions, operands and validity of modules against a second decoder and validator
	go test -tags decoders -timeout 20m ./runtime/wasmbin/rewrite -run TestDecoders -count=1 -v

# The guest in C of the escape tests is committed; SHA256SUMS ties it to its source, and a test holds that.
escape-guest: ## build it again: needs clang, lld, wasi-libc and libclang-rt-dev-wasm32
	cd hostfuncs/testdata/escape && clang --target=wasm32-wasi -mexec-model=reactor -Os -Wl,--strip-all -o escape.wasm escape.c && \
	  sha256sum escape.c escape.wasm > SHA256SUMS

# The guests in Rust, C, Zig, AssemblyScript and Go by TinyGo of the comparison are committed; SHA256SUMS ties them to their source, and a
# test holds that.
tools-guest: build/zig/bin/zig build/assemblyscript/node_modules build/tinygo/bin/tinygo ## build them again: needs Debian's cargo, rustc, libstd-rust-dev-wasm32, clang and lld
	cd cmd/bench/testdata/toolszig && ../../../../build/zig/bin/zig build-exe -target wasm32-freestanding -O ReleaseSmall -fno-entry -rdynamic -fstrip \
	  --dep sallyport -Mroot=tools.zig -Msallyport=../../../../pdk/zig/src/sallyport.zig -femit-bin=tools.wasm && \
	  sha256sum tools.zig tools.wasm > SHA256SUMS
	cd cmd/bench/testdata/toolstinygo && ../../../../build/tinygo/bin/tinygo build -target=wasip1 -buildmode=c-shared -scheduler=none -no-debug -o tools.wasm . && \
	  sha256sum go.mod main.go tools.wasm > SHA256SUMS
	rm -rf build/tools-guest/as && mkdir -p build/tools-guest/as/assembly && cp -r pdk/assemblyscript/asconfig.json pdk/assemblyscript/sallyport build/tools-guest/as && \
	  cp cmd/bench/testdata/toolsassemblyscript/tools.ts build/tools-guest/as/assembly && cd build/tools-guest/as && \
	  ../../assemblyscript/node_modules/.bin/asc assembly/tools.ts --outFile ../../../cmd/bench/testdata/toolsassemblyscript/tools.wasm && \
	  cd ../../../cmd/bench/testdata/toolsassemblyscript && sha256sum tools.ts tools.wasm > SHA256SUMS
	cd cmd/bench/testdata/toolsc && clang --target=wasm32 -O2 -nostdlib -Wl,--no-entry,--strip-all -I../../../../pdk/c -o tools.wasm tools.c && \
	  sha256sum tools.c tools.wasm > SHA256SUMS
	cd cmd/bench/testdata/toolsrust && cargo build --quiet --release --locked --target wasm32-wasi --target-dir ../../../../build/tools-guest && \
	  cp ../../../../build/tools-guest/wasm32-wasi/release/tools.wasm . && sha256sum Cargo.toml Cargo.lock src/lib.rs tools.wasm > SHA256SUMS

# The server in Rust is committed too. Debian's rustc-web cannot be installed beside rustc, so its packages are unpacked,
# and the standard library is built from its source.
RUSTWEB := $(abspath build/rustweb)
rmcp-guest: ## build it again: needs cargo, lld and wasi-libc
	mkdir -p $(RUSTWEB)/debs && cd $(RUSTWEB)/debs && apt-get download -q rustc-web libstd-rust-web-1.96 libstd-rust-web-dev rust-web-src libllvm22 && \
	  for d in *.deb; do dpkg -x $$d ..; done
	mkdir -p $(RUSTWEB)/usr/lib/rustlib/wasm32-wasip1/lib/self-contained && ln -sf /usr/lib/wasm32-wasi/* $(RUSTWEB)/usr/lib/rustlib/wasm32-wasip1/lib/self-contained/
	cd cmd/sallyport/testdata/rmcp && RUSTC_BOOTSTRAP=1 RUSTC=$(RUSTWEB)/usr/bin/rustc LD_LIBRARY_PATH=$(RUSTWEB)/usr/lib/x86_64-linux-gnu \
	  RUSTFLAGS="-Zlocation-detail=none --remap-path-prefix=$$(echo $$HOME/.cargo/registry/src/*)=/crates --remap-path-prefix=$(RUSTWEB)=/rust" \
	  cargo build --quiet --release --locked --target wasm32-wasip1 -Zbuild-std=std,panic_abort --target-dir $(RUSTWEB)/target && \
	  cp $(RUSTWEB)/target/wasm32-wasip1/release/counter.wasm . && sha256sum Cargo.toml Cargo.lock src/main.rs counter.wasm > SHA256SUMS

# The engine of scripts is committed too, and tied to its sources in the same way.
script-engine: ## build it again: needs cargo, patch, clang, lld, wasi-libc and libclang-rt-dev-wasm32
	registry/script/engine/build.sh build/script-engine

python-engine: ## build it again: needs the same, dpkg-dev, python3, node and npm
	registry/script/python/build.sh build/python-engine

# The compared server on Node, with its SDK from npm.
build/bench/node/node_modules: cmd/bench/testdata/toolsnode/package.json cmd/bench/testdata/toolsnode/package-lock.json
	@mkdir -p build/bench/node
	cp $^ build/bench/node/
	cd build/bench/node && npm ci --no-audit --no-fund
	@touch $@

bench: $(BIN) plugins build/bench/node/node_modules ## one table of numbers, and build/bench.json
	@$(POSTGRESQL)
	cp cmd/bench/testdata/toolsnode/server.mjs build/bench/node/
	go run ./cmd/bench -o build/bench.json

scale: $(BIN) ## the measured costs of the capacity model, and the tables of docs/scale.md
	@$(POSTGRESQL)
	go run ./cmd/bench -run '^scale$$' -o cmd/bench/internal/scale/measured.json
	go test ./cmd/bench/internal/scale -update

challenges: $(BIN) plugins ## the 33 promises, a line each
	@.ci/apt 'command -v qemu-aarch64' qemu-user
	go test -tags clients ./cmd/sallyport -run 'TestChallenge' -count=1 -v -timeout 20m | go run ./cmd/challenges

# Node and the clients come from npm into build/clients: nothing is installed elsewhere.
build/clients/node_modules: cmd/sallyport/testdata/clients/package.json cmd/sallyport/testdata/clients/package-lock.json
	@mkdir -p build/clients
	cp $^ build/clients/
	cd build/clients && npm ci --no-audit --no-fund --ignore-scripts=false
	@touch $@

# The libraries' own tests are in Debian's source packages, from the mirror of this machine. Each has a digest.
build/libraries/.fetched: cmd/sallyport/testdata/npm/SOURCES
	@mkdir -p build/libraries
	@set -e; mirror=$$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/debian.sources | head -1); while read -r name path sum; do \
	  /usr/lib/apt/apt-helper -q -o APT::Sandbox::User=root download-file "$$mirror/pool/main/n/$$path" build/libraries/$$name "SHA256:$$sum" >/dev/null; done < $<
	@touch $@

clients: $(BIN) plugins build/clients/node_modules build/libraries/.fetched ## real clients over stdio and HTTP
	go test -tags clients -timeout 20m ./cmd/sallyport -run 'TestClients' -count=1 -v

# The programs in C and Rust are Debian's: native as its packages, for WASI of its source packages.
DEBIAN := cmark pulldown-cmark librust-pulldown-cmark-dev cargo rustc libstd-rust-dev-wasm32 clang lld wasi-libc libclang-rt-dev-wasm32 cmake dpkg-dev
build/programs/.fetched:
	@.ci/apt 'dpkg -s $(DEBIAN)' $(DEBIAN)
	@mkdir -p build/programs/lists/partial && sed 's/^Types: deb$$/Types: deb-src/' /etc/apt/sources.list.d/debian.sources > build/programs/deb-src.sources
	@cd build/programs && set -- -q -o Dir::Etc::sourcelist=$$PWD/deb-src.sources -o Dir::Etc::sourceparts=- -o Dir::State::lists=$$PWD/lists && \
	  { apt-get "$$@" update && apt-get "$$@" source --download-only cmark; } >/dev/null
	@touch $@

# Zig comes from PyPI: the newest, and the oldest that the library supports.
build/zig/bin/zig:
	python3 -m venv build/zig && build/zig/bin/pip install -q ziglang==0.17.1
	build/zig/bin/pip install -q --target build/zig/oldest ziglang==0.15.2 && ln -sf ../oldest/ziglang/zig build/zig/bin/zig-oldest
	ln -sf "$$(build/zig/bin/python -c 'import ziglang; print(ziglang.__path__[0])')/zig" $@

build/assemblyscript/node_modules: cmd/sallyport/testdata/assemblyscript/package.json cmd/sallyport/testdata/assemblyscript/package-lock.json
	@mkdir -p build/assemblyscript
	cp $^ build/assemblyscript/
	cd build/assemblyscript && npm ci --no-audit --no-fund
	@touch $@

# TinyGo is built of its module, with Debian's LLVM, and links Debian's wasi-libc and compiler-rt: a release has its own,
# which are no part of the module, as is its package net.
TINYGODEBS := llvm-19-dev libclang-19-dev liblld-19-dev lld-19 clang-19 libclang-rt-19-dev-wasm32 wasi-libc binaryen
TINYGOGO := GOTOOLCHAIN=go1.25.5
build/tinygo/bin/tinygo: $(wildcard cmd/sallyport/testdata/tinygo/*)
	@.ci/apt 'dpkg -s $(TINYGODEBS)' $(TINYGODEBS)
	rm -rf build/tinygo && mkdir -p build/tinygo/bin
	cd cmd/sallyport/testdata/tinygo && $(TINYGOGO) go build -tags llvm19 -o ../../../../build/tinygo/tinygo tool && \
	  cp -r "$$($(TINYGOGO) go list -m -f '{{.Dir}}' github.com/tinygo-org/tinygo)" ../../../../build/tinygo/root
	chmod -R u+w build/tinygo/root && mkdir -p build/tinygo/root/src/net/http && cp cmd/sallyport/testdata/tinygo/wasip1.json build/tinygo/root/targets
	printf '#!/bin/sh\nTINYGOROOT=%s $(TINYGOGO) exec %s "$$@"\n' '$(CURDIR)/build/tinygo/root' '$(CURDIR)/build/tinygo/tinygo' > $@ && chmod +x $@

programs: $(BIN) build/programs/.fetched build/zig/bin/zig build/assemblyscript/node_modules build/tinygo/bin/tinygo ## programs of others as plugins, beside the same programs natively
	go test -tags programs ./cmd/sallyport -run 'TestPrograms_' -count=1 -v -timeout 20m

build/mcp/bin/python:
	python3 -m venv build/mcp && build/mcp/bin/pip install -q mcp==2.3.0

servers: $(BIN) build/clients/node_modules build/mcp/bin/python ## MCP servers of others as plugins, beside the same servers natively (on port 80 of loopback)
	go test -tags programs ./cmd/sallyport -run 'TestServers_' -count=1 -v -timeout 20m

registry: $(BIN) ## push to a registry server of Debian with TLS and a login, sign with keys of minisign, and add from it
	@.ci/apt 'command -v docker-registry && command -v minisign' docker-registry minisign
	go test -tags programs -timeout 20m ./cmd/sallyport -run 'TestRegistry_' -count=1 -v

# The server is Debian's, in a folder of its own, and no cluster of the machine is made or touched.
POSTGRESQL = ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { mkdir -p /etc/postgresql-common && \
	  echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf && .ci/apt false postgresql; }
postgres: ## the tests of the store, of the lock, of tasks, of sessions and of the model of at most once on a PostgreSQL server
	@$(POSTGRESQL)
	go run ./cmd/withpostgres go test -tags postgres ./hostfuncs/state/store ./hostfuncs/state/audit ./hostfuncs/state/usage ./registry/lock ./protocol/task ./protocol/idempotency -count=1
	go run ./cmd/withpostgres go test -tags postgres ./protocol -run "TestModel$$" -count=1 -model.n 300
	go run ./cmd/withpostgres go test -tags postgres ./protocol -run "TestCallers" -count=1
	go run ./cmd/withpostgres go test -tags postgres ./transport/streamable -run "TestPool" -count=1
	go run ./cmd/withpostgres go test -tags postgres ./registry -run "TestShared|TestTrust|TestUpdates|TestIdentity|TestReview" -count=1
	go run ./cmd/withpostgres go test -tags postgres ./cmd/sallyport -run "TestShared" -count=1

replicas: ## three hosts on one PostgreSQL behind haproxy, disturbed for REPLICASTIME, and a rolling update
	@.ci/apt 'command -v haproxy' haproxy
	@$(POSTGRESQL)
	go test -tags replicas ./cmd/sallyport -run 'TestCluster_' -count=1 -v -timeout 90m -replicas.for $(REPLICASTIME)

deploy: $(STRICT) ## the Helm chart and the manifests: rendered, linted, and decoded by the types of the Kubernetes API
	cd deploy/testdata/charttest && ../../../$(STRICT) ./...

browser: $(BIN) plugins build/clients/node_modules ## the console page in a headless Chromium, which apt-get installs if it is missing, and axe-core on it
	@.ci/apt 'command -v chromium' chromium
	go test -tags clients -timeout 20m ./cmd/sallyport -run 'TestBrowser' -count=1 -v

signin: $(BIN) plugins build/clients/node_modules build/mcp/bin/python ## the SDKs' clients sign people in at a real authorization server, oidc-provider
	go test -tags clients -timeout 20m ./cmd/sallyport -run 'TestSignin_' -count=1 -v

dashboard: $(BIN) plugins ## the dashboard and the alert rules in deploy/, with a Prometheus of Debian that scrapes a host, and build/dashboard.png
	@.ci/apt 'command -v promtool && command -v chromium' prometheus chromium
	go test -tags programs -timeout 20m ./cmd/sallyport -run 'TestDashboard_' -count=1 -v

conformance: $(BIN) plugins build/clients/node_modules ## the public conformance suite
	go test -tags clients -timeout 20m ./cmd/sallyport -run 'TestConformance' -count=1 -v

clean: ## remove build/
	rm -rf build
